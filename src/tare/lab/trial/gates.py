"""The gates: conditions under which a trial counts. Functions of what was measured."""

from collections.abc import Iterator, Mapping
from typing import Any

from tare.lab.trial import bottleneck
from tare.lab.trial.bottleneck import Use
from tare.model.gates import Gates
from tare.model.trial import Gate
from tare.stats.little import little_residual


def judge(
    limits: Gates,
    result: Mapping[str, Any],
    machine: Mapping[str, float],
    uses: Mapping[str, Use],
) -> list[Gate]:
    """All gates that apply to an instrument's `result`, the machine's shares and the roles' CPU.

    An instrument that offers no load of its own (no `load` in its result) is judged by its errors
    and the machine alone.
    """
    found = [*_load(limits, result), *_machine(limits, machine)]
    loop, role = (result.get("load") or {}).get("loop"), limits.bottleneck
    if loop == "closed" and role is not None and role in uses:
        found.append(bottleneck.gate(role, limits, uses, machine["steal_share"]))
    return found


def _load(limits: Gates, result: Mapping[str, Any]) -> Iterator[Gate]:
    outcomes, load = result["outcomes"], result.get("load")
    errors = result.get("errors", {})
    failed = sum(errors.values())
    seen = failed + float(outcomes.get("requests") or 0)
    share = failed / seen if seen else 0.0
    kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items() if count) or "none"
    yield _gate("errors", share <= limits.errors_max, kinds, limits.errors_max)
    if load is None:
        return
    answered = float(outcomes.get("requests") or 0)
    yield Gate(
        name="requests", ok=answered > 0, found=f"{answered:.0f} answered", wanted="more than 0"
    )
    if load["loop"] == "open":
        achieved = load["completed"] / load["offered"] if load["offered"] else 0.0
        least = limits.achieved_min
        yield Gate(
            name="achieved",
            ok=achieved >= least,
            found=f"{achieved:.2%} of the offered load",
            wanted=f"at least {least:.2%}",
        )
        yield from _schedule(limits, outcomes, load)
    else:
        yield _most("generator", load["cpu_busiest_thread"], limits.generator_cpu_max, "of a CPU")
    if answered and outcomes.get("latency_mean_us") is not None:
        rate, mean_s = outcomes["requests_per_second"], outcomes["latency_mean_us"] / 1e6
        gap = little_residual(rate, mean_s, load["in_flight_mean"])
        # What the window's ends cut through is counted whole or not at all.
        cut = mean_s * rate / answered
        yield _most("little", gap, limits.little_max + cut, "off Little's law")


def _schedule(
    limits: Gates, outcomes: Mapping[str, Any], load: Mapping[str, Any]
) -> Iterator[Gate]:
    """How much of a latency that is printed may be the generator's own lateness."""
    for name in ("p50", "p99"):
        lag, latency = load[f"send_lag_{name}_us"], outcomes[f"latency_{name}_us"]
        if lag is None or latency is None:
            continue
        most = limits.send_lag_max
        yield Gate(
            name=f"send-lag-{name}",
            ok=lag <= most * latency,
            found=f"{lag:.0f} µs late of a latency of {latency:.0f} µs",
            wanted=f"at most {most:.0%}",
        )


def _machine(limits: Gates, machine: Mapping[str, float]) -> Iterator[Gate]:
    yield _most("foreign-cpu", machine["foreign_share"], limits.foreign_cpu_max, "of test CPUs")
    yield _most("steal", machine["steal_share"], limits.steal_max, "of test CPUs")


def _most(name: str, found: float, most: float, what: str) -> Gate:
    return Gate(
        name=name, ok=found <= most, found=f"{found:.2%} {what}", wanted=f"at most {most:.2%}"
    )


def _gate(name: str, ok: bool, found: str, most: float) -> Gate:
    return Gate(name=name, ok=ok, found=found, wanted=f"at most {most:.2%} of requests")
