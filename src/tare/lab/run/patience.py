"""The end of a run that the machine spoils, with the name of who disturbs it."""

from collections.abc import Callable, Sequence

from tare.lab.errors import Disturbed
from tare.model.trial import Trial
from tare.probes import bystanders
from tare.probes.bystanders import Bystander

SPOILT_MAX = 6
"""A run ends when the machine has spoilt so many trials in a row, with their repetitions."""
_LOOK_S = 1.0
_OF_MACHINE = ("machine", "generator")
"""Kinds of gates that judge the machine."""


class Patience:
    """Counts the planned trials in a row of which the machine spoilt every attempt."""

    def __init__(
        self, run: str, look: Callable[[float], Sequence[Bystander]] = bystanders.busy
    ) -> None:
        self._run, self._look = run, look
        self._spoilt = 0

    def see(self, made: Sequence[Trial]) -> None:
        """Note all attempts at a planned trial. Raises Disturbed when it has been too much."""
        if not made or not all(spoilt(trial) for trial in made):
            self._spoilt = 0
            return
        self._spoilt += 1
        if self._spoilt < SPOILT_MAX:
            return
        others = bystanders.named(self._look(_LOOK_S)) or "none that is busy now"
        reason = made[-1].reason or "a fault of the machine"
        raise Disturbed(
            f"the machine spoilt {SPOILT_MAX} trials in a row; the last one: {reason}\n"
            f"other processes on the CPUs: {others}\n"
            f"stop them, then go on with: tare resume {self._run}",
            reason,
        )


def spoilt(trial: Trial) -> bool:
    """Return true if the machine is to blame that a trial does not count, and not its variant."""
    if trial.status != "invalid":
        return False
    refused = [gate.kind for gate in trial.gates if not gate.ok and gate.off is None]
    return trial.machine_fault or (bool(refused) and all(kind in _OF_MACHINE for kind in refused))
