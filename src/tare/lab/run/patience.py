"""The end of a run that the machine spoils, with the name of who disturbs it."""

from collections.abc import Callable, Sequence

from tare.lab.errors import Disturbed
from tare.model.trial import Trial
from tare.probes import bystanders
from tare.probes.bystanders import Bystander

SPOILT_MAX = 6
"""A run ends when the machine has spoilt so many trials in a row, with their repetitions."""
_LOOK_S = 1.0
_NONE = "none that is busy now"
_OF_MACHINE = ("machine", "generator")
"""Kinds of gates that judge the machine."""


class Patience:
    """Counts the planned trials in a row of which the machine spoilt every attempt."""

    def __init__(
        self, run: str, look: Callable[[float], Sequence[Bystander]] = bystanders.busy
    ) -> None:
        self._run, self._look = run, look
        self._spoilt = 0

    def see(self, made: Sequence[Trial], remarks: Sequence[str] = ()) -> None:
        """Note all attempts at a planned trial. Raises Disturbed when it has been too much; it then
        repeats the remarks, what trials lack here.
        """
        if not made or not all(spoilt(trial) for trial in made):
            self._spoilt = 0
            return
        self._spoilt += 1
        if self._spoilt < SPOILT_MAX:
            return
        last, others = made[-1], self._look(_LOOK_S)
        reason = last.reason or "a fault of the machine"
        lines = [f"the machine spoilt {SPOILT_MAX} trials in a row; the last one: {reason}"]
        lines += [f"other processes on the CPUs: {bystanders.named(others) or _NONE}"]
        if not last.machine_fault:
            lines += [f"what trials lack here: {each}" for each in remarks]
        go_on = f"go on with: tare resume {self._run}"
        lines += [f"stop them, then {go_on}" if others else go_on]
        raise Disturbed("\n".join(lines), reason)


def spoilt(trial: Trial) -> bool:
    """Return true if the machine is to blame that a trial does not count, and not its variant."""
    if trial.status != "invalid":
        return False
    refused = [gate.kind for gate in trial.gates if not gate.ok and gate.off is None]
    return trial.machine_fault or (bool(refused) and all(kind in _OF_MACHINE for kind in refused))
