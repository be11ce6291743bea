"""One duel: a variant and its baseline alive at once, loaded in turns of milliseconds.

Source: Bulej and others, "Duet Benchmarking: Improving Measurement Accuracy in the Cloud", ICPE
2020 (arXiv 2001.05811), whose pairs run in parallel; here one generator alternates between them.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tare.lab.errors import MachineFault, RoleError, TareError, Unavailable
from tare.lab.project import gate_limits
from tare.lab.project.hooks import Answered, Window
from tare.lab.trial import usage
from tare.lab.trial.attempt import Attempt, Beginning, Done, because, excused, failure, refusal
from tare.lab.trial.bench import Bench
from tare.lab.trial.explain import explain
from tare.lab.trial.gates import registry
from tare.lab.trial.gates.gate import Conditions
from tare.lab.trial.instrument import Assignment, assignment
from tare.lab.trial.measure import Measurement, Progress, observe
from tare.lab.trial.outcomes import of_window
from tare.lab.trial.site import Site, blame
from tare.lab.trial.tail import look_at_both
from tare.lab.trial.turns import BASELINE, VARIANT, in_turns
from tare.model.profile import Explained
from tare.model.role import INSTRUMENT_ROLE
from tare.model.tail import Tails
from tare.model.trial import Gate, PlannedTrial


@dataclass(frozen=True)
class Opponents:
    """The two sides of a duel, by name, with the versions that were read of them."""

    baseline: str
    versions: Mapping[str, str]


def run_duel(
    bench: Bench,
    planned: PlannedTrial,
    attempt: int,
    parameters: Mapping[str, Any],
    *,
    opponents: Opponents,
    seed: int,
    work: Path,
    progress: Progress,
) -> list[Done]:
    """Make one attempt at a planned duel: the baseline's side, then the variant's.

    A side that fails is a `failed` trial, and the other one an `invalid` one. By a fault of the
    machine both are `invalid`.
    """
    sides = {BASELINE: planned.side(opponents.baseline), VARIANT: planned}
    beginnings = {side: Beginning.now(each, attempt) for side, each in sides.items()}
    draw = random.Random(f"{seed}/{planned.id}/{attempt}")
    order = partial(draw.sample, sorted(sides), len(sides))
    sites: dict[str, Site] = {}
    made = {side: Attempt("invalid", "the duel did not begin") for side in sides}
    lost: _Lost | None = None
    explained: Explained | str | None = None
    tails: Tails | str | None = None
    bench.journal.write("trial", f"{beginnings[VARIANT].name}: the duel begins")
    try:
        # Whatever comes first may have the better memory.
        for side in order():
            name = beginnings[side].name
            with _blamed(side, sites):
                sites[side] = Site(
                    bench,
                    sides[side].variant,
                    parameters,
                    seed=draw.getrandbits(31),
                    name=name,
                    folder=work / name,
                    side=side,
                )
        made = _fought(sites, order(), progress)
        # One server that runs already, against itself, has nothing to explain.
        apart = not _common(sites)
        if apart and all(each.status == "valid" for each in made.values()):
            if bench.profiler:
                both = {side: sites[side] for side in (VARIANT, BASELINE)}
                explained = explain(both, lambda: [_assignment(both)], bench.profiler)
            if bench.observer:
                tails = _tails(sites, bench.observer, order())
    except _Lost as error:
        lost = error
    finally:
        stubborn = {side: site.stop() for side, site in sites.items()}
    if lost is not None:
        made = _lost(lost.side, excused(lost.attempt, sites.get(lost.side)), sides)
    for side, left in stubborn.items():
        if left and made[side].status == "valid":
            failed = replace(made[side], status="failed", reason="; ".join(left))
            why = _opponent(sides[side], failed)
            made = {
                name: replace(each, status="invalid", reason=why) for name, each in made.items()
            }
            made[side] = failed
    done = []
    for side in (BASELINE, VARIANT):
        trial = beginnings[side].record(made[side], opponents.versions[sides[side].variant])
        bench.journal.write("trial", f"{trial.id}: {trial.status}{because(trial.reason)}")
        rendered = sites[side].rendered if side in sites else {}
        looks = (explained, tails) if side == VARIANT else (None, None)
        done.append(Done(trial, made[side].histograms, rendered, *looks))
    return done


class _Lost(Exception):
    """A side that could not do its part, and why."""

    def __init__(self, side: str, attempt: Attempt) -> None:
        super().__init__(attempt.reason)
        self.side, self.attempt = side, attempt


@contextmanager
def _blamed(side: str, sites: Mapping[str, Site]) -> Iterator[None]:
    """Say of what is raised within that it was this side's doing. Raises _Lost."""
    try:
        yield
    except _Lost:
        raise
    except Unavailable as reason:
        raise _Lost(side, Attempt("unavailable", str(reason))) from reason
    except Exception as error:
        raise _Lost(side, failure(sites.get(side), error)) from error


def _lost(side: str, made: Attempt, sides: Mapping[str, PlannedTrial]) -> dict[str, Attempt]:
    """Return both sides' attempts when this one is lost."""
    other = VARIANT if side == BASELINE else BASELINE
    what = _opponent(sides[side], made)
    return {side: made, other: Attempt("invalid", what, machine_fault=made.machine_fault)}


