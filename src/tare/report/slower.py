"""The difference between the slowest requests of both sides, in sentences."""

from dataclasses import dataclass

from tare.model.results import ScenarioResult, TailPartResult, TailResult
from tare.report.numbers import Interval, figure, listed, signed
from tare.report.tail import LEAST, NAMED, unit_of, words
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import two_digits


def sentences(scenario: ScenarioResult, own: TailResult, baseline: str) -> list[str]:
    """Return the difference of the slowest requests, of p99, and a doubt where the A/A control has
    one, too.
    """
    control = next((each for each in scenario.tails if each.label == CONTROL), None)
    found = [of_slowest(own, baseline), of_p99(own, baseline)]
    if control is not None and _is_clear(control.ci_ns):
        found.append(
            f"But the slowest requests of {baseline} differ from its own, too, by "
            f"{_difference(control.difference_ns, control.ci_ns)}, so do not rely on this."
        )
    return found


def of_slowest(tail: TailResult, baseline: str) -> str:
    """Return the difference, and which causes make it up; or that there is no clear one."""
    share = f"the slowest {two_digits(100 * tail.slowest_share)} % of requests"
    where = f"in {tail.windows} windows of each alone, which do not count"
    if not _is_clear(tail.ci_ns):
        return (
            f"{share.capitalize()} show no clear difference between {tail.label} and {baseline}: "
            f"{_difference(tail.difference_ns, tail.ci_ns)} ({where})."
        )
    more = "longer" if tail.difference_ns > 0 else "less"
    said = (
        f"{share.capitalize()} take {_size(tail.difference_ns, tail.ci_ns)} {more} with "
        f"{tail.label} than with {baseline} ({where})"
    )
    found = culprits(tail)
    ratios = [part.difference_ns / tail.difference_ns for part in found]
    # Others outweigh parts that are alone or together larger than the whole.
    shares = sum(ratios) <= 1 + LEAST and all(round(100 * ratio) <= 100 for ratio in ratios)
    causes = [_cause(part, tail.difference_ns, shares=shares) for part in found]
    return f"{said}: {listed(causes)}." if causes else f"{said}; no cause stands out."


def of_p99(tail: TailResult, baseline: str) -> str:
    """Return both sides' p99, and whether they differ."""
    scale, unit = unit_of(max(tail.baseline_p99_ns, tail.variant_p99_ns))
    sides = (
        f"{two_digits(tail.variant_p99_ns / scale)} {unit} with {tail.label} and "
        f"{two_digits(tail.baseline_p99_ns / scale)} {unit} with {baseline}"
    )
    if _is_clear(tail.p99_ci_ns):
        by = _difference(tail.p99_difference_ns, tail.p99_ci_ns)
        return f"The p99 of these windows is {sides}: {by}."
    return f"The p99 of these windows is {sides}, which is no clear difference."


@dataclass(frozen=True)
class Table:
    """The causes of both sides in cells: words, baseline, variant, difference."""

    unit: str
    rows: list[tuple[str, str, str, str]]


def table(tail: TailResult) -> Table:
    """Return the causes, the largest difference first, all in one unit."""
    times = [time for part in tail.parts for time in (part.baseline_ns, part.variant_ns)]
    scale, unit = unit_of(max(times, default=0.0))
    return Table(
        unit,
        [
            (
                words(part.cause, part.who),
                two_digits(part.baseline_ns / scale),
                two_digits(part.variant_ns / scale),
                signed(part.difference_ns / scale, _in(scale, part.ci_ns)),
            )
            for part in tail.parts
        ],
    )


def culprits(tail: TailResult) -> list[TailPartResult]:
    """Return the causes whose difference is clear and makes up a share of the whole one."""
    return [
        part
        for part in tail.parts
        if part.clear and part.difference_ns / tail.difference_ns >= LEAST
    ][:NAMED]


def _cause(part: TailPartResult, whole_ns: float, *, shares: bool) -> str:
    scale, unit = unit_of(abs(part.difference_ns))
    more = "more" if whole_ns > 0 else "less"
    share = f" ({part.difference_ns / whole_ns * 100:.0f} %)" if shares else ""
    size = f"{two_digits(abs(part.difference_ns) / scale)} {unit} {more}{share}"
    return f"for {size}, {words(part.cause, part.who)}"


def _is_clear(interval: Interval) -> bool:
    return interval[0] > 0 or interval[1] < 0


def _size(ns: float, interval: Interval) -> str:
    scale, unit = unit_of(abs(ns))
    low, high = sorted(map(abs, _in(scale, interval)))
    return f"{figure(abs(ns) / scale, (low, high))} {unit}"


def _difference(ns: float, interval: Interval) -> str:
    scale, unit = unit_of(max(map(abs, interval)))
    return f"{signed(ns / scale, _in(scale, interval))} {unit}"


def _in(scale: float, interval: Interval) -> Interval:
    return interval[0] / scale, interval[1] / scale
