"""Every gate, and the judgement of a window by all of them."""

from dataclasses import replace

from tare.lab.trial.gates.answers import ACHIEVED, ERRORS, REQUESTS
from tare.lab.trial.gates.bottleneck import BOTTLENECK
from tare.lab.trial.gates.delay import PROBE_DELAY
from tare.lab.trial.gates.gate import Conditions, Finding, Gate
from tare.lab.trial.gates.generator import GENERATOR, OVERLAP, SEND_LAG
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
    OVERLAP,
    LITTLE,
    SLICES,
    FOREIGN_CPU,
    STEAL,
    PROBE_DELAY,
    BOTTLENECK,
)
OF_EACH: tuple[Gate, ...] = (REQUESTS, ACHIEVED, SEND_LAG, GENERATOR, LITTLE)
"""Those that judge each of several generators by itself, too."""


def judge(limits: Gates, window: Conditions) -> list[trial.Gate]:
    """Return what each gate that applies found; of one that is off also why, which lets all pass.

    An instrument that offers no load of its own is judged by its errors and the machine alone.
    Several generators are judged together, and each by itself, too.
    """
    found = [each for gate in GATES for each in _judge(gate, limits, window)]
    if (several := window.result.generators) is not None:
        for name, result in several.each.items():
            own = replace(window, result=result)
            found += [each for gate in OF_EACH for each in _judge(gate, limits, own, name)]
    return found


def _judge(gate: Gate, limits: Gates, window: Conditions, whose: str = "") -> list[trial.Gate]:
    """Judge by one gate; `whose` is the generator whose result it is, if there are several."""
    off, findings = limits.off.get(gate.name), list(gate.look(limits, window))
    if off and not findings:
        findings = [Finding(True, "nothing to judge", "nothing")]
    return [
        trial.Gate(
            name="-".join(filter(None, (gate.name, each.of, whose))),
            kind=gate.kind,
            ok=each.ok or off is not None,
            found=each.found,
            wanted=each.wanted,
            off=off,
        )
        for each in findings
    ]
