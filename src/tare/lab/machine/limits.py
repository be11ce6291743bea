"""Limits of a role, imposed by its control group: written, read back, or refused.

Kernel documentation: scheduler/sched-bwc, cgroup-v1/memory and cgroup-v1/blkio-controller for v1,
cgroup-v2 for v2.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from tare.lab.errors import Unavailable
from tare.lab.machine.cgroup import Group

_PERIOD_US = 100_000
"""The kernel's own default, and that of container runtimes."""
_DEVICES = Path("/sys/dev/block")


@dataclass(frozen=True)
class Caps:
    """The most that a role may have; None: as much as there is."""

    cpus: float | None = None
    """CPU seconds a second."""
    memory_bytes: int | None = None
    """Rounded down to whole pages, as the kernel does."""
    read_bytes_per_s: int | None = None
    disk: str | None = None
    """The disk that is read from, as `major:minor`."""

    def __bool__(self) -> bool:
        return self != UNLIMITED


UNLIMITED = Caps()


def disk(folder: Path, devices: Path = _DEVICES) -> str:
    """The disk, as `major:minor`, that a folder which need not exist yet is to be on.

    Raises Unavailable where it is on none: an overlay, a network or memory.
    """
    while not folder.exists():
        folder = folder.parent
    number = folder.stat().st_dev
    device = devices / f"{os.major(number)}:{os.minor(number)}"
    if (device / "partition").exists():
        device = device.resolve().parent
    if not (device / "dev").exists():
        raise Unavailable(
            f"its disk's speed cannot be limited: {folder} is on no disk of its own; set TARE_RUNS "
            "to a folder that is"
        )
    return (device / "dev").read_text().strip()


def impose(wanted: Caps, group: Group | None) -> None:
    """Set the limits of a group that has been made, and read them back.

    Raises Unavailable where this machine cannot hold a role to them; half a limit is undone.
    """
    if not wanted:
        return
    if group is None:
        raise Unavailable("its limits need control groups with the cpu and memory controllers")
    settings = _settings(wanted, group)
    try:
        for file, text in settings:
            _set(file, text)
    except Unavailable:
        group.remove()
        raise


def _settings(wanted: Caps, group: Group) -> list[tuple[Path, str]]:
    """Files and what they must hold, in the order in which the kernel takes them."""
    found = []
    if wanted.cpus is not None:
        folder, quota = _folder(group, "cpu"), str(round(wanted.cpus * _PERIOD_US))
        if group.kind == "v2":
            found.append((folder / "cpu.max", f"{quota} {_PERIOD_US}"))
        else:
            found.append((folder / "cpu.cfs_period_us", str(_PERIOD_US)))
            found.append((folder / "cpu.cfs_quota_us", quota))
    if wanted.memory_bytes is not None:
        folder, text = _folder(group, "memory"), str(wanted.memory_bytes)
        if group.kind == "v2":
            limit, swap = (folder / "memory.max", text), (folder / "memory.swap.max", "0")
        else:
            limit = (folder / "memory.limit_in_bytes", text)
            swap = (folder / "memory.memsw.limit_in_bytes", text)
        # A kernel that does not account for swap has no file to forbid it.
        found += [limit, swap] if swap[0].exists() else [limit]
    if wanted.read_bytes_per_s is not None:
        folder = _folder(group, "blkio")
        if group.kind == "v2":
            found.append((folder / "io.max", f"{wanted.disk} rbps={wanted.read_bytes_per_s}"))
        else:
            file = folder / "blkio.throttle.read_bps_device"
            found.append((file, f"{wanted.disk} {wanted.read_bytes_per_s}"))
    return found


def _folder(group: Group, controller: str) -> Path:
    name = "v2" if group.kind == "v2" else controller
    if name not in group.folders:
        raise Unavailable(f"its limits need a control group with the {controller} controller")
    return group.folders[name]


def _set(file: Path, text: str) -> None:
    if not file.exists():
        raise Unavailable(f"its limit cannot be set: this kernel has no {file.name}")
    try:
        file.write_text(text)
        found = file.read_text().strip()
    except OSError as error:
        raise Unavailable(f"its limit cannot be set: {file.name}: {error.strerror}") from error
    # v2 lists a disk's other limits behind that of reads.
    if not f"{found} ".startswith(f"{text} "):
        raise Unavailable(f"its limit does not hold: {file.name} found {found}, expected {text}")
