import os
import subprocess
from pathlib import Path

import pytest

from tare.lab.errors import TareError
from tare.lab.machine import cgroup
from tare.lab.machine.cgroup import MOUNT, Group, Hierarchy, detect
from tare.model.fields import Priority

V1 = ("cpu", "cpuacct", "cpuset", "memory", "pids")


def mount(folder: Path, kind: str, path: str = "/mine") -> tuple[Path, Path]:
    """A mount of control groups and a /proc/self/cgroup, made of plain files."""
    own = folder / "self"
    if kind == "v2":
        own.write_text(f"0::{path}\n")
        (folder / "cgroup.controllers").write_text("cpuset cpu memory pids\n")
        (folder / "cgroup.subtree_control").write_text("cpuset cpu memory pids\n")
        return folder, own
    lines = [f"{number}:{name}:{path}" for number, name in enumerate(V1)]
    own.write_text("\n".join([*lines, "0::/"]))
    for name in V1:
        (folder / name / path.lstrip("/")).mkdir(parents=True)
    return folder, own


def test_v2_is_taken_when_it_has_cpu(tmp_path: Path) -> None:
    found = detect(*mount(tmp_path, "v2"))
    assert (found.kind, found.bases, found.remark) == ("v2", {"v2": tmp_path}, None)


def test_v2_that_does_not_hand_out_cpu_is_none(tmp_path: Path) -> None:
    folder, own = mount(tmp_path, "v2")
    (folder / "cgroup.subtree_control").unlink()
    (folder / "cgroup.subtree_control").mkdir()  # cannot be written, as in a container
    found = detect(folder, own)
    assert found.kind == "none" and "no permission to enable the cpu controller" in str(
        found.remark
    )


def test_v1_is_taken_below_the_own_groups(tmp_path: Path) -> None:
    found = detect(*mount(tmp_path, "v1"))
    assert found.kind == "v1"
    assert found.bases == {name: tmp_path / name / "mine" for name in V1}


@pytest.mark.parametrize("lacks", ["cpu", "cpuacct"])
def test_v1_without_the_needed_controllers_is_none(tmp_path: Path, lacks: str) -> None:
    folder, own = mount(tmp_path, "v1")
    own.write_text("\n".join(f"1:{name}:/mine" for name in V1 if name != lacks))
    found = detect(folder, own)
    assert found.kind == "none" and "only affinity and nice isolate" in str(found.remark)
    assert found.run("tare-x") is found.role("tare-x", "sut") is None


def test_nothing_mounted_is_none(tmp_path: Path) -> None:
    assert detect(tmp_path, tmp_path / "absent").kind == "none"


def test_without_the_right_to_write_it_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    found = detect(*mount(tmp_path, "v2"))
    assert found.kind == "none" and f"no permission to make control groups in {tmp_path}" in str(
        found.remark
    )


@pytest.mark.parametrize(("priority", "weight"), [("high", "10000"), ("normal", "100")])
def test_a_v2_group_gets_controllers_cpus_and_weight(
    tmp_path: Path, priority: Priority, weight: str
) -> None:
    group = Hierarchy("v2", {"v2": tmp_path}, priority=priority).role("tare-x", "sut")
    assert group is not None
    inner = tmp_path / "tare-x" / "sut"
    inner.mkdir(parents=True)
    (inner.parent / "cgroup.controllers").write_text("cpuset cpu")
    (inner.parent / "cgroup.subtree_control").touch()
    for name in ("cpuset.cpus", "cpu.weight"):
        (inner / name).touch()
    group.create([1, 3])
    assert (inner.parent / "cgroup.subtree_control").read_text() == "+cpu +cpuset"
    assert (inner / "cpuset.cpus").read_text() == "1,3"
    assert (inner / "cpu.weight").read_text() == weight
    assert group.entrances() == [f"{inner}/cgroup.procs"]


