"""Context switches of roles."""

from tare.probes.probe import Probe, Role, of_each
from tare.probes.process import switches
from tare.probes.reading import Counter, Reading


def _read(role: Role, at: float) -> dict[str, Reading]:
    found = switches(role.pids())
    return {
        "switches_voluntary": Counter(found.voluntary),
        "switches_involuntary": Counter(found.involuntary),
    }


PROBE = Probe(("switches_voluntary", "switches_involuntary"), of_each(_read))
