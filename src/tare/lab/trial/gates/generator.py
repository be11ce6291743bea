"""Gates of the load generator: whether it was late, or had no room left."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate, most
from tare.model.gates import Gates


def _send_lag(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Compare the generator's own lateness with the latency that is printed."""
    load = window.result.load
    if load is None or load.loop != "open":
        return
    for name, lag in (("p50", load.send_lag_p50_us), ("p99", load.send_lag_p99_us)):
        latency = window.result.outcomes[f"latency_{name}_us"]
        if lag is not None and latency is not None:
            yield Finding(
                lag <= limits.send_lag_max * latency,
                f"{lag:.0f} µs late of a latency of {latency:.0f} µs",
                f"at most {limits.send_lag_max:.0%}",
                of=name,
            )


def _generator(limits: Gates, window: Conditions) -> Iterator[Finding]:
    """Check that the busiest thread of a closed loop had CPU time left."""
    load = window.result.load
    # In slices the generator polls, so that it is always busy.
    if load is not None and load.loop != "open" and window.result.slices is None:
        yield most(load.cpu_busiest_thread, limits.generator_cpu_max, "of a CPU")


SEND_LAG = Gate("send-lag", _send_lag)
GENERATOR = Gate("generator", _generator)
