"""The difference between the slowest requests of a variant and those of its baseline, by cause."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from pydantic import ValidationError

from tare.model.results import TailPartResult, TailResult
from tare.model.tail import TAILS, Cause, SideTail, Tails
from tare.report.errors import NotARun
from tare.report.folder import RunFolder
from tare.stats.sign_flips import FEWEST, Shift, shifts

_SIDES = ("baseline", "variant")
_LEAST_SHARE = 0.01
"""Of the slowest requests' time on either side: parts that have less are not looked at."""

_Key = tuple[Cause, str]
"""A cause, and who or what it is about."""
_Pair = tuple[SideTail, SideTail]
"""The windows of one duel, the baseline's first."""


def tails(folder: RunFolder, scenario: str, labels: Sequence[str]) -> list[TailResult]:
    """Return what was seen of the slowest requests of each label's duels, where enough of them were
    looked at and no event was lost.

    Raises NotARun for a damaged file.
    """
    found = []
    for label in labels:
        seen = list(_stored(folder, scenario, label))
        whole = [pair for pair in seen if all(map(_is_whole, pair))]
        if len(whole) >= FEWEST:
            found.append(_difference(label, whole, len(seen) - len(whole)))
    return found


def _stored(folder: RunFolder, scenario: str, label: str) -> Iterator[_Pair]:
    for trial in folder.trials:
        file = folder.path / TAILS / f"{trial.id}.json"
        if (trial.scenario, trial.label, trial.status) != (scenario, label, "valid"):
            continue
        if not file.exists():
            continue
        try:
            sides = Tails.model_validate_json(file.read_text()).sides
            yield sides["baseline"], sides["variant"]
        except (ValidationError, KeyError) as error:
            raise NotARun(f"{file} is damaged: {error}; remove it to report without it") from error


def _is_whole(side: SideTail) -> bool:
    return side.tail.requests > 0 and not side.tail.lost and side.p99_ns is not None


def _difference(label: str, pairs: Sequence[_Pair], spoilt: int) -> TailResult:
    p99, p99_shift = _compared(pairs, lambda side: side.p99_ns or 0.0)
    slow, slow_shift = _compared(pairs, lambda side: side.tail.slow_ns)
    return TailResult(
        label=label,
        windows=len(pairs),
        spoilt=spoilt,
        slowest_share=sum(side.tail.requests for pair in pairs for side in pair)
        / sum(side.tail.of for pair in pairs for side in pair),
        baseline_p99_ns=p99[0],
        variant_p99_ns=p99[1],
        p99_difference_ns=p99_shift.mean,
        p99_ci_ns=(p99_shift.low, p99_shift.high),
        baseline_ns=slow[0],
        variant_ns=slow[1],
        difference_ns=slow_shift.mean,
        ci_ns=(slow_shift.low, slow_shift.high),
        parts=_parts(pairs, slow),
    )


def _compared(
    pairs: Sequence[_Pair], of: Callable[[SideTail], float]
) -> tuple[tuple[float, float], Shift]:
    """Return both sides' means of a figure, and the shift between them."""
    values = np.array([[of(side) for side in pair] for pair in pairs])
    (shift,) = shifts(values[:, 1:] - values[:, :1])
    baseline, variant = values.mean(axis=0)
    return (float(baseline), float(variant)), shift


def _parts(pairs: Sequence[_Pair], slow: tuple[float, float]) -> list[TailPartResult]:
    """Return the causes with a noticeable share, the largest difference first; their intervals hold
    together.
    """
    each = [[_by_cause(side) for side in pair] for pair in pairs]
    names = dict.fromkeys(key for pair in each for side in pair for key in side)
    values = np.array([[[side.get(key, 0.0) for key in names] for side in pair] for pair in each])
    means = values.mean(axis=0)
    noticeable = (means >= _LEAST_SHARE * np.array(slow)[:, None]).any(axis=0)
    keys, often = list(names), [int(at) for at in np.flatnonzero(noticeable)]
    found = shifts(values[:, 1, often] - values[:, 0, often])
    parts = [
        TailPartResult(
            cause=keys[at][0],
            who=keys[at][1],
            baseline_ns=float(means[0, at]),
            variant_ns=float(means[1, at]),
            difference_ns=shift.mean,
            ci_ns=(shift.low, shift.high),
            clear=shift.clear,
        )
        for at, shift in zip(often, found, strict=True)
    ]
    return sorted(parts, key=lambda part: -abs(part.difference_ns))


def _by_cause(side: SideTail) -> dict[_Key, float]:
    return {(part.cause, part.who): part.slow_ns for part in side.tail.parts}
