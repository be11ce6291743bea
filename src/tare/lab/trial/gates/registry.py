"""Every gate, and the judgement of a window by all of them."""

from tare.lab.trial.gates.answers import ACHIEVED, ERRORS, REQUESTS
from tare.lab.trial.gates.bottleneck import BOTTLENECK
from tare.lab.trial.gates.delay import PROBE_DELAY
from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.lab.trial.gates.generator import GENERATOR, SEND_LAG
from tare.lab.trial.gates.little import LITTLE
from tare.lab.trial.gates.machine import FOREIGN_CPU, STEAL
from tare.lab.trial.gates.slices import SLICES
from tare.model import trial
from tare.model.gates import Gates

GATES: tuple[Gate, ...] = (
    ERRORS,
    REQUESTS,
    ACHIEVED,
    SEND_LAG,
    GENERATOR,
    LITTLE,
    SLICES,
    FOREIGN_CPU,
    STEAL,
    PROBE_DELAY,
    BOTTLENECK,
)


def judge(limits: Gates, window: Conditions) -> list[trial.Gate]:
    """Return what each gate that applies found; of one that is off also why, which lets all pass.

    An instrument that offers no load of its own is judged by its errors and the machine alone.
    """
    return [found for gate in GATES for found in _judge(gate, limits, window)]


def _judge(gate: Gate, limits: Gates, window: Conditions) -> list[trial.Gate]:
    off, findings = limits.off.get(gate.name), list(gate.look(limits, window))
    if off and not findings:
        findings = [Finding(True, "nothing to judge", "nothing")]
    return [
        trial.Gate(
            name=f"{gate.name}-{each.of}" if each.of else gate.name,
            kind=gate.kind,
            ok=each.ok or off is not None,
            found=each.found,
            wanted=each.wanted,
            off=off,
        )
        for each in findings
    ]
