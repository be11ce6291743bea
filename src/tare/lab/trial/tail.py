"""A look at one server under load: what its slowest requests waited for."""

from dataclasses import replace
from pathlib import Path

from tare.lab.trial import instrument
from tare.lab.trial.explain import roles_of
from tare.lab.trial.instrument import assignment
from tare.lab.trial.observer import observing
from tare.lab.trial.site import Site
from tare.model.instrument import Result
from tare.model.tail import Tail

_ROLE = "observer"


def look(site: Site, program: Path, port: int, slowest: float) -> tuple[Tail, Result]:
    """Load a site whose server listens on `port`; return where the time of its slowest requests
    went, which are this share of all, and what the instrument measured meanwhile.

    Raises RoleError when a program fails, and Unavailable where the kernel does not let processes
    be looked at.
    """
    times, plain = site.folder / "times.csv", assignment(site, {})
    what = replace(plain, spec={**plain.spec, "times_file": str(times)})
    argv = [str(program), f"--port={port}", f"--slowest={slowest}", *roles_of({"": site})]
    with observing(site, _ROLE, argv) as observer:
        result = instrument.run([site], what, observer.follow)
        observer.hear("ended")
        observer.say(str(times))
        return observer.answer(Tail, "tail"), result
