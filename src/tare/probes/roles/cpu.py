"""CPU time of roles, and the shares of the test CPUs' time that went to others."""

from tare.probes.cpu import CpuTime, of_cpus
from tare.probes.probe import Probe, Scene, Seen
from tare.probes.reading import Counter, Reading


def _read(scene: Scene) -> Seen:
    """All roles, and with them the machine: what it used beyond theirs is foreign."""
    used = {name: role.cpu_time() for name, role in scene.roles.items()}
    machine = of_cpus(scene.cpus)
    foreign_s = machine.used_s - sum(each.total_s for each in used.values())
    capacity_s = scene.at * len(scene.cpus)
    return Seen(
        {name: _of_role(each, scene.at) for name, each in used.items()},
        {
            # The parts of it are not read at quite the same time.
            "foreign_share": Counter(foreign_s, of=capacity_s, least=0.0),
            "steal_share": Counter(machine.steal_s, of=capacity_s),
        },
    )


def _of_role(used: CpuTime, at: float) -> dict[str, Reading]:
    return {
        "cpu_us": Counter(used.total_s * 1e6),
        "cpu_user_us": Counter(used.user_s * 1e6),
        "cpu_system_us": Counter(used.system_s * 1e6),
        "cpu_share": Counter(used.total_s, of=at),
    }


PROBE = Probe(("cpu_us", "cpu_user_us", "cpu_system_us", "cpu_share"), _read)
