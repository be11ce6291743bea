"""A second window of a duel, in which both sides are looked at: it explains, and does not count.

To look at processes costs them time, so what is judged is measured before, without it.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.lab.errors import RoleError
from tare.lab.trial import instrument
from tare.lab.trial.instrument import Assignment
from tare.lab.trial.observer import Observer
from tare.lab.trial.site import Site
from tare.model.profile import Explained, Profile
from tare.model.role import INSTRUMENT_ROLE

ROLE = "profiler"


def explain(sites: Mapping[str, Site], what: Assignment, program: Path) -> Explained:
    """Load both sides once more while their processes are looked at; the instrument runs in the
    first site, as does the profiler.

    Raises RoleError when either fails, and where the kernel does not let processes be looked at.
    """
    first = next(iter(sites.values()))
    with _profiler(first, sites, program) as profiler:

        def on(event: Mapping[str, Any]) -> None:
            match event.get("event"):
                case "measure":
                    profiler.say("begin")
                    profiler.hear("begun")
                case "measured":
                    profiler.say("end")

        result = instrument.run(list(sites.values()), what, on)
        found = profiler.hear("profile")
    try:
        profile = Profile.model_validate({key: found[key] for key in found if key != "event"})
    except ValidationError as error:
        raise RoleError(f"{ROLE}: a malformed answer: {error}") from error
    requests = {target.name: target.answered for target in result.targets}
    return Explained(requests=requests, profile=profile)


@contextmanager
def _profiler(site: Site, sites: Mapping[str, Site], program: Path) -> Iterator[Observer]:
    argv = [str(program), "--no-waits", *roles_of(sites)]
    pipe = subprocess.PIPE
    process = site.launch(ROLE, argv, "support", {}, stdin=pipe, stdout=pipe)
    # It ends by itself when it has answered, which is no fault of a role.
    site.processes.pop(ROLE)
    try:
        profiler = Observer(process, ROLE)
        profiler.hear("ready")
        yield profiler
    finally:
        process.kill()
        for stream in (process.child.stdin, process.child.stdout):
            if stream is not None:
                stream.close()


def roles_of(sites: Mapping[str, Site]) -> Sequence[str]:
    """Return the options that name each side's roles with their processes."""
    return [
        f"--role={side}/{role}={','.join(map(str, process.pids()))}"
        for side, site in sites.items()
        for role, process in site.processes.items()
        if role != INSTRUMENT_ROLE
    ]
