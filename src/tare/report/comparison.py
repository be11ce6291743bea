"""Compares two runs by their results.json alone."""

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tare.model.comparison import Changed, ChangedSlope, LostOutcome, RunComparison
from tare.model.results import (
    OutcomeResult,
    Results,
    ScenarioResult,
    SlopeOfVariant,
    SlopeResult,
    VariantResult,
)
from tare.model.scenario import EFFORT
from tare.model.servers import EXPERIMENT, REQUEST, START
from tare.model.trial import fault_of
from tare.report.errors import NotARun, ReportError
from tare.stats.change import Measured, MeasuredSlope, change, change_of_slope
from tare.stats.plan_order import CONTROL
from tare.stats.verdict import Direction

_MACHINE = ("cpu", "cpu_count", "memory_bytes", "distribution", "kernel", "control_groups", "cpus")
_PLURAL = {"experiment": "experiments", "study": "studies", "baseline": "baselines"}
NOTE = (
    "The two runs were made at different times, so their trials are not paired. Compared are each "
    "variant's effects against the baseline of its own run: changes that affect both cancel out "
    "and go undetected."
)


class NotComparable(ReportError):
    """Two runs of different questions."""


def stored(path: Path) -> Results:
    """The results of a run's folder, or of a results.json by itself. Raises NotARun."""
    file = path / "results.json" if path.is_dir() else path
    try:
        return Results.model_validate_json(file.read_text())
    except FileNotFoundError as error:
        raise NotARun(f"{path} has no results.json{_instead(path)}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise NotARun(f"{file} cannot be read: {error}") from error
    except ValidationError as error:
        why = fault_of(error)
        raise NotARun(f"{file} holds no results that this version reads: {why}") from error


def _instead(folder: Path) -> str:
    """Return what to do about a folder without results, or where else they are."""
    if (folder / "plan.json").is_file():
        return f"; write it with: tare report {shlex.quote(str(folder))}"
    table = folder / "table.txt"
    if table.is_file():
        return f"; its trials were not kept, and {table} has what they showed"
    return ", so it is not the folder of a run"


def compare(before: Results, after: Results) -> RunComparison:
    """Effects and slopes of the same variants, scenarios and judged outcomes. Raises NotComparable,
    also where the runs have none in common.
    """
    for field in ("experiment", "study", "baseline"):
        one, other = getattr(before, field), getattr(after, field)
        if one != other:
            raise NotComparable(f"the runs have different {_PLURAL[field]}: {one} and {other}")
    if None not in (before.pairing, after.pairing) and before.pairing != after.pairing:
        raise NotComparable(
            f"the runs were paired by {before.pairing}, then by {after.pairing}, which need not "
            f"agree; make the later one again with --pairing {before.pairing}"
        )
    unlike = _unlike_scenarios(before, after)
    if unlike and not {each.name for each in after.scenarios} - unlike.keys():
        raise NotComparable("\n".join(unlike.values()))
    made = RunComparison(
        experiment=after.experiment,
        before=before.run,
        after=after.run,
        alarms=[
            f"{which.run}, {name}: the A/A control differs from the baseline in {outcome}"
            for which in (before, after)
            for name, outcome in which.alarms()
        ],
        unfinished=[which.run for which in (before, after) if not which.complete],
        differences=list(dict.fromkeys(_differences(before, after))),
        refused=list(unlike.values()),
        lost=list(_lost(before, after)),
        outcomes_lost=[
            each for each in _outcomes_lost(before, after) if each.scenario not in unlike
        ],
        changes=[each for each in _changes(before, after) if each.scenario not in unlike],
        slopes=[each for each in _slopes(before, after) if each.scenario not in unlike],
    )
    if not (made.changes or made.slopes or made.lost or made.outcomes_lost):
        raise NotComparable(
            f"{before.run} and {after.run} have no judged outcome of a variant in common"
        )
    return made


def _unlike_scenarios(before: Results, after: Results) -> dict[str, str]:
    """Return the scenarios of one name that were made with other parameters, each with why."""
    found = {}
    for name, (first, last) in _common(before, after).items():
        unlike = [each for each in _parameters(first, last) if not _is_minor(*each)]
        if unlike:
            said = "; ".join(
                f"{key} {_plain(one)}, then {_plain(other)}" for key, one, other in unlike
            )
            rate = first.parameters.get("rate")
            by_rate = rate is not None and [key for key, *_ in unlike] == ["rate"]
            # Of the user's own servers each run chooses its own where none is given.
            remedy = f"; make the later one again with --rate {rate:.10g}" if by_rate else ""
            what = name if len(after.scenarios) > 1 else "these runs"
            found[name] = f"{what} cannot be compared: {said}{remedy}"
    return found


def _is_minor(key: str, one: object, other: object) -> bool:
    """Return true if runs can be compared in which a parameter differs so: earlier versions did not
    store what servers were asked, and how they were prepared.
    """
    return key in EFFORT or (key in (REQUEST, START) and None in (one, other))


def _plain(value: object) -> str:
    if value is None:
        return "not stored"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _common(before: Results, after: Results) -> dict[str, tuple[ScenarioResult, ScenarioResult]]:
    later = {scenario.name: scenario for scenario in after.scenarios}
    return {
        scenario.name: (scenario, later[scenario.name])
        for scenario in before.scenarios
        if scenario.name in later
    }


def _parameters(
    first: ScenarioResult, last: ScenarioResult
) -> Iterator[tuple[str, object, object]]:
    """Yield each parameter that is not the same in both, with its values."""
    for key in sorted({*first.parameters, *last.parameters}):
        one, other = first.parameters.get(key), last.parameters.get(key)
        if one != other:
            yield key, one, other


def _changes(before: Results, after: Results) -> Iterator[Changed]:
    earlier = {scenario.name: scenario for scenario in before.scenarios}
    for scenario in after.scenarios:
        if (old := earlier.get(scenario.name)) is None:
            continue
        for label, variant in scenario.variants.items():
            known = old.variants.get(label)
            own = (after.baseline, CONTROL)
            if known is None or label in own or _of_other_baselines(before, after, label):
                continue
            for name, new in variant.outcomes.items():
                first = _measured(old, name, known.outcomes.get(name))
                last = _measured(scenario, name, new)
                if not new.judged or first is None or last is None:
                    continue
                better = Direction(new.better)
                found = change(first, last, better, after.margin_pct)
                yield Changed(
                    scenario=scenario.name,
                    variant=label,
                    outcome=name,
                    better=new.better,
                    before_pct=first.effect,
                    before_ci_pct=first.interval,
                    after_pct=last.effect,
                    after_ci_pct=last.interval,
                    change_pct=found.percent,
                    change_ci_pct=found.interval,
                    trend=found.trend.value,
                    why=found.why,
                    worse_by_pct=found.worse_by(better),
                )


def _slopes(before: Results, after: Results) -> Iterator[ChangedSlope]:
    for scenario, (first, last) in _common(before, after).items():
        earlier = {each.outcome: each for each in first.slopes}
        for found in last.slopes:
            old = earlier.get(found.outcome)
            if old is None or old.unit != found.unit:
                continue
            for label, new in found.variants.items():
                known = old.variants.get(label)
                # An unjudged slope has no verdict.
                if label in (after.baseline, CONTROL) or known is None or new.verdict is None:
                    continue
                if _of_other_baselines(before, after, label):
                    continue
                one, other = _measured_slope(old, known), _measured_slope(found, new)
                if one is None or other is None:
                    continue
                better = Direction(found.better)
                made = change_of_slope(one, other, better, after.margin_pct, found.unit)
                yield ChangedSlope(
                    scenario=scenario,
                    variant=label,
                    outcome=found.outcome,
                    unit=found.unit,
                    better=found.better,
                    before=one.difference,
                    before_ci=one.interval,
                    after=other.difference,
                    after_ci=other.interval,
                    change_pct=made.percent if math.isfinite(made.percent) else None,
                    trend=made.trend.value,
                    why=made.why,
                    worse_by_pct=made.worse_by(better),
                )


def _measured_slope(of: SlopeResult, found: SlopeOfVariant) -> MeasuredSlope | None:
    if found.difference is None:
        return None
    return MeasuredSlope(found.slope, found.difference, found.difference_ci, of.floor)


def _measured(
    scenario: ScenarioResult, name: str, outcome: OutcomeResult | None
) -> Measured | None:
    if outcome is None or outcome.effect_pct is None:
        return None
    return Measured(outcome.effect_pct, outcome.ci_pct, scenario.noise_floor[name].reach_pct)


def _lost(before: Results, after: Results) -> Iterator[str]:
    later = {scenario.name: scenario for scenario in after.scenarios}
    for scenario in before.scenarios:
        if (new := later.get(scenario.name)) is None:
            yield f"{scenario.name}: not in {after.run}"
            continue
        had = {label for label, _ in _compared(before, scenario)}
        for label, variant in scenario.variants.items():
            now = new.variants.get(label)
            if variant.status != "measured" and label not in had:
                continue
            if now is None:
                why = f"not in {after.run}"
            elif now.status != "measured" and not _as_before(variant, now):
                why = f"{now.status}: {now.reason}"
            elif not (why := _of_other_baselines(before, after, label)):
                continue
            yield f"{scenario.name}, {label}: {why}"


def _as_before(variant: VariantResult, now: VariantResult) -> bool:
    """Return true if a variant that failed in some trials did so before, and has figures again."""
    return variant.status != "measured" and bool(now.outcomes)


def _of_other_baselines(before: Results, after: Results, label: str) -> str:
    """Say against what a variant's effects are, if that is not the same in both runs."""
    one, other = before.baseline_of(label), after.baseline_of(label)
    return "" if one == other else f"against {one}, then against {other}"


def _outcomes_lost(before: Results, after: Results) -> Iterator[LostOutcome]:
    for scenario, (first, last) in _common(before, after).items():
        gone = _compared(before, first) - _compared(after, last)
        for label, outcome in sorted(gone):
            now = last.variants.get(label)
            if now is not None and (
                now.status == "measured" or _as_before(first.variants[label], now)
            ):
                yield LostOutcome(scenario=scenario, variant=label, outcome=outcome)


def compared_outcomes(results: Results) -> set[str]:
    """Return the judged outcomes and slopes of which a variant has an effect."""
    return {
        outcome for scenario in results.scenarios for _, outcome in _compared(results, scenario)
    }


def _compared(results: Results, scenario: ScenarioResult) -> set[tuple[str, str]]:
    """Return each variant with each judged outcome and slope that has an effect."""
    own = (results.baseline, CONTROL)
    return {
        (label, name)
        for label, variant in scenario.variants.items()
        for name, found in variant.outcomes.items()
        if label not in own and found.judged and found.effect_pct is not None
    } | {
        (label, slope.outcome)
        for slope in scenario.slopes
        for label, found in slope.variants.items()
        if label not in own and found.verdict is not None and found.difference is not None
    }


def _differences(before: Results, after: Results) -> Iterator[str]:
    for name, pair in _common(before, after).items():
        for key, one, other in _parameters(*pair):
            if _is_minor(key, one, other):
                yield f"{name}: {key} {_plain(one)}, then {_plain(other)}"
    if after.experiment == EXPERIMENT:
        first, last = before.environment, after.environment
        yield from _unlike("command", first.get("titles") or {}, last.get("titles") or {})
    yield from surroundings(before, after)


def surroundings(before: Results, after: Results) -> Iterator[str]:
    """Yield what differs in the machine and in what was measured, in words."""
    first, last = before.environment, after.environment
    for key in _MACHINE:
        if first.get(key) != last.get(key):
            yield f"{key.replace('_', ' ')}: {first.get(key)}, then {last.get(key)}"
    for kind in ("versions", "components"):
        yield from _unlike(kind, first.get(kind) or {}, last.get(kind) or {})
    if first.get("fingerprint") != last.get("fingerprint"):
        yield "fingerprint: the experiment's files, or what was built for it, are not the same"


def _unlike(kind: str, first: dict[str, Any], last: dict[str, Any]) -> Iterator[str]:
    for name in sorted(set(first) & set(last)):
        if first[name] != last[name]:
            yield f"{kind}: {name} {first[name]}, then {last[name]}"
