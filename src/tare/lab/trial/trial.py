"""One trial: allocate, start, oracle, warm up, measure, stop, gates."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tare.lab.errors import RoleError, Unavailable
from tare.lab.project import gate_limits
from tare.lab.project.hooks import OracleError
from tare.lab.trial import account, gates
from tare.lab.trial.analysis import capacity, slope
from tare.lab.trial.bench import Bench
from tare.lab.trial.measure import Measurement, Progress, measure
from tare.lab.trial.outcomes import Measured
from tare.lab.trial.site import Site
from tare.model.analysis import Capacity, Slope
from tare.model.trial import Gate, Slot, Trial


@dataclass(frozen=True)
class Done:
    """A finished trial, its histograms, and the files it was run with."""

    trial: Trial
    histograms: dict[str, str]
    rendered: dict[str, str]


def run_trial(
    bench: Bench,
    slot: Slot,
    attempt: int,
    parameters: Mapping[str, Any],
    *,
    seed: int,
    version: str,
    work: Path,
    progress: Progress,
) -> Done:
    """One attempt at `slot`. A failure of the variant is a `failed` trial, not an error."""
    started, begun = datetime.now(UTC).isoformat(timespec="milliseconds"), time.monotonic()
    name = slot.id if attempt == 1 else f"{slot.id}-a{attempt}"
    head = slot.model_dump() | {"id": name, "attempt": attempt, "started": started}
    own_seed = random.Random(f"{seed}/{slot.id}/{attempt}").getrandbits(31)
    bench.journal.say("trial", f"{name}: begins, seed {own_seed}")
    site: Site | None = None
    try:
        site = Site(bench, slot.variant, parameters, seed=own_seed, name=name, folder=work / name)
        body, histograms = _measured(site, progress)
    except Unavailable as reason:
        body, histograms = {"status": "unavailable", "reason": str(reason)}, {}
    except Exception as error:
        body, histograms = {"status": "failed", "reason": _cause(site, error)}, {}
    finally:
        stubborn = site.stop() if site is not None else []
    if stubborn and body["status"] == "valid":
        body |= {"status": "failed", "reason": "; ".join(stubborn)}
    wall_s = time.monotonic() - begun
    trial = Trial.model_validate(head | {"wall_s": wall_s, "version": version} | body)
    bench.journal.say("trial", f"{name}: {trial.status}{_because(trial.reason)}")
    return Done(trial, histograms, site.rendered if site is not None else {})


def _measured(site: Site, progress: Progress) -> tuple[dict[str, Any], dict[str, str]]:
    site.start()
    site.hooks.oracle(site)
    before = site.hooks.counters(site)
    loaded, tested = site.bench.loaded, site.bench.cpus.tested
    limits = gate_limits.limits(loaded.study.gates, site.parameters, loaded.title)
    known, settings = loaded.outcomes, loaded.study.analysis

    def window(own: Mapping[str, Any]) -> Measurement:
        return measure(site, progress, settings.window | dict(own))

    def judge(made: Measurement) -> list[Gate]:
        shares = account.machine(made, tested)
        return gates.judge(limits, made.result, shares, account.uses(made))

    def value(made: Measurement, outcome: str) -> float | None:
        return _of(site, made).outcome(known[outcome])

    analysis: dict[str, float | None] = {}
    if isinstance(settings, Capacity):
        searched = capacity.search(site, settings, window, judge)
        found = searched.measurement
        judged = searched.gates or judge(found)
        analysis[capacity.NAME], measured_s = searched.rate, searched.measured_s
    elif isinstance(settings, Slope):
        sloped = slope.measure(site, limits, settings, window, judge, value)
        found, judged = sloped.measurement, sloped.gates
        analysis[slope.NAME], measured_s = sloped.slope, sloped.measured_s
    else:
        found = window({})
        judged, measured_s = judge(found), found.window_s
    site.ensure_alive()
    after = site.hooks.counters(site)
    site.hooks.audit(site, before, after, found.result)
    histograms = found.result.pop("histograms", {})
    counters = {key: after[key] - before.get(key, 0) for key in after}
    closed = [f"{gate.name}: {gate.found}, wanted {gate.wanted}" for gate in judged if not gate.ok]
    measured = _of(site, found, counters, analysis)
    outcomes = {name: measured.outcome(known[name]) for name in loaded.study.reported}
    body = {
        "status": "invalid" if closed else "valid",
        "reason": "; ".join(closed) or None,
        "measured_s": measured_s,
        "gates": judged,
        "outcomes": outcomes,
        "roles": measured.roles,
        "machine": account.machine(found, tested),
        "counters": counters,
        "instrument": found.result,
    }
    return body, histograms


def _of(
    site: Site,
    found: Measurement,
    counters: Mapping[str, int] | None = None,
    analysis: Mapping[str, float | None] | None = None,
) -> Measured:
    """What a window found, as outcomes are looked up in it."""
    return Measured(
        found.result,
        account.roles(found),
        counters or {},
        account.probed(found),
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
