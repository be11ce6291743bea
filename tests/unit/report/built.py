"""Made-up results: scenarios of outcomes with given verdicts."""

from typing import Any

from tare.model.results import Results
from tare.stats.plan_order import CONTROL


def outcome(title: str, verdict: str, effect: float, low: float, high: float) -> dict[str, Any]:
    return {
        "title": title, "unit": "u", "better": "lower", "median": 1.0, "median_ci": None,
        "effect_pct": effect, "ci_pct": (low, high), "p_adjusted": 0.01, "judged": True,
        "verdict": verdict, "why": "w", "more_blocks": None, "blocks": 9,
    }  # fmt: skip


def case(
    variants: dict[str, dict[str, Any]],
    pairs: dict[tuple[str, str], str | tuple[str, float, float]] | None = None,
    floor: str = "equivalent",
    name: str = "default",
) -> dict[str, Any]:
    """One scenario: each variant's outcomes, and the verdicts of pairs, some with intervals of
    their own.
    """
    judged = dict.fromkeys(key for own in variants.values() for key in own)
    return {
        "name": name,
        "levels": {"load": name},
        "noise_floor": {
            key: {
                "effect_pct": 0.1, "ci_pct": (-0.2, 0.3), "reach_pct": 0.3, "detectable_pct": 0.4,
                "verdict": floor, "blocks": 9,
            }
            for key in judged
        },
        "variants": {
            label: {
                "status": "measured", "reason": None, "version": "1", "trials_valid": 9,
                "trials_invalid": 0, "trials_failed": 0, "outcomes": own,
            }
            for label, own in ({"old": {}} | variants | {CONTROL: {}}).items()
        },
        "pairs": [
            {
                "outcome": key, "variant": one, "against": other,
                "effect_pct": sum(told[1:]) / 2 if isinstance(told, tuple) else 0.0,
                "ci_pct": told[1:] if isinstance(told, tuple) else (-0.5, 0.5), "p_adjusted": 1.0,
                "verdict": told[0] if isinstance(told, tuple) else told, "why": "w",
                "more_blocks": None, "blocks": 9,
            }
            for (one, other), told in (pairs or {}).items()
            for key in judged
        ],
    }  # fmt: skip


def results(*scenarios: dict[str, Any], **changes: Any) -> Results:
    fields = {
        "experiment": "servers", "study": "duel", "title": "t", "question": "q", "run": "r",
        "seed": 1, "baseline": "old", "complete": True, "margin_pct": 1.0, "block_s": 30.0,
        "measured_share": 0.5, "environment": {}, "scenarios": list(scenarios),
    }  # fmt: skip
    return Results.model_validate(fields | changes)
