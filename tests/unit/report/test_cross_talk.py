"""The warning of a duel whose sides work in each other's turns, on built cases."""

from typing import Any

import pytest
from built import case, outcome, results

from tare.report.sentence import answers

P99 = "ordinary_latency_p99_us"


def shown(share: float | None) -> dict[str, Any]:
    shared = outcome("Share", "unresolved", 0.0, 0.0, 0.0)
    return shared | {"unit": "%", "judged": False, "verdict": None, "median": share}


def words(
    old: float | None, new: float | None, name: str = P99, verdict: str = "costs"
) -> list[str]:
    own = {name: outcome("p99 latency", verdict, 20.0, 10.0, 30.0), "cpu_elsewhere": shown(new)}
    built = case({"new": own})
    built["variants"]["old"]["outcomes"]["cpu_elsewhere"] = shown(old)
    return answers(results(built))[1:]


def test_who_may_slow_whom_is_said() -> None:
    assert words(0.0, 5.62) == [
        "new uses 5.6 % of its CPU time in the turns of old: the slowest answers of old may be "
        "faster alone."
    ]
    assert words(31.0, 0.2) == [
        "old uses 31 % of its CPU time in the turns of new: the slowest answers of new may be "
        "faster alone."
    ]
    assert words(1.2, 5.62, "latency_p999_us", "equivalent") == [
        "new and old use 5.6 % and 1.2 % of their CPU time in each other's turns: the slowest "
        "answers of each may be faster alone."
    ]


@pytest.mark.parametrize(
    ("old", "new", "name", "verdict"),
    [
        (0.0, 0.9, P99, "costs"),
        (None, None, P99, "costs"),
        (9.0, 9.0, P99, "unresolved"),
        (9.0, 9.0, "latency_p50_us", "costs"),
    ],
)
def test_without_a_verdict_on_a_tail_or_such_work_nothing_is_said(
    old: float | None, new: float | None, name: str, verdict: str
) -> None:
    assert words(old, new, name, verdict) == []
