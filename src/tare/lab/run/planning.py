"""Plans of runs."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from tare.lab.errors import UnknownName
from tare.lab.project import gate_limits, parts, render
from tare.lab.project.catalog import Loaded
from tare.lab.run import benchmarks
from tare.model.analysis import Compare
from tare.model.fields import Selection
from tare.model.role import GENERATORS, INSTRUMENT_ROLE
from tare.model.scenario import (
    Scenario,
    effective_levels,
    expand,
    level_parameters,
    name_of,
    parse_selection,
    repeated,
)
from tare.model.study import Blocks, Pairing, Quick
from tare.model.trial import Plan, Until

_SEED_BITS = 32
_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_POSITIVE = ("connections", "threads", GENERATORS, "duration_s", "rate")
"""Parameters of loads: the options of the same names refuse 0 as well."""
_MANY = Blocks(min=1, max=1000)
"""Of a run that ends when it is resolved or narrow enough, or when its time is over."""


def make(
    loaded: Loaded,
    *,
    quick: bool,
    variants: list[str] | None,
    scenarios: list[str],
    blocks: int | None,
    seed: int | None,
    overrides: Mapping[str, Any],
    until: Until = "narrow",
    resolve_pct: float | None = None,
    within_s: float | None = None,
    limits: Mapping[str, float] | None = None,
    pairing: Pairing | None = None,
    why: bool = False,
    tail: bool = False,
) -> Plan:
    """Return the plan of a new run of a study. Raises UnknownName for names that do not exist,
    scenarios that the overrides make equal, and an end that the study cannot wait for, and
    ManifestError for gates that a scenario makes none of.
    """
    _refuse_waiting(loaded, until, resolve_pct)
    study, shorter = loaded.study, _quick(loaded) if quick else Quick()
    now, own = datetime.now(UTC), checked(loaded, overrides)
    chosen = loaded.choose(variants or (list(shorter.variants) if quick else None) or None)
    made = _scenarios(loaded, scenarios, shorter, own)
    plan = Plan(
        run=f"{now:%Y%m%dT%H%M%SZ}-{loaded.name}-{loaded.study_name}",
        experiment=loaded.name,
        study=loaded.study_name,
        title=study.title,
        question=study.question,
        tare=version("tare"),
        created=now.isoformat(timespec="seconds"),
        seed=random.getrandbits(_SEED_BITS) if seed is None else seed,
        baseline=study.baseline,
        baselines={
            name: loaded.baseline_of(name)
            for name in chosen
            if loaded.baseline_of(name) != study.baseline
        },
        variants=chosen,
        scenarios=[scenario for _, scenario in made],
        overrides=own,
        parts=dict(loaded.parts),
        variants_dir=str(loaded.outside) if loaded.outside else None,
        outcomes=loaded.outcomes,
        judged=study.judged,
        awaited=list(limits or study.awaited or study.judged),
        shown=study.shown,
        overview=study.overview,
        margin_pct=study.margin_pct,
        pairing=_pairing(loaded, pairing, [scenario for _, scenario in made]),
        until=until,
        within_s=within_s,
        limits=dict(limits or {}),
        blocks=_wanted_blocks(
            study.blocks, shorter if quick else None, blocks, until=until, resolve_pct=resolve_pct
        ),
        quick=quick,
        why=why,
        tail=tail,
        running=any(
            role.running for name in chosen for role in loaded.variants[name].roles.values()
        ),
    )
    if tail and plan.pairing != "slices":
        raise UnknownName(f"{loaded.title}: --tail looks at duels, and this study makes trials")
    if why and (reason := _unexplained(loaded, plan)):
        raise UnknownName(f"{loaded.title}: --why cannot explain this study: {reason}")
    named, retries = {}, {}
    for levels, scenario in made:
        gates = gate_limits.limits(study.gates, scenario.parameters, loaded.title)
        retries[scenario.name] = gates.retries
        if found := benchmarks.of(loaded, plan.variants, levels, scenario.parameters):
            named[scenario.name] = found
    return plan.model_copy(update={"benchmarks": named, "retries": retries})


def _unexplained(loaded: Loaded, plan: Plan) -> str | None:
    """Return why no second window explains what a study judges, or None if one does."""
    if not isinstance(loaded.study.analysis, Compare):
        return "its trials have several windows of their own"
    if loaded.study.unrepeatable:
        return f"no window of a trial can be measured again: {loaded.study.unrepeatable}"
    roles = {
        path.of
        for name in plan.judged
        for path in plan.outcomes[name].paths
        if path.source == "role"
    }
    if roles == {INSTRUMENT_ROLE}:
        return "it judges the load generator, and --why looks at servers"
    return None


def scenario_at(loaded: Loaded, levels: Selection, overrides: Mapping[str, Any]) -> Scenario:
    """Return the study's scenario at these levels, the first ones where none are named.

    Raises UnknownName for overrides that the study does not declare.
    """
    ((_, found), *_) = _made(loaded, [levels], Quick(), checked(loaded, overrides))
    return found


def checked(loaded: Loaded, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return `overrides` with values of the types that the study declares. Raises UnknownName."""
    known = loaded.study.settable
    found = {}
    for name, value in overrides.items():
        if name not in known:
            raise UnknownName(
                f"{loaded.title} has no parameter {name!r}; it has: {', '.join(known)}"
                f"{parts.also(loaded)}"
            )
        default = render.parameters(known)[name]
        found[name] = _as(type(default), name, value)
        if name in _POSITIVE and found[name] <= 0:
            raise UnknownName(f"parameter {name}: found {value}, expected a number above 0")
    return found


