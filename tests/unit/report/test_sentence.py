"""The verdict in a sentence, on built cases."""

from typing import Any

import pytest

from tare.model.results import Results
from tare.report.sentence import answers


def outcome(title: str, verdict: str, effect: float, low: float, high: float) -> dict[str, Any]:
    return {
        "title": title, "unit": "u", "better": "lower", "median": 1.0, "median_ci": None,
        "effect_pct": effect, "ci_pct": (low, high), "p_adjusted": 0.01, "judged": True,
        "verdict": verdict, "why": "w", "more_blocks": None, "blocks": 9,
    }  # fmt: skip


def results(floor: str = "equivalent", **outcomes: dict[str, Any]) -> Results:
    def variant(found: dict[str, Any]) -> dict[str, Any]:
        return {
            "status": "measured", "reason": None, "version": "1", "trials_valid": 9,
            "trials_invalid": 0, "trials_failed": 0, "outcomes": found,
        }  # fmt: skip

    floors = {
        name: {
            "effect_pct": 0.1, "ci_pct": (-0.2, 0.3), "reach_pct": 0.3, "detectable_pct": 0.4,
            "verdict": floor, "blocks": 9,
        }
        for name in outcomes
    }  # fmt: skip
    scenario = {
        "name": "default", "levels": {}, "parameters": {}, "noise_floor": floors, "pairs": [],
        "variants": {"old": variant({}), "new": variant(outcomes), "control": variant({})},
        "slopes": [],
    }  # fmt: skip
    return Results.model_validate(
        {
            "experiment": "servers", "study": "duel", "title": "t", "question": "q", "run": "r",
            "seed": 1, "baseline": "old", "baselines": {}, "complete": True, "margin_pct": 1.0,
            "overview": [], "measured_share": 0.5, "environment": {}, "scenarios": [scenario],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (("CPU per request", "costs", 2.13, 1.62, 2.58),
         "CPU per request is 2.13 % [1.62, 2.58] higher"),
        (("Median latency", "saves", -12.3, -14.0, -10.6),
         "median latency is 12.3 % [10.6, 14.0] lower"),
        (("CPU per request", "costs", 140.0, 131.0, 152.0),
         "CPU per request is 2.40 times [2.31, 2.52] as high"),
        (("p99 latency", "equivalent", 0.1, -0.4, 0.6),
         "p99 latency is equivalent, within ±1 %"),
        (("p99 latency", "unresolved", 3.0, -4.2, 10.1),
         "p99 latency could not be told: between -4.2 % and +10 %"),
        (("p99 latency", "unresolved", 3.0, 1.2, 10.1),
         "p99 latency could not be told: between +1.2 % and +10 %, but w"),
    ],
)  # fmt: skip
def test_a_verdict_in_words(case: tuple[Any, ...], words: str) -> None:
    assert answers(results(one=outcome(*case))) == [f"new against old: {words}."]


def test_several_outcomes_are_one_sentence() -> None:
    one = outcome("CPU per request", "costs", 2.0, 1.0, 3.0)
    two = outcome("Median latency", "equivalent", 0.0, -0.5, 0.5)
    (found,) = answers(results(one=one, two=two))
    assert found == (
        "new against old: CPU per request is 2.0 % [1.0, 3.0] higher; "
        "median latency is equivalent, within ±1 %."
    )


def test_a_control_that_differs_from_itself_comes_first() -> None:
    (found,) = answers(results("costs", one=outcome("CPU per request", "costs", 9, 8, 10)))
    assert found == (
        "Do not believe this run: old differs from itself in CPU per request, by the A/A control."
    )
