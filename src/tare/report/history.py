"""The effects of stored runs as series, with their change points."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal

from tare.model.history import Change, History, Level, Point, Series, StoredRun
from tare.model.results import Results, ScenarioResult, Verdict
from tare.model.scenario import EFFORT
from tare.model.servers import EXPERIMENT, REQUEST
from tare.report.comparison import surroundings
from tare.report.titles import titles
from tare.stats.change_points import change_points, fewest
from tare.stats.effect import from_percent
from tare.stats.plan_order import CONTROL

_LEVEL = 0.05
"""How often any series of the history may have a change point without a change."""


@dataclass(frozen=True)
class _Key:
    """Runs with the same of all these ask the same question."""

    study: str
    scenario: str
    variant: str
    against: str
    outcome: str
    unit: str
    parameters: str
    pairing: str
    servers: str
    """The commands, for a user's own servers."""


@dataclass(frozen=True)
class _Effect:
    """A judged outcome of one variant in one run, be it a ratio or a slope's difference."""

    variant: str
    outcome: str
    title: str
    unit: str
    better: Literal["lower", "higher"]
    value: float
    ci: tuple[float, float] | None
    verdict: Verdict | None
    alarmed: bool
    """The A/A control differs from the baseline in some outcome: do not believe the scenario."""


@dataclass
class _Found:
    scenario: str
    effect: _Effect
    """The oldest."""
    points: list[Point] = field(default_factory=list)


def history(runs: Sequence[Results]) -> History:
    """Return the history of runs that are given oldest first."""
    found: dict[_Key, _Found] = {}
    pairings = {(f"{each.experiment}/{each.study}", each.pairing) for each in runs}
    paired = Counter(study for study, _ in pairings)
    by_name = {each.run: each for each in runs}
    for results in runs:
        names = titles(results) if len(results.scenarios) > 1 else _asked(results)
        for scenario in results.scenarios:
            for effect in _effects(results, scenario):
                key = _key(results, scenario, effect)
                known = found.setdefault(key, _Found(names.get(scenario.name, ""), effect))
                before = by_name[known.points[-1].run] if known.points else results
                known.points.append(_point(before, results, effect))
    tested = sum(len(_counted(each.points)) >= fewest(_LEVEL) for each in found.values())
    level = _LEVEL / max(tested, 1)
    series = [
        Series(
            study=key.study,
            scenario=key.scenario,
            scenario_title=_where(each.scenario, key.pairing if paired[key.study] > 1 else ""),
            variant=key.variant,
            against=key.against,
            outcome=key.outcome,
            title=each.effect.title,
            unit=key.unit,
            better=each.effect.better,
            points=each.points,
            changes=list(_changes(each, level, by_name)),
        )
        for key, each in found.items()
    ]
    return History(
        runs=[_stored(each) for each in runs], series=series, level=level, fewest=fewest(level)
    )


def _asked(results: Results) -> dict[str, str]:
    """Return what a user's own servers were asked and how often, by scenario."""
    if results.experiment != EXPERIMENT:
        return {}
    found = {}
    for scenario in results.scenarios:
        request, rate = (scenario.parameters.get(name) for name in (REQUEST, "rate"))
        often = "" if rate is None else f"{rate:.10g} requests/s"
        found[scenario.name] = ", ".join(filter(None, [request, often]))
    return found


def _where(scenario: str, pairing: str) -> str:
    return ", ".join(filter(None, [scenario, pairing and f"by {pairing}"]))


def _stored(results: Results) -> StoredRun:
    variants = [each for scenario in results.scenarios for each in scenario.variants.values()]
    return StoredRun(
        run=results.run,
        experiment=results.experiment,
        study=results.study,
        complete=results.complete,
        trials_valid=sum(each.trials_valid for each in variants),
        fingerprint=results.environment.get("fingerprint"),
        kernel=results.environment.get("kernel"),
    )


def _effects(results: Results, scenario: ScenarioResult) -> Iterator[_Effect]:
    """Yield those of all variants but the baseline and the A/A control."""
    own = (results.baseline, CONTROL)
    alarmed = any(each in ("costs", "saves") for each in scenario.control_verdicts().values())
    for label, variant in scenario.variants.items():
        for name, each in variant.outcomes.items():
            if label not in own and each.judged and each.effect_pct is not None:
                yield _Effect(
                    label, name, each.title, "%", each.better, each.effect_pct, each.ci_pct,
                    each.verdict, alarmed,
                )  # fmt: skip
    for slope in scenario.slopes:
        for label, found in slope.variants.items():
            if label not in own and found.verdict is not None and found.difference is not None:
                yield _Effect(
                    label, slope.outcome, slope.title, slope.unit, slope.better, found.difference,
                    found.difference_ci, found.verdict, alarmed,
                )  # fmt: skip


def _key(results: Results, scenario: ScenarioResult, effect: _Effect) -> _Key:
    against = results.baseline_of(effect.variant)
    asked = {key: value for key, value in scenario.parameters.items() if key not in EFFORT}
    commands = results.environment.get("titles") or {}
    return _Key(
        study=f"{results.experiment}/{results.study}",
        scenario=scenario.name,
        variant=effect.variant,
        against=against,
        outcome=effect.outcome,
        unit=effect.unit,
        parameters=repr(sorted(asked.items())),
        pairing=results.pairing or "",
        servers=f"{commands.get(against)} {commands.get(effect.variant)}"
        if results.experiment == EXPERIMENT
        else "",
    )


def _point(before: Results, results: Results, effect: _Effect) -> Point:
    left_out = None
    if not results.complete:
        left_out = "the run is not finished"
    elif effect.alarmed:
        left_out = "its A/A control differs from the baseline"
    elif effect.ci is None:
        left_out = "it has no interval"
    return Point(
        run=results.run,
        value=effect.value,
        ci=effect.ci,
        verdict=effect.verdict,
        left_out=left_out,
        differences=list(surroundings(before, results)),
    )


def _counted(points: Iterable[Point]) -> list[Point]:
    return [point for point in points if point.left_out is None]


def _changes(found: _Found, level: float, runs: dict[str, Results]) -> Iterator[Change]:
    points = _counted(found.points)
    if len(points) < fewest(level):
        return
    scale = from_percent if found.effect.unit == "%" else float
    values = [scale(point.value) for point in points]
    marks = change_points(values, level)
    edges = [0, *(mark.at for mark in marks), len(points)]
    stretches = [slice(low, high) for low, high in pairwise(edges)]
    for mark, before, after in zip(marks, stretches[:-1], stretches[1:], strict=True):
        yield Change(
            run=points[mark.at].run,
            before=_level(points[before]),
            after=_level(points[after]),
            p=mark.p,
            trend=_trend(values[before], values[after], found.effect.better),
            differences=list(
                surroundings(runs[points[mark.at - 1].run], runs[points[mark.at].run])
            ),
        )


def _trend(
    before: Sequence[float], after: Sequence[float], better: Literal["lower", "higher"]
) -> Literal["worse", "better", "changed"]:
    """Return in which direction values went; an energy distance also sees another spread."""
    grew = median(after) > median(before)
    if max(before) >= min(after) and max(after) >= min(before):
        from scipy.stats import mannwhitneyu  # takes a second to import

        if mannwhitneyu(before, after).pvalue >= _LEVEL:
            return "changed"
    return "worse" if grew == (better == "lower") else "better"


def _level(points: Sequence[Point]) -> Level:
    values = [point.value for point in points]
    return Level(runs=len(values), median=median(values), low=min(values), high=max(values))
