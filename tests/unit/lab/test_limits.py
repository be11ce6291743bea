import os
from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import ManifestError, Unavailable
from tare.lab.machine.cgroup import Group
from tare.lab.machine.limits import UNLIMITED, Caps, disk, impose
from tare.lab.trial.caps import caps
from tare.model.role import Limits

MIB = 1 << 20
V1 = {
    "cpu": {"cpu.cfs_period_us": "50000", "cpu.cfs_quota_us": "-1"},
    "memory": {"memory.limit_in_bytes": "9223372036854771712"},
}


def v1(folder: Path, files: dict[str, dict[str, str]] = V1) -> Group:
    for controller, content in files.items():
        (folder / controller).mkdir()
        for name, text in content.items():
            (folder / controller / name).write_text(text)
    return Group("v1", {controller: folder / controller for controller in files})


def v2(folder: Path, *names: str) -> Group:
    (folder / "group").mkdir()
    for name in names:
        (folder / "group" / name).write_text("max")
    return Group("v2", {"v2": folder / "group"})


@pytest.mark.parametrize(
    ("limits", "found"),
    [
        (Limits(), UNLIMITED),
        (Limits(cpus=0, memory_mb=0), UNLIMITED),
        (Limits(cpus="{{ c }}", memory_mb="{{ m }}"), Caps(0.5, 256 * MIB)),
        (Limits(cpus="{{ nothing }}"), UNLIMITED),
        (Limits(memory_mb=1.001), Caps(None, MIB)),
    ],
)
def test_limits_are_templates_and_nothing_is_no_limit(limits: Limits, found: Caps) -> None:
    assert caps(limits, {"c": 0.5, "m": 256, "nothing": None}, "exp/v: sut") == found


@pytest.mark.parametrize("cpus", [-1, 0.001, "many", "{{ [1] }}"])
def test_limits_that_are_none_are_refused(cpus: Any) -> None:
    with pytest.raises(ManifestError, match=r"^exp/v: sut: limits.cpus: found .* at least 0.01$"):
        caps(Limits(cpus=cpus), {}, "exp/v: sut")


def test_v1_limits_are_written(tmp_path: Path) -> None:
    with_swap = V1 | {"memory": V1["memory"] | {"memory.memsw.limit_in_bytes": "0"}}
    impose(Caps(0.5, 64 * MIB), v1(tmp_path, with_swap))
    assert {file.name: file.read_text() for file in tmp_path.glob("*/*")} == {
        "cpu.cfs_period_us": "100000",
        "cpu.cfs_quota_us": "50000",
        "memory.limit_in_bytes": "67108864",
        "memory.memsw.limit_in_bytes": "67108864",
    }


def test_v2_limits_are_written(tmp_path: Path) -> None:
    group = v2(tmp_path, "cpu.max", "memory.max", "memory.swap.max")
    impose(Caps(2.0, MIB), group)
    assert {file.name: file.read_text() for file in tmp_path.glob("*/*")} == {
        "cpu.max": "200000 100000",
        "memory.max": "1048576",
        "memory.swap.max": "0",
    }


def test_no_limit_touches_nothing(tmp_path: Path) -> None:
    impose(UNLIMITED, v1(tmp_path))
    impose(UNLIMITED, None)
    assert (tmp_path / "cpu" / "cpu.cfs_quota_us").read_text() == "-1"


def test_without_control_groups_a_limit_is_not_forgotten() -> None:
    with pytest.raises(Unavailable, match="control groups with the cpu and memory controllers"):
        impose(Caps(memory_bytes=MIB), None)


def test_without_the_controller_a_limit_is_not_forgotten(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="a control group with the memory controller"):
        impose(Caps(memory_bytes=MIB), v1(tmp_path, {"cpu": V1["cpu"]}))


@pytest.mark.parametrize("limit", [Caps(cpus=1.0), Caps(memory_bytes=MIB)])
def test_a_kernel_without_the_file_is_told_of(tmp_path: Path, limit: Caps) -> None:
    with pytest.raises(Unavailable, match=r"this kernel has no (cpu|memory)\.max"):
        impose(limit, v2(tmp_path))
    assert not any(tmp_path.iterdir()), "half a limit must not be there for the next role"


def test_what_does_not_read_back_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    group = v2(tmp_path, "memory.max")
    monkeypatch.setattr(Path, "write_text", lambda file, text: None)
    monkeypatch.setattr(Group, "remove", lambda group: None)
    with pytest.raises(Unavailable, match=r"memory\.max found max, expected 1048576"):
        impose(Caps(memory_bytes=MIB), group)


def test_what_the_kernel_refuses_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: Path, text: str) -> None:
        raise OSError(22, "Invalid argument")

    group = v2(tmp_path, "cpu.max")
    monkeypatch.setattr(Path, "write_text", refuse)
    monkeypatch.setattr(Group, "remove", lambda group: None)
    with pytest.raises(Unavailable, match=r"cannot be set: cpu\.max: Invalid argument"):
        impose(Caps(cpus=1.0), group)


def test_reads_of_a_disk_are_limited(tmp_path: Path) -> None:
    wanted = Caps(read_bytes_per_s=40 * MIB, disk="254:0")
    impose(wanted, v1(tmp_path, {"blkio": {"blkio.throttle.read_bps_device": ""}}))
    assert (tmp_path / "blkio" / "blkio.throttle.read_bps_device").read_text() == "254:0 41943040"
    group = v2(tmp_path, "io.max")
    impose(wanted, group)
    assert (tmp_path / "group" / "io.max").read_text() == "254:0 rbps=41943040"
    without = tmp_path / "without"
    without.mkdir()
    with pytest.raises(Unavailable, match=r"has no io\.max"):
        impose(wanted, Group("v2", {"v2": without}))


def test_the_disk_of_a_folder_is_a_whole_one(tmp_path: Path) -> None:
    number = tmp_path.stat().st_dev
    own = f"{os.major(number)}:{os.minor(number)}"
    devices, whole = tmp_path / "devices", tmp_path / "sda"
    devices.mkdir()
    with pytest.raises(Unavailable, match="on no disk of its own"):
        disk(tmp_path / "not" / "yet", devices)
    (whole / "sda1").mkdir(parents=True)
    (whole / "dev").write_text("8:0\n")
    (whole / "sda1" / "dev").write_text("8:1\n")
    (devices / own).symlink_to(whole / "sda1")
    assert disk(tmp_path / "not" / "yet", devices) == "8:1"
    (whole / "sda1" / "partition").write_text("1\n")
    assert disk(tmp_path, devices) == "8:0"
