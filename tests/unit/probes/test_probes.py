import math
import os
import subprocess
import time
from pathlib import Path

from tare.probes import cpu, throttling
from tare.probes.process import switches, usage
from tare.probes.throttling import Throttling


def test_a_v1_group_is_read_in_seconds(tmp_path: Path) -> None:
    for name, value in (("usage", 3_000_000_000), ("usage_user", 10**9), ("usage_sys", 2 * 10**9)):
        (tmp_path / f"cpuacct.{name}").write_text(f"{value}\n")
    assert cpu.of_cgroup_v1(tmp_path) == cpu.CpuTime(3.0, 1.0, 2.0)


def test_a_v2_group_is_read_in_seconds(tmp_path: Path) -> None:
    text = "usage_usec 3000000\nuser_usec 1000000\nsystem_usec 2000000\nnr_periods 0\n"
    (tmp_path / "cpu.stat").write_text(text)
    assert cpu.of_cgroup_v2(tmp_path) == cpu.CpuTime(3.0, 1.0, 2.0)


def test_time_since() -> None:
    found = cpu.CpuTime(3.0, 1.0, math.nan).since(cpu.CpuTime(1.0, 0.5, 0.0))
    assert (found.total_s, found.user_s) == (2.0, 0.5) and math.isnan(found.system_s)


def test_the_time_of_a_process_grows_and_that_of_a_dead_one_is_none() -> None:
    before = cpu.of_processes([os.getpid()])
    while cpu.of_processes([os.getpid()]).since(before).total_s <= 0:
        pass
    assert cpu.of_processes([2**22 + 1]) == cpu.CpuTime(0.0, 0.0, 0.0)


def test_the_machine_is_charged_with_what_runs_on_it() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    first, begun = cpu.of_cpus(cpus), time.process_time()
    while time.process_time() - begun < 0.05:
        pass
    last = cpu.of_cpus(cpus)
    assert last.used_s - first.used_s >= 0.04
    assert last.steal_s >= first.steal_s


def test_what_processes_hold() -> None:
    with subprocess.Popen(["sleep", "60"]) as child:
        both = usage([os.getpid(), child.pid])
        own = usage([os.getpid()])
        child.kill()
    assert both.peak_bytes > own.peak_bytes > 10**6
    assert own.memory_bytes > 10**6
    assert usage([2**22 + 1]) == usage([])


def test_processes_that_end_meanwhile_count_nothing() -> None:
    brood = "for i in $(seq 400); do /bin/true & /bin/true & wait; done"
    with subprocess.Popen(["bash", "-c", brood]) as parent:
        children = Path(f"/proc/{parent.pid}/task/{parent.pid}/children")
        while parent.poll() is None:
            usage(map(int, children.read_text().split()))


def test_waiting_is_a_voluntary_switch() -> None:
    before = switches([os.getpid()])
    for _ in range(5):
        time.sleep(0.001)
    assert switches([os.getpid()]).voluntary >= before.voluntary + 5


def test_what_limits_did_is_read_from_v1(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text(
        "nr_periods 20\nnr_throttled 5\nthrottled_time 1500000000\nnr_bursts 0\n"
    )
    (tmp_path / "memory.failcnt").write_text("7\n")
    (tmp_path / "memory.oom_control").write_text("under_oom 0\noom_kill 1\n")
    assert throttling.of_cgroup_v1(tmp_path, tmp_path) == Throttling(1.5, 20, 5, 7, 1)
    assert throttling.of_cgroup_v1(tmp_path, None) == Throttling(1.5, 20, 5, 0, 0)


def test_what_limits_did_is_read_from_v2(tmp_path: Path) -> None:
    assert throttling.of_cgroup_v2(tmp_path) == Throttling(), "a group without controllers"
    (tmp_path / "cpu.stat").write_text("nr_periods 20\nnr_throttled 5\nthrottled_usec 1500000\n")
    (tmp_path / "memory.events").write_text("low 0\nmax 7\noom 2\noom_kill 1\n")
    found = throttling.of_cgroup_v2(tmp_path)
    assert found == Throttling(1.5, 20, 5, 7, 1)
    assert found.since(Throttling(1.0, 10, 5, 0, 1)) == Throttling(0.5, 10, 0, 7, 0)
