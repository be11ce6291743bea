"""Gates of the load generator: whether it was late, had no room left, or was not with others."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate, most
from tare.model.gates import Gates
from tare.stats.rounding import percent


def _send_lag(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Compare the generator's own lateness with the latency that is printed, in a duel with that of
    the faster side.
    """
    load = window.result.load
    if load is None or load.loop != "open":
        return
    for name, lag in (("p50", load.send_lag_p50_us), ("p99", load.send_lag_p99_us)):
        results = window.sides.values() or [window.result]
        every = [each.outcomes[f"latency_{name}_us"] for each in results]
        latency = min((each for each in every if each is not None), default=None)
        if lag is not None and latency is not None:
            yield Finding(
                lag <= limits.send_lag_max * latency,
                f"{lag:.0f} µs late of a latency of {latency:.0f} µs",
                f"at most {percent(limits.send_lag_max)}",
                of=name,
            )


def _generator(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Check that the busiest thread of a closed loop had CPU time left."""
    load = window.result.load
    # In slices the generator polls, so that it is always busy.
    if load is not None and load.loop != "open" and window.result.slices is None:
        yield most(load.cpu_busiest_thread, limits.generator_cpu_max, "of a CPU")


def _overlap(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Check that several generators had their windows at the same time."""
    several = window.result.generators
    if several is not None:
        longest_s = window.result.window_s
        share = several.overlap_s / longest_s if longest_s else 0.0
        yield Finding(
            share >= limits.overlap_min,
            f"{percent(share, 1)} of the window had all generators, which opened theirs within "
            f"{several.start_spread_s * 1e3:.1f} ms",
            f"at least {percent(limits.overlap_min)}",
        )


SEND_LAG = Gate("send-lag", _send_lag)
GENERATOR = Gate("generator", _generator)
OVERLAP = Gate("overlap", _overlap)
