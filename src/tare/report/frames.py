"""A run as tables in long form: trials × outcomes, their summary, and the pairs."""

from collections.abc import Iterable, Mapping
from typing import Literal

from tare.model.results import Results
from tare.report.folder import RunFolder

Kind = Literal["text", "whole", "number"]
Cells = dict[str, str | int | float | None]
Row = Mapping[str, str | int | float | None]

COLUMNS: dict[str, dict[str, Kind]] = {
    "trials": {
        "run": "text",
        "experiment": "text",
        "scenario": "text",
        "block": "whole",
        "label": "text",
        "variant": "text",
        "attempt": "whole",
        "status": "text",
        "reason": "text",
        "started": "text",
        "measured_s": "number",
        "outcome": "text",
        "unit": "text",
        "better": "text",
        "value": "number",
    },
    "summary": {
        "run": "text",
        "experiment": "text",
        "scenario": "text",
        "variant": "text",
        "status": "text",
        "reason": "text",
        "version": "text",
        "outcome": "text",
        "unit": "text",
        "better": "text",
        "blocks": "whole",
        "median": "number",
        "median_low": "number",
        "median_high": "number",
        "effect_pct": "number",
        "effect_low_pct": "number",
        "effect_high_pct": "number",
        "noise_floor_pct": "number",
        "p_adjusted": "number",
        "verdict": "text",
    },
    "slopes": {
        "run": "text",
        "experiment": "text",
        "scenario": "text",
        "outcome": "text",
        "variant": "text",
        "unit": "text",
        "blocks": "whole",
        "slope": "number",
        "slope_low": "number",
        "slope_high": "number",
        "intercept": "number",
        "intercept_low": "number",
        "intercept_high": "number",
        "bend": "number",
        "bend_low": "number",
        "bend_high": "number",
        "noise_floor": "number",
        "p_adjusted": "number",
        "verdict": "text",
    },
    "pairs": {
        "run": "text",
        "experiment": "text",
        "scenario": "text",
        "outcome": "text",
        "variant": "text",
        "against": "text",
        "blocks": "whole",
        "effect_pct": "number",
        "effect_low_pct": "number",
        "effect_high_pct": "number",
        "p_adjusted": "number",
        "verdict": "text",
    },
}
"""Table → column → kind. A figure that cannot be named is empty."""


def tables(folder: RunFolder, results: Results) -> dict[str, list[Row]]:
    """All tables of a run, each row with the columns of `COLUMNS`."""
    head: Cells = {"run": results.run, "experiment": results.experiment}
    return {
        "trials": list(_trials(folder, head)),
        "summary": list(_summary(results, head)),
        "slopes": list(_slopes(results, head)),
        "pairs": list(_pairs(results, head)),
    }


def _trials(folder: RunFolder, head: Cells) -> Iterable[Row]:
    """A trial that has no outcomes, because it failed, has one row without any."""
    for trial in folder.trials:
        own = head | {
            "scenario": trial.scenario,
            "block": trial.block,
            "label": trial.label,
            "variant": trial.variant,
            "attempt": trial.attempt,
            "status": trial.status,
            "reason": trial.reason,
            "started": trial.started,
            "measured_s": trial.measured_s,
        }
        for name in trial.outcomes or [None]:
            outcome = folder.plan.outcomes[name] if name is not None else None
            yield own | {
                "outcome": name,
                "unit": outcome.unit if outcome else None,
                "better": outcome.better if outcome else None,
                "value": trial.outcomes[name] if name is not None else None,
            }


def _summary(results: Results, head: Cells) -> Iterable[Row]:
    """A variant that was not measured has one row without an outcome."""
    for scenario in results.scenarios:
        for label, variant in scenario.variants.items():
            own = head | {
                "scenario": scenario.name,
                "variant": label,
                "status": variant.status,
                "reason": variant.reason,
                "version": variant.version,
            }
            for name, found in variant.outcomes.items():
                yield own | {
                    "outcome": name,
                    "unit": found.unit,
                    "better": found.better,
                    "blocks": found.blocks,
                    "median": found.median,
                    **_ends("median_low", "median_high", found.median_ci),
                    "effect_pct": found.effect_pct,
                    **_ends("effect_low_pct", "effect_high_pct", found.ci_pct),
                    "noise_floor_pct": scenario.noise_floor[name].reach_pct,
                    "p_adjusted": found.p_adjusted,
                    "verdict": found.verdict,
                }
            if not variant.outcomes:
                yield dict.fromkeys(COLUMNS["summary"]) | own


def _slopes(results: Results, head: Cells) -> Iterable[Row]:
    for scenario in results.scenarios:
        for sloped in scenario.slopes:
            for label, found in sloped.variants.items():
                yield head | {
                    "scenario": scenario.name,
                    "outcome": sloped.outcome,
                    "variant": label,
                    "unit": sloped.unit,
                    "blocks": found.blocks,
                    "slope": found.slope,
                    **_ends("slope_low", "slope_high", found.ci),
                    "intercept": found.intercept,
                    **_ends("intercept_low", "intercept_high", found.intercept_ci),
                    "bend": found.bend,
                    **_ends("bend_low", "bend_high", found.bend_ci),
                    "noise_floor": sloped.floor,
                    "p_adjusted": found.p_adjusted,
                    "verdict": found.verdict,
                }


def _pairs(results: Results, head: Cells) -> Iterable[Row]:
    for scenario in results.scenarios:
        for pair in scenario.pairs:
            yield head | {
                "scenario": scenario.name,
                "outcome": pair.outcome,
                "variant": pair.variant,
                "against": pair.against,
                "blocks": pair.blocks,
                "effect_pct": pair.effect_pct,
                **_ends("effect_low_pct", "effect_high_pct", pair.ci_pct),
                "p_adjusted": pair.p_adjusted,
                "verdict": pair.verdict,
            }


def _ends(low: str, high: str, interval: tuple[float, float] | None) -> Cells:
    return dict(zip((low, high), interval or (None, None), strict=True))
