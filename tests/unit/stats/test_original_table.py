"""The table that the design of `filters` was published with, through this laboratory's statistics.

Means and standard deviations of 20 runs are all that was published, one variant after the other, so
that nothing can be paired: Welch's t (Biometrika 34, 1947, 28-35) and Holm's correction.

`./tare test --only python -- tests/unit/stats/test_original_table.py -s` prints it.
"""

import math
from dataclasses import dataclass

import pytest
from scipy import stats

from tare.stats.holm import holm
from tare.stats.interval import Interval

RUNS = 20
BASELINE = "no module"
# Requests per second: mean, standard deviation.
PUBLISHED = {
    BASELINE: (4536.86, 1027.29),
    "baseline C": (4559.84, 1000.22),
    "WebAssembly": (4008.00, 797.06),
    "LuaJIT": (3982.76, 644.57),
    "bpftime": (4461.00, 1031.08),
    "RLBox NoOp": (4148.58, 687.99),
    "ERIM": (4024.11, 784.07),
}


@dataclass(frozen=True)
class Overhead:
    """Lost requests per second in percent of the baseline's mean, with its 95 % interval."""

    percent: float
    interval: Interval
    p: float


def overhead(variant: tuple[float, float], baseline: tuple[float, float]) -> Overhead:
    """Welch's t of two means of RUNS; the baseline's mean is taken for exact in the percentage."""
    (mean, sd), (base, base_sd) = variant, baseline
    own, other = sd**2 / RUNS, base_sd**2 / RUNS
    error = math.sqrt(own + other)
    freedom = (own + other) ** 2 * (RUNS - 1) / (own**2 + other**2)
    reach = float(stats.t.ppf(0.975, freedom)) * error
    lost = base - mean
    interval = Interval(100 * (lost - reach) / base, 100 * (lost + reach) / base, 0.95)
    return Overhead(100 * lost / base, interval, 2 * float(stats.t.sf(abs(lost) / error, freedom)))


def compared(baseline: str) -> dict[str, tuple[Overhead, float]]:
    """Variant → its overhead and p after Holm over all that are compared with that baseline."""
    others = {
        name: overhead(figures, PUBLISHED[baseline])
        for name, figures in PUBLISHED.items()
        if name not in (BASELINE, baseline)
    }
    adjusted = holm([each.p for each in others.values()])
    return dict(zip(others, zip(others.values(), adjusted, strict=True), strict=True))


def test_the_overheads_are_those_that_were_published() -> None:
    published = {
        "baseline C": -0.51, "WebAssembly": 11.66, "LuaJIT": 12.21, "bpftime": 1.67,
        "RLBox NoOp": 8.56, "ERIM": 11.30,
    }  # fmt: skip
    found = {name: each.percent for name, (each, _) in compared(BASELINE).items()}
    assert found == pytest.approx(published, abs=0.01)


@pytest.mark.parametrize("baseline", [BASELINE, "baseline C"])
def test_none_of_them_survives_holms_correction(baseline: str) -> None:
    print(f"\n| against {baseline} | overhead [95 % interval] | p alone | p after Holm |")
    print("|---|---|---|---|")
    for name, (each, p) in compared(baseline).items():
        interval = f"{each.interval.low:+.1f}, {each.interval.high:+.1f}"
        print(f"| {name} | {each.percent:+.1f} % [{interval}] | {each.p:.3f} | {p:.2f} |")
    assert all(p > 0.05 for _, p in compared(baseline).values())


def test_alone_only_luajit_would_have_been_significant() -> None:
    alone = [name for name, (each, _) in compared(BASELINE).items() if each.p <= 0.05]
    assert alone == ["LuaJIT"]


def test_how_many_runs_it_would_have_taken() -> None:
    """To find 5 %, four times in five, with such a spread: (1.96 + 0.84)² · 2 · (sd / effect)²."""
    mean, sd = PUBLISHED[BASELINE]
    needed = (1.96 + 0.84) ** 2 * 2 * (sd / (0.05 * mean)) ** 2
    assert 300 < needed < 340
