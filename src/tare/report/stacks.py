"""Stacks of a run whose processes were looked at, in the formats of flame graphs."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from tare.model.results import Results
from tare.report import pprof
from tare.report.errors import ReportError
from tare.report.explained import SIDES, explained
from tare.report.folder import RunFolder

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"

Stack = tuple[pprof.Function, ...]
"""Functions, the root first."""


@dataclass(frozen=True)
class Stacks:
    """The stacks of one side of a label's duels."""

    scenario: str
    label: str
    side: str
    ns: dict[Stack, float]
    """CPU time per request."""
    samples: dict[Stack, int]

    @property
    def name(self) -> str:
        """`SCENARIO-LABEL-SIDE`."""
        return f"{self.scenario}-{self.label}-{self.side}"


def of_run(folder: RunFolder, results: Results) -> list[Stacks]:
    """Return the stacks of all sides. Raises ReportError for a run without any."""
    found = [
        each
        for scenario in results.scenarios
        for label in scenario.variants
        for each in _of_label(folder, scenario.name, label)
    ]
    if not found:
        raise ReportError(f"{results.run} has no stacks; they are seen with --why, as root")
    return found


def folded(stacks: Stacks) -> str:
    """Return lines of `root;…;function samples`, as flamegraph.pl and inferno read them."""
    return "".join(
        f"{';'.join(map(_titled, stack))} {count}\n"
        for stack, count in sorted(stacks.samples.items())
    )


def speedscope(name: str, found: list[Stacks]) -> str:
    """Return a file of speedscope with a profile for each, in ns of CPU time per request."""
    names = list(dict.fromkeys(frame for each in found for stack in each.ns for frame in stack))
    numbers = {frame: number for number, frame in enumerate(names)}
    profiles = [
        {
            "type": "sampled",
            "name": each.name,
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(each.ns.values()),
            "samples": [[numbers[frame] for frame in stack] for stack in each.ns],
            "weights": list(each.ns.values()),
        }
        for each in found
    ]
    shared = {"frames": [{"name": _titled(frame)} for frame in names]}
    return json.dumps({"$schema": _SCHEMA, "name": name, "shared": shared, "profiles": profiles})


def pprofiled(stacks: Stacks) -> bytes:
    """Return a file of pprof, in ns of CPU time per request; labels name the side."""
    labels = {"scenario": stacks.scenario, "variant": stacks.label, "side": stacks.side}
    samples = {stack: (count, stacks.ns[stack]) for stack, count in stacks.samples.items()}
    return pprof.profile(samples, labels)


def _of_label(folder: RunFolder, scenario: str, label: str) -> Iterator[Stacks]:
    duels = [duel for _, duel in explained(folder, scenario, label)]
    for side in SIDES if any(duel.profile.frames for duel in duels) else ():
        samples: Counter[Stack] = Counter()
        ns: defaultdict[Stack, float] = defaultdict(float)
        for duel in duels:
            period = duel.profile.period_ns / duel.requests[side] / len(duels)
            for role, seen in duel.profile.roles.items():
                if role.split("/")[0] == side:
                    for sample in seen.samples:
                        frames = [duel.profile.frames[at] for at in sample.stack]
                        stack = tuple((frame.name, frame.module) for frame in frames)
                        samples[stack] += sample.count
                        ns[stack] += sample.count * period
        yield Stacks(scenario, label, side, dict(ns), dict(samples))


def _titled(function: pprof.Function) -> str:
    """Return a name without the mark that folded stacks have between names."""
    name, module = function
    return f"{name} ({module})".replace(";", ":") if module else name.replace(";", ":")
