import os
from pathlib import Path

import pytest

from tare.probes.audit import Finding, audit, findings
from tare.probes.settings import cpu_list, settings

NAMES = [setting.name for setting in settings([0])]


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A root with one good value for nearly everything."""
    for path, content in {
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance",
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/latency": "0",
        "sys/devices/system/cpu/cpu0/cpuidle/state0/disable": "0",
        "sys/devices/system/cpu/cpu0/cpuidle/state1/latency": "133",
        "sys/devices/system/cpu/cpu0/cpuidle/state1/disable": "1",
        "proc/irq/7/smp_affinity_list": "1-3",
        "proc/irq/9/smp_affinity_list": "2",
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        "sys/block/vda/queue/scheduler": "[none] mq-deadline bfq",
        "proc/sys/vm/swappiness": "1",
        "proc/stat": "cpu  90 0 5 900 0 0 0 5 0 0",
        "proc/pressure/cpu": "some avg10=1.50 avg60=0.00 avg300=0.00 total=5\nfull avg10=0.00",
        "proc/41/comm": "nginx",
        "proc/self/cgroup": "3:cpu,cpuacct:/box\n0::/",
        "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "-1",
    }.items():
        write(tmp_path, path, content)
    return tmp_path


def write(root: Path, path: str, content: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(content + "\n")


def finding(root: Path, name: str) -> Finding:
    (found,) = [each for each in findings([0], root) if each.name == name]
    return found


def test_the_audit_says_what_the_machine_is() -> None:
    found = audit([0])
    assert found["cpu_count"] == os.cpu_count() and found["memory_bytes"] > 2**20
    assert [each["name"] for each in found["audit"]][: len(NAMES)] == NAMES
    assert {each["status"] for each in found["audit"]} <= {"ok", "differs", "unavailable", "denied"}


def test_a_quiet_machine_is_ok_and_what_it_lacks_is_unavailable(machine: Path) -> None:
    found = {each.name: each.status for each in findings([0], machine)}
    absent = {name for name, status in found.items() if status == "unavailable"}
    assert absent == {
        "turbo (Intel)",
        "turbo (others)",
        "NUMA balancing",
        "CPU scheduler",
        "autogroup",
        "clock source",
        "address-space randomisation",
    }
    assert set(found.values()) == {"ok", "unavailable"}


@pytest.mark.parametrize(
    ("name", "path", "content", "value"),
    [
        (
            "cpu governor",
            "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
            "powersave",
            "performance (1 of 2), powersave (1 of 2)",
        ),
        ("deep idle states", "sys/devices/system/cpu/cpu0/cpuidle/state1/disable", "0", "0"),
        ("interrupts", "proc/irq/9/smp_affinity_list", "0,3", "1-3 (1 of 2), 0,3 (1 of 2)"),
        (
            "transparent huge pages",
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise",
            "always",
        ),
        ("disk scheduler", "sys/block/vda/queue/scheduler", "none [bfq]", "bfq"),
        ("swappiness", "proc/sys/vm/swappiness", "60", "60"),
        ("steal", "proc/stat", "cpu  50 0 0 0 0 0 0 50 0 0", "50 % since boot"),
        ("irqbalance", "proc/41/comm", "irqbalance", "running, pid 41"),
        (
            "CPU pressure",
            "proc/pressure/cpu",
            "some avg10=7.25 avg60=0.00",
            "7.25 % of the last 10 s",
        ),
        (
            "limits of the own control group",
            "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us",
            "50000",
            "cpu.cfs_quota_us 50000",
        ),
    ],
)
def test_what_differs_is_told(
    machine: Path, name: str, path: str, content: str, value: str
) -> None:
    write(machine, path, content)
    found = finding(machine, name)
    assert (found.status, found.value) == ("differs", value)


def test_an_empty_setting_is_unavailable(machine: Path) -> None:
    write(machine, "proc/pressure/cpu", "")
    assert finding(machine, "CPU pressure").status == "unavailable"


def test_what_may_not_be_read_is_denied(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path) -> str:
        raise PermissionError

    monkeypatch.setattr(Path, "read_text", refuse)
    assert finding(machine, "swappiness").status == "denied"
    assert finding(machine, "steal").status == "denied"


def test_lists_of_cpus() -> None:
    assert cpu_list("0-2,7,9-9") == {0, 1, 2, 7, 9}
    with pytest.raises(ValueError, match="invalid"):
        cpu_list("")
