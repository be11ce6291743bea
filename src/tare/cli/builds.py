"""Progress of builds: what is to be built, and about how long the rest takes."""

from collections.abc import Mapping, Sequence

from tare.cli.output import say
from tare.lab.project.catalog import Loaded
from tare.lab.project.outstanding import CPUS, Outstanding
from tare.report.numbers import span
from tare.stats.rounding import counted

_LONGEST = 3


class Builds:
    """The progress of builds while variants are prepared."""

    def __init__(self, wanted: Sequence[tuple[Loaded, Sequence[str]]]) -> None:
        """Look for the builds that the variants of each experiment lack, and name several."""
        self._outstanding = Outstanding(wanted)
        self._left = self._outstanding.builds()
        if len(self._left) > 1:
            say(before(self._left))

    def say(self, text: str) -> None:
        """Say a line, and if a build has ended since the last one, what is left."""
        say(text)
        if not self._left:
            return
        now = self._outstanding.builds()
        if len(now) < len(self._left) and now:
            say(f"{counted(len(now), 'build')} left, about {_time(now)}")
        self._left = now


def before(builds: Mapping[str, int]) -> str:
    """Return in words what is to be built, of builds and their seconds, the longest first."""
    longest = [f"{name} ({span(seconds)})" for name, seconds in list(builds.items())[:_LONGEST]]
    more = len(builds) - len(longest)
    listed = ", ".join(longest) + (f" and {more} more" if more else "")
    return f"to build: {listed}, about {_time(builds)}"


def _time(builds: Mapping[str, int]) -> str:
    return f"{span(sum(builds.values()))} on {counted(CPUS, 'CPU')}"
