"""Causes: which functions and system calls differ between a variant and its baseline."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tare.model.profile import Explained, Frame
from tare.model.results import CauseResult, CountResult, FrameResult, RoleResult
from tare.model.trial import Trial
from tare.report.callers import callers
from tare.report.explained import SIDES, explained, of_roles
from tare.report.folder import RunFolder
from tare.stats.effect import Effect, paired_effect
from tare.stats.sign_flips import FEWEST, Shift, shifts

_LEAST_SHARE = 0.004
"""Of all samples: functions that have less are too rare to be looked at one by one."""
_LEAST_COUNT = 0.001
"""A request: what happens more seldom is no property of requests."""
_OWN = "own"
_CPU_NS = "cpu_ns"
_NAMELESS = ("unnamed", "cut")

Costs = dict[str, float]
"""Name → ns or events per request."""


def causes(folder: RunFolder, scenario: str, labels: Sequence[str]) -> list[CauseResult]:
    """Return what was seen of each label's duels, or of its trials beside its baseline's, where
    there are enough of them.

    Raises NotARun for a damaged file.
    """
    found = {label: list(explained(folder, scenario, label)) for label in labels}
    return [
        _cause(label, [duel for _, duel in duels], _price(folder, duels))
        for label, seen in found.items()
        # A run may have gone on with other rights.
        for duels in [[each for each in seen if not each[1].only_counted] or seen]
        if len(duels) >= FEWEST
    ]


def _price(folder: RunFolder, duels: Sequence[tuple[Trial, Explained]]) -> Effect | None:
    """Return the effect of looking on the variant's CPU time per request: that of the second window
    against that of the first, of the same roles. None where no judged outcome is such a time.
    """
    outcome = next(filter(folder.plan.is_cpu_time, folder.plan.judged), None)
    if outcome is None:
        return None
    roles = {path.of for path in folder.plan.outcomes[outcome].paths}
    pairs = [
        (_cpu_ns(of_roles(duel, roles), "variant") / duel.requests["variant"], 1000 * before)
        for trial, duel in duels
        if (before := trial.outcomes.get(outcome))
    ]
    # Counts of /proc fall when a process ends in the window: such a time has no ratio.
    pairs = [pair for pair in pairs if min(pair) > 0]
    looked, judged = [after for after, _ in pairs], [before for _, before in pairs]
    return paired_effect(looked, judged) if pairs else None


def _cause(label: str, duels: Sequence[Explained], price: Effect | None) -> CauseResult:
    total = [_each_side(duel, lambda duel, side: {"": _cpu_ns(duel, side)}) for duel in duels]
    (whole,) = _family(total, [""])
    whole_ns = sum(whole.sides)
    of_role = [_each_side(duel, _roles) for duel in duels]
    busy = [key for key, mean in _means(of_role).items() if sum(mean) >= _LEAST_SHARE * whole_ns]
    seen = [_each_side(duel, _functions) for duel in duels]
    often = [key for key, mean in _means(seen).items() if sum(mean) >= _LEAST_SHARE * whole_ns]
    known = _known(duels)
    rows = _family(seen, often)
    clear = {row.name.partition(":")[2] for row in rows if row.shift.clear}
    above = callers(_stacks(duels), clear)
    frames = [
        FrameResult(
            name=known[key].name,
            module=known[key].module,
            kind=known[key].kind,
            own=kind == _OWN,
            **row.in_ns(),
            callers=[
                f"{known[caller].name} ({known[caller].module})" for caller in above.get(key, [])
            ],
        )
        for row in rows
        for kind, _, key in [row.name.partition(":")]
    ]
    counted = [_each_side(duel, _counts) for duel in duels]
    common = [key for key, mean in _means(counted).items() if max(mean) >= _LEAST_COUNT]
    samples = sum(_samples(duel) for duel in duels)
    return CauseResult(
        label=label,
        duels=len(duels),
        only_counted=duels[0].only_counted,
        price_pct=price.percent if price else None,
        price_ci_pct=price.percent_interval if price else None,
        named_share=1 - sum(map(_nameless, duels)) / samples if samples else 0.0,
        lost_share=sum(duel.profile.lost for duel in duels)
        / max(samples + sum(duel.profile.lost for duel in duels), 1),
        baseline_ns=whole.sides[0],
        variant_ns=whole.sides[1],
        difference_ns=whole.shift.mean,
        ci_ns=(whole.shift.low, whole.shift.high),
        roles=[
            RoleResult(
                role=row.name,
                **row.in_ns(),
            )
            for row in _family(of_role, busy if len(busy) > 1 else [])
        ],
        frames=sorted(frames, key=lambda each: -abs(each.difference_ns)),
        counts=[
            CountResult(
                name=row.name,
                baseline=row.sides[0],
                variant=row.sides[1],
                difference=row.shift.mean,
                ci=(row.shift.low, row.shift.high),
                clear=row.shift.clear,
            )
            for row in sorted(_family(counted, common), key=lambda row: -abs(row.shift.mean))
        ],
    )


class _Row:
    """One of a family: its means on both sides, and the shift between them."""

    def __init__(self, name: str, sides: tuple[float, float], shift: Shift) -> None:
        self.name, self.sides, self.shift = name, sides, shift

    def in_ns(self) -> dict[str, Any]:
        """Return the fields that functions and roles have in common."""
        return {
            "baseline_ns": self.sides[0],
            "variant_ns": self.sides[1],
            "difference_ns": self.shift.mean,
            "ci_ns": (self.shift.low, self.shift.high),
            "clear": self.shift.clear,
        }


def _family(duels: Sequence[tuple[Costs, Costs]], names: Sequence[str]) -> list[_Row]:
    """Return rows whose intervals hold together."""
    if not names:
        return []
    sides = np.array([[[own.get(name, 0.0) for name in names] for own in duel] for duel in duels])
    means = sides.mean(axis=0)
    found = shifts(sides[:, 1] - sides[:, 0])
    return [
        _Row(name, (float(means[0, at]), float(means[1, at])), found[at])
        for at, name in enumerate(names)
    ]


def _means(duels: Sequence[tuple[Costs, Costs]]) -> dict[str, tuple[float, float]]:
    names = dict.fromkeys(name for duel in duels for own in duel for name in own)
    first, second = (
        {name: sum(duel[side].get(name, 0.0) for duel in duels) / len(duels) for name in names}
        for side in (0, 1)
    )
    return {name: (first[name], second[name]) for name in names}


def _each_side(
    duel: Explained, costs: Callable[[Explained, str], Mapping[str, float]]
) -> tuple[Costs, Costs]:
    """Return both sides' costs per request, the baseline's first."""
    first, second = (
        {name: cost / duel.requests[side] for name, cost in costs(duel, side).items()}
        for side in SIDES
    )
    return first, second


def stacks(duel: Explained, side: str) -> Iterator[tuple[list[str], float]]:
    """Yield the stacks of a side's roles, each with its CPU time in ns."""
    keys = list(map(key_of, duel.profile.frames))
    for role, seen in duel.profile.roles.items():
        if role.split("/")[0] == side:
            for sample in seen.samples:
                yield [keys[at] for at in sample.stack], sample.count * duel.profile.period_ns


