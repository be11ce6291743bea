"""The gates: conditions under which a trial counts. Functions of what was measured."""

from collections.abc import Iterator, Mapping

from tare.lab.trial import bottleneck
from tare.lab.trial.bottleneck import Use
from tare.model.gates import Gates
from tare.model.instrument import Load, Result
from tare.model.trial import Gate
from tare.stats.little import little_residual


def judge(
    limits: Gates,
    result: Result,
    machine: Mapping[str, float],
    uses: Mapping[str, Use],
) -> list[Gate]:
    """All gates that apply to an instrument's `result`, the machine's shares and the roles' CPU.

    An instrument that offers no load of its own (no `load` in its result) is judged by its errors
    and the machine alone.
    """
    found = [*_load(limits, result), *_machine(limits, machine)]
    closed, role = result.load is not None and result.load.loop == "closed", limits.bottleneck
    if closed and role is not None and role in uses:
        found.append(bottleneck.gate(role, limits, uses, machine["steal_share"]))
    return found


def _load(limits: Gates, result: Result) -> Iterator[Gate]:
    load, answered = result.load, result.requests
    seen = result.failed + answered
    share = result.failed / seen if seen else 0.0
    kinds = ", ".join(f"{kind} {count}" for kind, count in result.errors.items() if count) or "none"
    yield _gate("errors", share <= limits.errors_max, kinds, limits.errors_max)
    if load is None:
        return
    yield Gate(
        name="requests", ok=answered > 0, found=f"{answered:.0f} answered", wanted="more than 0"
    )
    if load.loop == "open":
        achieved = load.completed / load.offered if load.offered else 0.0
        least = limits.achieved_min
        yield Gate(
            name="achieved",
            ok=achieved >= least,
            found=f"{achieved:.2%} of the offered load",
            wanted=f"at least {least:.2%}",
        )
        yield from _schedule(limits, result, load)
    else:
        yield _most("generator", load.cpu_busiest_thread, limits.generator_cpu_max, "of a CPU")
    rate, mean_us = result.outcomes["requests_per_second"], result.outcomes["latency_mean_us"]
    if answered and rate is not None and mean_us is not None:
        gap = little_residual(rate, mean_us / 1e6, load.in_flight_mean)
        # What the window's ends cut through is counted whole or not at all.
        cut = mean_us / 1e6 * rate / answered
        yield _most("little", gap, limits.little_max + cut, "off Little's law")


def _schedule(limits: Gates, result: Result, load: Load) -> Iterator[Gate]:
    """How much of a latency that is printed may be the generator's own lateness."""
    for name, lag in (("p50", load.send_lag_p50_us), ("p99", load.send_lag_p99_us)):
        latency = result.outcomes[f"latency_{name}_us"]
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
