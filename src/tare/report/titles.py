"""Short titles of scenarios: only the levels in which they differ."""

from collections.abc import Sequence

from tare.model.results import Results, ScenarioResult
from tare.model.scenario import Scenario
from tare.stats.plan_order import CONTROL

_ROLES = {"load": "load generator", "sut": "server", "kernel": "kernel's threads"}


def titles(results: Results) -> dict[str, str]:
    """Scenario's name → the levels in which the run's scenarios differ; the name if in none."""
    return short_names(results.scenarios)


def short_names(scenarios: Sequence[Scenario | ScenarioResult]) -> dict[str, str]:
    """Return the same of a plan's scenarios, or of a run's."""
    varied = _varied(scenarios)
    return {
        scenario.name: ",".join(f"{factor}={scenario.levels[factor]}" for factor in varied)
        or scenario.name
        for scenario in scenarios
    }


def label_title(results: Results, label: str) -> str:
    """Return a row's name: the variant, or the baseline marked as the A/A control."""
    return f"{results.baseline} (A/A control)" if label == CONTROL else label


def role_title(role: str) -> str:
    """Return what a reader calls a role: its name, if it is no usual one."""
    return _ROLES.get(role, role)


def unit_title(title: str, unit: str) -> str:
    """Return an outcome's title with its unit; a number has none."""
    return title if unit == "1" else f"{title}, {unit}"


def beside(results: Results, label: str) -> str:
    """Return what a verdict is against, where that is not the run's baseline; else nothing."""
    own = results.baseline_of(label)
    return "" if own == results.baseline else f" against {own}"


def other_baselines(results: Results) -> list[str]:
    """Return a sentence for each baseline beside the run's own."""
    measured = {
        name: own
        for name, own in results.baselines.items()
        if any(scenario.variants[name].outcomes for scenario in results.scenarios)
    }
    return [
        f"Compared with {other} instead, the same server without them: "
        f"{', '.join(name for name, own in measured.items() if own == other)}."
        for other in dict.fromkeys(measured.values())
    ]


def common(results: Results) -> str | None:
    """Return the levels that all scenarios share, unless their titles say so."""
    varied = _varied(results.scenarios)
    if not varied:
        return None
    levels = results.scenarios[0].levels
    same = ", ".join(f"{name} {level}" for name, level in levels.items() if name not in varied)
    return f"All scenarios have {same}." if same else None


def _varied(scenarios: Sequence[Scenario | ScenarioResult]) -> list[str]:
    if not scenarios:
        return []
    return [
        factor
        for factor in scenarios[0].levels
        if len({scenario.levels[factor] for scenario in scenarios}) > 1
    ]