def _stacks(duels: Sequence[Explained]) -> Iterator[tuple[list[str], float]]:
    """Yield each stack of both sides once, as functions alone, with its CPU time in all duels."""
    found: dict[tuple[str, ...], float] = {}
    for duel in duels:
        for side in SIDES:
            for stack, ns in stacks(duel, side):
                named = tuple(key for key in stack if key)
                found[named] = found.get(named, 0.0) + ns
    for named, ns in found.items():
        yield list(named), ns


def _cpu_ns(duel: Explained, side: str) -> float:
    """Return a side's CPU time, which is counted and not sampled."""
    return sum(
        seen.counts[_CPU_NS]
        for role, seen in duel.profile.roles.items()
        if role.split("/")[0] == side
    )


def _roles(duel: Explained, side: str) -> Costs:
    return {
        role.split("/")[1]: seen.counts[_CPU_NS]
        for role, seen in duel.profile.roles.items()
        if role.split("/")[0] == side
    }


def _functions(duel: Explained, side: str) -> Costs:
    """Return each function's time without what it calls, and with it."""
    found: Costs = {}
    for stack, ns in stacks(duel, side):
        named = [key for key in stack if key]
        # The called one first: of two with the same time it is the more special one.
        once = dict.fromkeys(reversed(named))
        for name in [*(f"{_OWN}:{key}" for key in named[-1:]), *(f"all:{key}" for key in once)]:
            found[name] = found.get(name, 0.0) + ns
    return found


def _counts(duel: Explained, side: str) -> Costs:
    found: Costs = {}
    for role, seen in duel.profile.roles.items():
        if role.split("/")[0] == side:
            for name, count in seen.counts.items():
                if name != _CPU_NS:
                    found[name] = found.get(name, 0.0) + count
    return found


def _known(duels: Sequence[Explained]) -> dict[str, Frame]:
    """Return each function by its key, as most samples of the variant have it, or those of the
    baseline if the variant has none: several files may have functions of one name.
    """
    samples: dict[str, Counter[Frame]] = {side: Counter() for side in SIDES}
    for duel in duels:
        for role, seen in duel.profile.roles.items():
            found: Counter[int] = Counter()
            for sample in seen.samples:
                found.update(dict.fromkeys(sample.stack, sample.count))
            for at, count in found.items():
                samples[role.split("/")[0]][duel.profile.frames[at]] += count
    # Later ones replace earlier ones.
    rarest_first = [frame for side in SIDES for frame, _ in reversed(samples[side].most_common())]
    return {key_of(frame): frame for frame in rarest_first}


def key_of(frame: Frame | FrameResult) -> str:
    """Return what tells a function from others; nothing for what is none.

    A name is the same function in another file: two builds of a server have two files.
    """
    if frame.kind == "cut":
        return ""
    where = frame.module if frame.kind == "unnamed" else frame.kind
    return f"{where}\0{frame.name}"


def _samples(duel: Explained) -> int:
    return sum(each.count for seen in duel.profile.roles.values() for each in seen.samples)


def _nameless(duel: Explained) -> int:
    frames = duel.profile.frames
    return sum(
        each.count
        for seen in duel.profile.roles.values()
        for each in seen.samples
        if not each.stack or frames[each.stack[-1]].kind in _NAMELESS
    )
