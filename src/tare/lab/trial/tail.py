"""A look at one server under load: what its slowest requests waited for."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import RoleError
from tare.lab.trial import instrument
from tare.lab.trial.explain import roles_of
from tare.lab.trial.instrument import Assignment, assignment
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
    what = assignment(site, {})
    times = site.folder / "times.csv"
    what = Assignment(what.where, what.argv, what.cpus, {**what.spec, "times_file": str(times)})
    argv = [str(program), f"--port={port}", f"--slowest={slowest}", *roles_of({"": site})]
    with observing(site, _ROLE, argv) as observer:

        def on(event: Mapping[str, Any]) -> None:
            match event.get("event"):
                case "measure":
                    observer.say("begin")
                    observer.hear("begun")
                case "measured":
                    observer.say("end")

        result = instrument.run([site], what, on)
        observer.hear("ended")
        observer.say(str(times))
        found = observer.hear("tail")
    try:
        tail = Tail.model_validate({key: found[key] for key in found if key != "event"})
    except ValidationError as error:
        raise RoleError(f"{_ROLE}: a malformed answer: {error}") from error
    return tail, result
