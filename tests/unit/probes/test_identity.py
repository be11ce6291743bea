from pathlib import Path

from tare.lab.paths import ROOT
from tare.probes.identity import disk, identity, revision


def test_this_machine_has_an_identity(tmp_path: Path) -> None:
    found = identity(tmp_path)
    assert "cpu0" in found["topology"] and found["kernel_command_line"]
    assert found["disk"]["file_system"] and found["disk"]["device"]
    assert found["compilers"]["cc"]


def test_what_a_machine_does_not_tell_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "sys/devices/system/cpu/cpu0").mkdir(parents=True)
    found = identity(tmp_path, tmp_path)
    assert found["topology"] == {"cpu0": {}}
    assert found["microcode"] is None and found["kernel_command_line"] is None


def test_the_mount_of_a_folder_is_found_by_its_device(tmp_path: Path) -> None:
    device = tmp_path.stat().st_dev
    number = f"{device >> 8 & 0xFFF}:{device & 0xFF}"
    mounts = tmp_path / "mountinfo"
    mounts.write_text(
        "1 0 0:99 / /proc rw,nosuid - proc proc rw\n"
        f"2 0 {number} / / rw,relatime shared:1 - ext4 /dev/vda rw,discard\n"
    )
    assert disk(tmp_path, mounts) == {
        "device": "/dev/vda",
        "file_system": "ext4",
        "mount_options": "rw,relatime",
        "super_options": "rw,discard",
    }
    mounts.write_text("")
    assert disk(tmp_path, mounts) == {}


def test_the_revision_is_the_project_s(tmp_path: Path) -> None:
    assert revision(tmp_path) == {"commit": None, "dirty": None}
    found = revision(ROOT)
    assert found["commit"] is None or len(found["commit"]) == 40
