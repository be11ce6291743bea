"""The gate of probes that are read late on other hosts: their window is not the generator's."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.model.gates import Gates


def _delay(limits: Gates, window: Conditions) -> Iterator[Finding]:
    if window.delay_s is not None:
        most_s = limits.probe_delay_max * window.result.window_s
        found, wanted = f"{window.delay_s * 1e3:.0f} ms", f"at most {most_s * 1e3:.0f} ms"
        yield Finding(window.delay_s <= most_s, found, wanted)


PROBE_DELAY = Gate("probe-delay", _delay)
