"""What a sandbox holds, and what one could leave behind."""

import contextlib
from pathlib import Path

from sandboxes import Sandbox, groups

# Other tests mount disks in folders of theirs, and networks have names.
OTHERS = ("/pytest-of-", "/run/netns")
TOOLS = ("bwrap", "crun", "runc", "runsc")


def leavings(own: Path) -> dict[str, object]:
    """What the machine has that a sandbox in the folder `own` could leave behind."""
    mounts = Path("/proc/self/mounts").read_text().splitlines()
    return {
        "mounts": [
            line
            for line in mounts
            if str(own) in line or not any(place in line for place in OTHERS)
        ],
        "shared memory": Path("/proc/sysvipc/shm").read_text().count("\n"),
        "queues": Path("/proc/sysvipc/msg").read_text().count("\n"),
        "/dev/shm": sorted(
            path.name for path in Path("/dev/shm").iterdir() if "tare-attack" in path.name
        ),
        # Where the tools of others keep files for a moment.
        "/tmp": sorted(path.name for tool in TOOLS for path in Path("/tmp").glob(f"{tool}*")),
    }


def folders(pid: int) -> list[str]:
    """Folders that a daemon made for workers' roots."""
    return sorted(path.name for path in Path("/run/tare-sandbox").glob(f"roots.{pid}.*"))


def holdings(sandbox: Sandbox) -> dict[str, int]:
    """How much of each kind a daemon and its workers have, apart from memory."""
    pid, own = sandbox.process.pid, [Path(f"/proc/{each}") for each in sandbox.own()]
    return {
        "descriptors": sandbox.descriptors(),
        "threads": sum(len(list((each / "task").iterdir())) for each in own),
        "processes": len(sandbox.workers()),
        # Keepers have mounts that the daemon does not see.
        "mounts": sum(
            len(each.read_text().splitlines()) for one in own for each in one.glob("task/*/mounts")
        ),
        "control groups": sum(
            1 for group in groups(pid) for each in group.rglob("*") if each.is_dir()
        ),
        "folders": len(folders(pid)),
    }


def files(pid: int) -> list[str]:
    """What the descriptors of a process lead to."""
    found = []
    for each in Path(f"/proc/{pid}/fd").iterdir():
        # Some are closed meanwhile.
        with contextlib.suppress(OSError):
            found.append(str(each.readlink()))
    return found


def resident_kb(sandbox: Sandbox) -> int:
    """Memory of a daemon, in KiB, its workers' apart."""
    texts = [Path(f"/proc/{each}/status").read_text() for each in sandbox.own()]
    lines = [line for text in texts for line in text.splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
