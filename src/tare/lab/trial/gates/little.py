"""The gate of Little's law: rate × mean latency is the mean number in flight."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate, most
from tare.model.gates import Gates
from tare.stats.little import little_residual


def _little(limits: Gates, window: Conditions) -> Iterator[Finding]:
    result = window.result
    # A duel drops rounds, and between slices nothing is in flight.
    if result.load is None or not result.requests or result.slices is not None:
        return
    rate, mean_us = result.outcomes["requests_per_second"], result.outcomes["latency_mean_us"]
    if rate is not None and mean_us is not None:
        gap = little_residual(rate, mean_us / 1e6, result.load.in_flight_mean)
        # What the window's ends cut through is counted whole or not at all.
        cut = mean_us / 1e6 * rate / result.requests
        yield most(gap, limits.little_max + cut, "off Little's law")


LITTLE = Gate("little", _little)
