"""The identity of a machine, its disk and its compilers, for environment.json."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

_COMPILERS = ("cc", "rustc", "go", "clang")
_MOUNTS = Path("/proc/self/mountinfo")


def identity(folder: Path, root: Path = Path("/")) -> dict[str, Any]:
    """Return topology, microcode, kernel command line, the disk that `folder` is on, compilers."""
    cpus = root / "sys/devices/system/cpu"
    return {
        "topology": dict(_topology(cpus)),
        "microcode": _cpuinfo(root / "proc/cpuinfo", "microcode"),
        "kernel_command_line": _read(root / "proc/cmdline"),
        "disk": disk(folder),
        "compilers": dict(_compilers()),
    }


def disk(folder: Path, mounts: Path = _MOUNTS) -> dict[str, str]:
    """Return device, file system and mount options of the mount that `folder` is on (proc(5))."""
    number = folder.stat().st_dev
    wanted = f"{os.major(number)}:{os.minor(number)}"
    for line in mounts.read_text().splitlines():
        head, _, tail = line.partition(" - ")
        fields, rest = head.split(), tail.split()
        if fields[2] == wanted:
            return {
                "device": rest[1],
                "file_system": rest[0],
                "mount_options": fields[5],
                "super_options": rest[2],
            }
    return {}


def revision(project: Path) -> dict[str, Any]:
    """Return the project's git commit and whether its tree differs from it; nothing without git."""
    # An installed project may lie in another's repository.
    is_clone = (project / ".git").exists()
    commit = _output(["git", "-C", str(project), "rev-parse", "HEAD"]) if is_clone else None
    if commit is None:
        return {"commit": None, "dirty": None}
    changed = _output(["git", "-C", str(project), "status", "--porcelain"])
    return {"commit": commit, "dirty": bool(changed)}


def _topology(cpus: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """CPU → its package, core and siblings, as the kernel has them."""
    for folder in sorted(cpus.glob("cpu[0-9]*"), key=lambda path: int(path.name[3:])):
        found = {
            name: text
            for name, file in (
                ("package", "physical_package_id"),
                ("core", "core_id"),
                ("siblings", "thread_siblings_list"),
            )
            if (text := _read(folder / "topology" / file)) is not None
        }
        yield folder.name, found


def _compilers() -> Iterator[tuple[str, str]]:
    for name in _COMPILERS:
        if shutil.which(name) is not None:
            told = _output([name, "version" if name == "go" else "--version"])
            if told:
                yield name, told.splitlines()[0]


def _output(argv: list[str]) -> str | None:
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _cpuinfo(file: Path, field: str) -> str | None:
    for line in (_read(file) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == field:
            return value.strip()
    return None


def _read(file: Path) -> str | None:
    try:
        return file.read_text().strip()
    except OSError:
        return None
