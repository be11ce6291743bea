"""One trial: allocate, start, oracle, warm up, measure, stop, gates."""

import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tare.lab.errors import Unavailable
from tare.lab.project import gate_limits
from tare.lab.project.hooks import Answered, Window
from tare.lab.trial import usage
from tare.lab.trial.analysis.protocol import About, Found
from tare.lab.trial.analysis.registry import of
from tare.lab.trial.attempt import Attempt, Beginning, Done, because, excused, failure, refusal
from tare.lab.trial.bench import Bench
from tare.lab.trial.explain import explain
from tare.lab.trial.gates import registry
from tare.lab.trial.gates.gate import Conditions
from tare.lab.trial.instrument import assignments
from tare.lab.trial.measure import Measurement, Progress, measure
from tare.lab.trial.outcomes import of_window
from tare.lab.trial.site import Site
from tare.lab.trial.turns import VARIANT
from tare.model.profile import Explained
from tare.model.trial import Gate, PlannedTrial


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
    """Make one attempt at `planned`.

    A failure of the variant is a `failed` trial, one of the machine an `invalid` one; neither is an
    error.
    """
    beginning = Beginning.now(planned, attempt)
    name = beginning.name
    own_seed = random.Random(f"{seed}/{planned.id}/{attempt}").getrandbits(31)
    bench.journal.write("trial", f"{name}: begins, seed {own_seed}")
    site: Site | None = None
    explained: Explained | str | None = None
    try:
        site = Site(
            bench, planned.variant, parameters, seed=own_seed, name=name, folder=work / name
        )
        made = _measured(site, progress)
        if made.status == "valid" and bench.profiler:
            explained = _explained(site, bench.profiler)
    except Unavailable as reason:
        made = Attempt("unavailable", str(reason))
    except Exception as error:
        made = failure(site, error)
    finally:
        stubborn = site.stop() if site is not None else []
    if stubborn and made.status == "valid":
        made = replace(made, status="failed", reason="; ".join(stubborn))
    made = excused(made, site)
    trial = beginning.record(made, version)
    bench.journal.write("trial", f"{name}: {trial.status}{because(trial.reason)}")
    return Done(trial, made.histograms, site.rendered if site is not None else {}, explained)


def _explained(site: Site, profiler: Path | str) -> Explained | str:
    """Return what is seen in a window that does not count, or why nothing is."""
    own = site.bench.loaded.study.analysis.window
    return explain({VARIANT: site}, lambda: assignments(site, own), profiler)


def _measured(site: Site, progress: Progress) -> Attempt:
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
            Conditions(
                made.result,
                usage.machine(made),
                usage.roles(made),
                made.places,
                made.delay_s,
            ),
        )

    def value(made: Measurement, outcome: str) -> float | None:
        return of_window(made, site.manifest.roles).outcome(outcomes[outcome])

    about = About(loaded.title, site.seed, site.parameters, limits.retries)
    found = of(settings).run(take, judge, value, about)
    site.ensure_alive()
    after = site.hooks.counters(site)
    windows = [Window(each.own, each.result) for each in found.windows]
    answered = Answered(found.measurement.result, windows)
    site.hooks.audit(site, before, after, answered)
    refused = refusal(found.gates)
    counters = {key: after[key] - before.get(key, 0) for key in after}
    measured = of_window(found.measurement, site.manifest.roles, counters, found.values)
    return Attempt(
        status="invalid" if refused else "valid",
        reason=refused,
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
