"""Gates of the machine: what others took of the test CPUs."""

from collections.abc import Iterator

from tare.lab.trial.gates.gate import Conditions, Finding, Gate, most
from tare.model.gates import Gates


def _foreign_cpu(limits: Gates, window: Conditions) -> Iterator[Finding]:
    if window.result.slices is None:  # what others take meets both sides of a duel alike
        yield most(window.machine["foreign_share"], limits.foreign_cpu_max, "of test CPUs")


def _steal(limits: Gates, window: Conditions) -> Iterator[Finding]:
    if window.result.slices is None:
        yield most(window.machine["steal_share"], limits.steal_max, "of test CPUs")


FOREIGN_CPU = Gate("foreign-cpu", _foreign_cpu)
STEAL = Gate("steal", _steal)