def test_a_role_may_have_a_priority_of_its_own_within_the_run(tmp_path: Path) -> None:
    for name in ("cpu.weight", "tare-x/cpu.weight", "tare-x/neighbour/cpu.weight"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("100")
    group = Hierarchy("v2", {"v2": tmp_path}).role("tare-x", "neighbour", "normal")
    assert group is not None
    group.create([0])
    assert (tmp_path / "tare-x/cpu.weight").read_text() == "10000"
    assert (tmp_path / "tare-x/neighbour/cpu.weight").read_text() == "100"


def test_a_v1_group_inherits_its_memory_nodes(tmp_path: Path) -> None:
    base = tmp_path / "cpuset"
    for folder in (base, base / "tare-x", base / "tare-x" / "sut"):
        folder.mkdir()
        (folder / "cpuset.mems").write_text("0\n" if folder == base else "\n")
        (folder / "cpuset.cpus").write_text("0-3\n" if folder == base else "\n")
    group = Hierarchy("v1", {"cpuset": base}).role("tare-x", "sut")
    assert group is not None
    group.create([2])
    assert (base / "tare-x" / "cpuset.mems").read_text() == "0\n"
    assert (base / "tare-x" / "cpuset.cpus").read_text() == "0-3\n"
    assert (base / "tare-x" / "sut" / "cpuset.mems").read_text() == "0\n"
    assert (base / "tare-x" / "sut" / "cpuset.cpus").read_text() == "2"


def test_a_group_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "tare-x").touch()
    group = Hierarchy("v2", {"v2": tmp_path}).role("tare-x", "sut")
    assert group is not None
    with pytest.raises(TareError, match=r"cannot set up control group .*tare-x"):
        group.create([0])


def test_removing_takes_what_is_below_and_forgives_absence(tmp_path: Path) -> None:
    group = Hierarchy("v1", {"cpu": tmp_path, "cpuacct": tmp_path / "absent"}).run("tare-x")
    assert group is not None
    (tmp_path / "tare-x" / "sut" / "deeper").mkdir(parents=True)
    group.remove()
    assert not (tmp_path / "tare-x").exists()
    group.remove()


def test_what_cannot_be_removed_is_told_of(tmp_path: Path) -> None:
    (tmp_path / "tare-x").mkdir()
    (tmp_path / "tare-x" / "stuck").touch()
    with pytest.raises(TareError, match=f"processes in {tmp_path}/tare-x outlive SIGKILL"):
        Group("v2", {"v2": tmp_path / "tare-x"}).remove(patience_s=0.01)


@pytest.mark.skipif(detect(MOUNT).kind == "none", reason="no right to make control groups here")
def test_a_real_group_holds_a_process_counts_its_time_and_is_taken_away() -> None:
    hierarchy = detect()
    whole, role = (
        hierarchy.run(f"tare-test-{os.getpid()}"),
        hierarchy.role(f"tare-test-{os.getpid()}", "sut"),
    )
    assert whole is not None and role is not None
    role.create([min(os.sched_getaffinity(0))])
    try:
        child = subprocess.Popen(["sh", "-c", "while :; do :; done"])
        for entrance in role.entrances():
            Path(entrance).write_text(str(child.pid))
        assert role.pids() == [child.pid]
        before = role.cpu_time()
        while role.cpu_time().since(before).total_s <= 0:
            assert child.poll() is None
    finally:
        whole.remove()
    assert child.wait() == -9
    assert not any(folder.exists() for folder in whole.folders.values())


def test_a_role_may_make_groups_below_its_own(tmp_path: Path) -> None:
    group = Group("v2", {"v2": tmp_path})
    for path, pids in ((".", ""), ("host", "7\n"), ("slots/0", "8\n9\n")):
        (tmp_path / path).mkdir(parents=True, exist_ok=True)
        (tmp_path / path / "cgroup.procs").write_text(pids)
    assert sorted(group.pids()) == [7, 8, 9]
    assert Group("v2", {"v2": tmp_path / "gone"}).pids() == []


def test_groups_that_a_killed_role_made_beside_its_own_are_removed(tmp_path: Path) -> None:
    stale = ["tare-tool.42.0", "unified/tare-tool.42.1"]
    others = ["tare-tool.421.0", "tool.42.0", "unified/tare-tool.7.1", "tare-tool.42.2/busy"]
    for name in [*stale, *others]:
        (tmp_path / name).mkdir(parents=True)
    cgroup.remove_groups_of(42, tmp_path)
    assert not any((tmp_path / name).exists() for name in stale)
    assert all((tmp_path / name).exists() for name in others)


def test_a_process_that_cannot_be_seen_from_here_is_not_taken_for_the_laboratory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    folder = tmp_path / "sut"
    folder.mkdir()
    (folder / "cgroup.procs").write_text("0\n4194304\n")
    with pytest.raises(TareError, match="outlive SIGKILL"):
        Group("v2", {"v2": folder}).remove(patience_s=0)
    assert killed and set(killed) == {4194304}
