"""Control groups for roles: v2 if it has `cpu`, else v1, else none (affinity and nice only).

Weight, not real-time scheduling, keeps other processes from starving a trial: a group may not hold
real-time tasks without a share of the kernel's real-time budget, and that budget stops a busy
server for about 50 ms of each second (docs/METHODOLOGY.md, "Priority").
"""

import contextlib
import os
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tare.lab.errors import TareError
from tare.model.fields import Priority
from tare.probes import throttling
from tare.probes.cpu import CpuTime, of_cgroup_v1, of_cgroup_v2
from tare.probes.groups import own_paths
from tare.probes.throttling import Throttling

MOUNT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpu", "cpuacct", "cpuset", "memory", "pids", "blkio", "io")
_WEIGHTS = {
    "high": {"cpu.shares": "262144", "cpu.weight": "10000"},
    "normal": {"cpu.shares": "1024", "cpu.weight": "100"},
}
_INHERITED = ("cpuset.cpus", "cpuset.mems")


@dataclass(frozen=True)
class Group:
    """The group of one role, or of a whole run, as its folder in each hierarchy."""

    kind: str
    folders: dict[str, Path]
    priority: Priority = "high"
    run_priority: Priority = "high"

    def create(self, cpus: Sequence[int]) -> None:
        """Make a role's group within its run's, pinned to `cpus`, with its CPU weight.

        Raises TareError.
        """
        try:
            for folder in self.folders.values():
                self._make(folder.parent, self.run_priority)
                if self.kind == "v2":
                    _enable(folder.parent)
                self._make(folder, self.priority)
                if (folder / "cpuset.cpus").exists():
                    (folder / "cpuset.cpus").write_text(",".join(map(str, cpus)))
        except OSError as error:
            raise TareError(f"cannot set up control group {error.filename}: {error}") from error

    def _make(self, folder: Path, priority: Priority) -> None:
        folder.mkdir(exist_ok=True)
        for name in _INHERITED:
            if (folder / name).exists() and not _words(folder / name):
                with contextlib.suppress(OSError):  # v2 inherits by itself and may refuse
                    (folder / name).write_text((folder.parent / name).read_text())
        for name, weight in _WEIGHTS[priority].items():
            if (folder / name).exists():
                (folder / name).write_text(weight)

    def entrances(self) -> list[str]:
        """Files to which a process writes 0 to move itself in."""
        return [str(folder / "cgroup.procs") for folder in self.folders.values()]

    def pids(self) -> list[int]:
        """Processes in the group, and in those that a role makes below its own."""
        top = next(iter(self.folders.values()))
        folders = [Path(folder) for folder, _, _ in os.walk(top)]
        return [int(pid) for folder in folders for pid in _words(folder / "cgroup.procs")]

    def cpu_time(self) -> CpuTime:
        """CPU time of everything that ever ran in it."""
        if self.kind == "v2":
            return of_cgroup_v2(self.folders["v2"])
        return of_cgroup_v1(self.folders["cpuacct"])

    def account(self) -> Path:
        """Return the file that has its CPU time so far."""
        if self.kind == "v2":
            return self.folders["v2"] / "cpu.stat"
        return self.folders["cpuacct"] / "cpuacct.usage"

    def throttling(self) -> Throttling:
        """Return the effects of its limits so far."""
        if self.kind == "v2":
            return throttling.of_cgroup_v2(self.folders["v2"])
        return throttling.of_cgroup_v1(self.folders["cpu"], self.folders.get("memory"))

    def remove(self, patience_s: float = 5.0) -> None:
        """Kill what is in it and below it, and remove it; an absent group is no error.

        Raises TareError when something outlives SIGKILL for `patience_s`.
        """
        give_up = time.monotonic() + patience_s
        for folder in self.folders.values():
            while folder.is_dir() and not _cleared(folder):
                if time.monotonic() > give_up:
                    raise TareError(f"processes in {folder} outlive SIGKILL; see its cgroup.procs")
                time.sleep(0.002)


@dataclass(frozen=True)
class Hierarchy:
    """The parent folders of groups: one for v2, one a controller for v1, none without cgroups."""

    kind: str
    bases: dict[str, Path] = field(default_factory=dict)
    remark: str | None = None
    priority: Priority = "high"

    def run(self, tag: str) -> Group | None:
        """The group of a whole run; None without cgroups."""
        return self._group(Path(tag))

    def role(self, tag: str, role: str, priority: Priority | None = None) -> Group | None:
        """The group of a role within its run's, with the run's priority or one of its own; None
        without cgroups.
        """
        return self._group(Path(tag, role), priority)

    def _group(self, name: Path, priority: Priority | None = None) -> Group | None:
        if not self.bases:
            return None
        folders = {key: base / name for key, base in self.bases.items()}
        return Group(self.kind, folders, priority or self.priority, self.priority)


def detect(mount: Path = MOUNT, own: Path = Path("/proc/self/cgroup")) -> Hierarchy:
    """The hierarchy in which this process may make groups."""
    if "cpu" in _words(mount / "cgroup.controllers"):
        bases = {"v2": mount}
        with contextlib.suppress(OSError):
            _enable(mount)
        if "cpu" not in _words(mount / "cgroup.subtree_control"):
            remark = (
                f"no permission to enable the cpu controller in {mount}: "
                "only affinity and nice isolate"
            )
            return Hierarchy("none", {}, remark)
    else:
        paths = own_paths(own)
        bases = {
            name: mount / name / paths[name].lstrip("/")
            for name in _CONTROLLERS
            if name in paths and (mount / name).is_dir()
        }
    if "v2" not in bases and not {"cpu", "cpuacct"} <= bases.keys():
        bases = {}
    if not bases:
        return Hierarchy(
            "none", {}, "no control groups with a cpu controller: only affinity and nice isolate"
        )
    for base in bases.values():
        if not os.access(base, os.W_OK):
            remark = (
                f"no permission to make control groups in {base}: only affinity and nice isolate; "
                "run as root for better isolation"
            )
            return Hierarchy("none", {}, remark)
    return Hierarchy("v2" if "v2" in bases else "v1", bases)


def remove_groups_of(pid: int, mount: Path | None = None) -> None:
    """Remove the empty groups `tare-….<pid>.<…>` that a role which was killed had made beside its
    own, in a hierarchy of version 2 (docs/FORMAT.md, "Manifests").
    """
    top = mount or MOUNT
    for folder in (top, top / "unified"):
        for group in folder.glob(f"tare-*.{pid}.*"):
            # Something that still lives in it belongs to a later process of that number.
            with contextlib.suppress(OSError):
                group.rmdir()


def _enable(folder: Path) -> None:
    handed_out = _words(folder / "cgroup.subtree_control")
    there = _words(folder / "cgroup.controllers")
    lacking = [name for name in _CONTROLLERS if name in there and name not in handed_out]
    if lacking:
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in lacking))


def _words(file: Path) -> list[str]:
    try:
        return file.read_text().split()
    except OSError:
        return []


def _cleared(folder: Path) -> bool:
    """One attempt to empty and remove `folder`; True when it is gone."""
    try:
        below = [path for path in folder.iterdir() if path.is_dir()]
    except FileNotFoundError:
        return True
    if not all(_cleared(path) for path in below):
        return False
    for pid in map(int, _words(folder / "cgroup.procs")):
        # A process of another PID namespace is called 0, by which kill(2) knows the laboratory.
        with contextlib.suppress(ProcessLookupError):
            if pid > 0:
                os.kill(pid, signal.SIGKILL)
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True
