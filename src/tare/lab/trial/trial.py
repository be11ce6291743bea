"""One trial: allocate, start, oracle, warm up, measure, stop, gates."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tare.lab.errors import RoleError, Unavailable
from tare.lab.project import gate_limits
from tare.lab.project.hooks import Answered, OracleError, Window
from tare.lab.trial import usage
from tare.lab.trial.analysis.protocol import About, Found
from tare.lab.trial.analysis.registry import of
from tare.lab.trial.bench import Bench
from tare.lab.trial.gates import registry
from tare.lab.trial.gates.gate import Conditions
from tare.lab.trial.measure import Measurement, Progress, measure
from tare.lab.trial.outcomes import Measured
from tare.lab.trial.site import Site
from tare.model.trial import Gate, PlannedTrial, Trial


@dataclass(frozen=True)
class Done:
    """A finished trial, its histograms, and the files it was run with."""

    trial: Trial
    histograms: dict[str, str]
    rendered: dict[str, str]


def run_trial(
    bench: Bench,
    planned: PlannedTrial,
    attempt: int,
    parameters: Mapping[str, Any],
    *,
    seed: int,
    version: str,
    work: Path,
    progress: Progress,
) -> Done:
    """Make one attempt at `planned`. A failure of the variant is a `failed` trial, not an error."""
    started, begun = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    name = planned.id if attempt == 1 else f"{planned.id}-a{attempt}"
    own_seed = random.Random(f"{seed}/{planned.id}/{attempt}").getrandbits(31)
    bench.journal.write("trial", f"{name}: begins, seed {own_seed}")
    site: Site | None = None
    try:
        site = Site(
            bench, planned.variant, parameters, seed=own_seed, name=name, folder=work / name
        )
        made = _measured(site, progress)
    except Unavailable as reason:
        made = _Attempt("unavailable", str(reason))
    except Exception as error:
        made = _Attempt("failed", _cause(site, error))
    finally:
        stubborn = site.stop() if site is not None else []
    if stubborn and made.status == "valid":
        made = replace(made, status="failed", reason="; ".join(stubborn))
    trial = Trial(
        id=name,
        block=planned.block,
        scenario=planned.scenario,
        label=planned.label,
        variant=planned.variant,
        attempt=attempt,
        status=made.status,
        reason=made.reason,
        started=started,
        wall_s=time.monotonic() - begun,
        measured_s=made.measured_s,
        version=version,
        gates=made.gates,
        outcomes=made.outcomes,
        roles=made.roles,
        machine=made.machine,
        counters=made.counters,
        instrument=made.instrument,
    )
    bench.journal.write("trial", f"{name}: {trial.status}{_because(trial.reason)}")
    return Done(trial, made.histograms, site.rendered if site is not None else {})


@dataclass(frozen=True)
class _Attempt:
    """The outcome of an attempt: fields of `Trial`, and histograms."""

    status: Literal["valid", "invalid", "failed", "unavailable"]
    reason: str | None = None
    measured_s: float = 0.0
    gates: list[Gate] = field(default_factory=list)
    outcomes: dict[str, float | None] = field(default_factory=dict)
    roles: dict[str, dict[str, float]] = field(default_factory=dict)
    machine: dict[str, float] = field(default_factory=dict)
    counters: dict[str, int] = field(default_factory=dict)
    instrument: dict[str, Any] = field(default_factory=dict)
    histograms: dict[str, str] = field(default_factory=dict)


def _measured(site: Site, progress: Progress) -> _Attempt:
    site.start()
    site.hooks.oracle(site)
    before = site.hooks.counters(site)
    loaded = site.bench.loaded
    limits = gate_limits.limits(loaded.study.gates, site.parameters, loaded.title)
    outcomes, settings = loaded.outcomes, loaded.study.analysis

    def take(own: Mapping[str, Any]) -> Measurement:
        return measure(site, progress, settings.window | dict(own))

    def judge(made: Measurement) -> list[Gate]:
        return registry.judge(
            limits,
            Conditions(made.result, usage.machine(made), usage.roles(made), made.places),
        )

    def value(made: Measurement, outcome: str) -> float | None:
        return _of(site, made).outcome(outcomes[outcome])

    about = About(loaded.title, site.seed, site.parameters, limits.retries)
    found = of(settings).run(take, judge, value, about)
    site.ensure_alive()
    after = site.hooks.counters(site)
    windows = [Window(each.own, each.result) for each in found.windows]
    answered = Answered(found.measurement.result, windows)
    site.hooks.audit(site, before, after, answered)
    refused = [gate for gate in found.gates if not gate.ok]
    counters = {key: after[key] - before.get(key, 0) for key in after}
    measured = _of(site, found.measurement, counters, found.values)
    return _Attempt(
        status="invalid" if refused else "valid",
        reason="; ".join(f"{each.name}: {each.found}, wanted {each.wanted}" for each in refused)
        or None,
        measured_s=found.measured_s,
        gates=found.gates,
        outcomes={name: measured.outcome(outcomes[name]) for name in loaded.study.reported},
        roles=usage.roles(found.measurement),
        machine=usage.machine(found.measurement),
        counters=counters,
        instrument=_stored(found, answered),
        histograms=found.measurement.result.histograms,
    )


def _stored(found: Found, answered: Answered) -> dict[str, Any]:
    """The instrument's result with the totals of all windows, and what the analysis noted."""
    total = {"total": answered.total.stored()}
    return {**answered.result.stored(), **total, **found.notes}


def _of(
    site: Site,
    found: Measurement,
    counters: Mapping[str, int] | None = None,
    analysis: Mapping[str, float | None] | None = None,
) -> Measured:
    """Return the values of a window in which outcomes are looked up."""
    return Measured(
        found.result,
        usage.roles(found),
        counters or {},
        usage.probed(found),
        site.manifest.roles,
        analysis or {},
    )


def _cause(site: Site | None, error: Exception) -> str:
    """The error, after the end of a role that had ended by then: who talks to it only notices."""
    kind = "oracle" if isinstance(error, OracleError) else type(error).__name__
    noticed = f"{kind}: {error}"
    if site is not None and not isinstance(error, RoleError):
        try:
            site.blame()
        except RoleError as earlier:
            return f"RoleError: {earlier}; noticed by {noticed}"
    return noticed


def _because(reason: str | None) -> str:
    return f": {reason}" if reason else ""