def _refuse_waiting(loaded: Loaded, until: Until, resolve_pct: float | None) -> None:
    """Raise UnknownName where a run would wait for what its study has none of, and so end at once.

    Only ratios have a test that may be looked at after every block, or a width that is awaited.
    """
    option = "--until resolved" if until == "resolved" else "--resolve"
    if until != "resolved" and resolve_pct is None:
        return
    judged = loaded.study.judged
    slopes = [name for name in judged if loaded.outcomes[name].is_slope]
    if slopes and (until == "resolved" or slopes == judged):
        raise UnknownName(
            f"{loaded.title}: {option} waits for verdicts on ratios, and it judges slopes "
            f"({', '.join(slopes)}); leave it out"
        )
    if not judged:
        raise UnknownName(
            f"{loaded.title}: {option} waits for verdicts, and it judges nothing; set --blocks"
        )


def _pairing(loaded: Loaded, asked: Pairing | None, scenarios: Sequence[Scenario]) -> Pairing:
    """Return the study's pairing, or the one that is asked for. Raises UnknownName for duels that
    cannot be had.
    """
    found = asked or loaded.study.pairing
    if found == "trials":
        return found
    if not isinstance(loaded.study.analysis, Compare):
        raise UnknownName(f"{loaded.title}: its trials have several windows, so no duels")
    if any(each.parameters.get("threads", 1) != 1 for each in scenarios):
        raise UnknownName(
            f"{loaded.title}: a duel has one thread of load; leave --threads out, or add "
            "--pairing trials"
        )
    if any(each.parameters.get(GENERATORS, 1) != 1 for each in scenarios):
        raise UnknownName(
            f"{loaded.title}: a duel has one generator, which takes turns between its two sides; "
            f"leave {GENERATORS} out, or add --pairing trials"
        )
    return found


def _quick(loaded: Loaded) -> Quick:
    if loaded.study.quick is None:
        raise UnknownName(
            f"{loaded.title} has no quick version; set --blocks and --duration instead"
        )
    return loaded.study.quick


def _wanted_blocks(
    default: Blocks,
    quick: Quick | None,
    exactly: int | None,
    *,
    until: Until,
    resolve_pct: float | None,
) -> Blocks:
    if resolve_pct is not None:
        many = {"max": _MANY.max, "target_half_width_pct": resolve_pct}
        return default.model_copy(update=many)
    if until == "resolved" and exactly is None:
        return _MANY
    count = exactly if exactly is not None else quick.blocks if quick else None
    return default if count is None else Blocks(min=count, max=count)


def _scenarios(
    loaded: Loaded, wanted: list[str], quick: Quick, overrides: Mapping[str, Any]
) -> list[tuple[dict[str, str], Scenario]]:
    """Return each scenario behind the levels that were chosen for it."""
    study = loaded.study
    try:
        if wanted == ["all"]:
            selections = [*study.scenarios, *study.extended]
        elif wanted:
            selections = [parse_selection(text) for text in wanted]
        else:
            selections = quick.scenarios or study.scenarios
        return _made(loaded, selections, quick, overrides)
    except ValueError as error:
        raise UnknownName(f"{loaded.title}: {error}") from error


def _made(
    loaded: Loaded,
    selections: list[Selection],
    quick: Quick,
    overrides: Mapping[str, Any],
) -> list[tuple[dict[str, str], Scenario]]:
    factors, known = loaded.study.factors, loaded.study.parameters
    exchanged = parts.levels(loaded)
    own_files = {name: value for name, value in exchanged.items() if name in known}
    found = []
    for levels in expand(factors, selections):
        own = level_parameters(factors, levels)
        merged = known | quick.parameters | own | dict(overrides) | own_files
        parameters = render.parameters(merged)
        if loaded.study.exclude and render.condition(
            loaded.study.exclude, parameters | {"part": loaded.parts}, f"{loaded.title}: exclude"
        ):
            continue
        effective = effective_levels(factors, levels, {**overrides, **exchanged})
        scenario = Scenario(name=name_of(effective), levels=effective, parameters=parameters)
        found.append((levels, scenario))
    if (name := repeated([scenario for _, scenario in found])) is not None:
        settings = ", ".join(f"{key}={value}" for key, value in {**overrides, **exchanged}.items())
        raise UnknownName(
            f"{loaded.title}: with {settings} several scenarios are the same, {name}; "
            "choose one of them with --scenarios"
        )
    if not found:
        raise UnknownName(f"{loaded.title}: its scenarios exclude all that was chosen")
    return found


def _as(kind: type, name: str, value: Any) -> Any:
    try:
        if kind is bool:
            return {"true": True, "false": False}[str(value).lower()]
        if kind is int:
            return _whole(value)
        if kind in (float, str):
            return kind(value)
    except (ValueError, KeyError) as error:
        raise UnknownName(f"parameter {name}: found {value!r}, expected {_WORDS[kind]}") from error
    raise UnknownName(f"parameter {name}: a {kind.__name__} cannot be set on the command line")


def _whole(value: Any) -> int:
    """An integer. Raises ValueError for a number with a fraction, which int() would cut off."""
    number = int(value)
    if number != (float(value) if isinstance(value, float) else number):
        raise ValueError
    return number