def _opponent(planned: PlannedTrial, made: Attempt) -> str:
    return f"its opponent {planned.variant} is {made.status}: {made.reason}"


def _fought(
    sites: Mapping[str, Site], order: Sequence[str], progress: Progress
) -> dict[str, Attempt]:
    before = {}
    for side, site in sites.items():
        with _blamed(side, sites):
            site.start()
    for side, site in sites.items():
        with _blamed(side, sites):
            site.hooks.oracle(site)
            before[side] = site.hooks.counters(site)
    with _blamed(VARIANT, sites):
        found = _observed(sites, order, progress)
        gates = _judged(sites, found)
    attempts = {}
    for side, site in sites.items():
        with _blamed(side, sites):
            attempts[side] = _side(site, found[side], before[side], gates)
    return attempts


def _assignment(sites: Mapping[str, Site]) -> Assignment:
    study = sites[VARIANT].bench.loaded.study
    each = {side: assignment(site, study.analysis.window) for side, site in sites.items()}
    return in_turns(each, study.slices, {side: _accounts(site) for side, site in sites.items()})


def _accounts(site: Site) -> dict[str, Path]:
    """Return the accounts of the roles that a reported outcome names. What else runs beside the
    subject must not decide which rounds are ordinary.
    """
    loaded = site.bench.loaded
    named = {
        path.of
        for name in loaded.study.reported
        for path in loaded.outcomes[name].paths
        if path.source == "role"
    }
    return {role: file for role, file in site.accounts().items() if role in named}


def _observed(
    sites: Mapping[str, Site], order: Sequence[str], progress: Progress
) -> dict[str, Measurement]:
    """Load both sides in turns. The instrument runs in the variant's site, and the probes read the
    sides in this order.
    """
    common, what = _common(sites), _assignment(sites)
    both = [sites[VARIANT], sites[BASELINE]]
    try:
        read = [sites[side] for side in order]
        result, watch = observe(both, [what], progress, read=read)
    except Exception as error:
        # After a RoleError, the roles that are about to end have been waited for.
        if not isinstance(error, RoleError):
            with suppress(RoleError, MachineFault):
                blame(both)
        for side in order:
            with _blamed(side, sites):
                sites[side].ensure_alive()
        raise
    own = dict(sites[VARIANT].bench.loaded.study.analysis.window)
    return {
        side: watch.measurement(number, own, result.side(side)).without(INSTRUMENT_ROLE, *common)
        for number, side in enumerate(order)
    }


def _tails(sites: Mapping[str, Site], observer: Path, order: Sequence[str]) -> Tails | str:
    """Return what is seen of both sides' slowest requests in windows that do not count, or why
    nothing is.
    """
    try:
        return look_at_both(sites, observer, order)
    except (TareError, OSError) as error:
        sites[VARIANT].bench.journal.write("tail", f"not looked at: {error}")
        return str(error)


def _common(sites: Mapping[str, Site]) -> list[str]:
    """Return the roles that are the same running processes on both sides, as in the A/A control of
    a server that runs already: what they use is nobody's.
    """
    variant, baseline = (sites[side].manifest.roles for side in (VARIANT, BASELINE))
    return [
        name
        for name, role in variant.items()
        if role.running is not None and name in baseline and role.running == baseline[name].running
    ]


def _judged(sites: Mapping[str, Site], found: Mapping[str, Measurement]) -> list[Gate]:
    """Judge the window: errors of both sides, and the variant's roles in its own slices."""
    site, own = sites[VARIANT], found[VARIANT]
    loaded = site.bench.loaded
    limits = gate_limits.limits(loaded.study.gates, site.parameters, loaded.title)
    names = {side: each.variant for side, each in sites.items()}
    if names[VARIANT] == names[BASELINE]:
        names[VARIANT] += " (A/A control)"
    window = Conditions(
        own.result,
        usage.machine(own),
        usage.roles(own),
        own.places,
        own.delay_s,
        {names[side]: made.result for side, made in found.items()},
    )
    return registry.judge(limits, window)


def _side(site: Site, found: Measurement, before: Mapping[str, int], gates: list[Gate]) -> Attempt:
    site.ensure_alive()
    after = site.hooks.counters(site)
    answered = Answered(found.result, [Window(found.own, found.result)])
    site.hooks.audit(site, before, after, answered)
    counters = {key: after[key] - before.get(key, 0) for key in after}
    loaded = site.bench.loaded
    # The instrument's own use is of both sides, and so nobody's.
    declared = {*site.manifest.roles, INSTRUMENT_ROLE}
    measured = of_window(found, declared, counters)
    refused = refusal(gates)
    return Attempt(
        status="invalid" if refused else "valid",
        reason=refused,
        measured_s=found.window_s,
        gates=gates,
        outcomes={name: measured.outcome(loaded.outcomes[name]) for name in loaded.study.reported},
        roles=usage.roles(found),
        machine=usage.machine(found),
        counters=counters,
        instrument=found.result.stored(),
        histograms=found.result.histograms,
    )
