"""The gates of a run: what each judged, and how many trials it refused."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from tare.model.trial import Trial


@dataclass(frozen=True)
class GateUse:
    """One gate in all trials of a run."""

    name: str
    kind: str
    wanted: str
    """The limit that most trials had."""
    judged: int | None
    """How many trials it judged; None in a slim record, whose valid trials are without gates."""
    refused: int
    off: str | None
    """Why it refused nothing, where the manifest switches it off."""


def gates(trials: Iterable[Trial]) -> list[GateUse]:
    """Return the gates in the order in which trials met them."""
    slim = False
    found: dict[tuple[str, str | None], list[tuple[str, str, bool]]] = {}
    for trial in trials:
        slim |= trial.status == "valid" and not trial.gates
        for gate in trial.gates:
            own = found.setdefault((gate.name, gate.off), [])
            own.append((gate.kind, gate.wanted, gate.ok))
    return [
        GateUse(
            name,
            own[0][0],
            Counter(wanted for _, wanted, _ in own).most_common(1)[0][0],
            None if slim else len(own),
            0 if off else sum(not ok for *_, ok in own),
            off,
        )
        for (name, off), own in found.items()
    ]
