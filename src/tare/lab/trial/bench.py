"""The things that all sites of a run, a check or an `up` share."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tare.lab.machine import cgroup
from tare.lab.machine.cgroup import Hierarchy
from tare.lab.machine.host import Cpus
from tare.lab.machine.hosts.host import Hosts
from tare.lab.machine.hosts.local import Local
from tare.lab.machine.journal import Journal
from tare.lab.machine.ledger import Ledger
from tare.lab.project.build import Built
from tare.lab.project.catalog import Loaded

LEDGER = "ledger.jsonl"


@dataclass(frozen=True)
class Bench:
    """The ground of all sites: builds, hosts, CPUs, groups, and the ledger of what is running."""

    loaded: Loaded
    built: Mapping[str, Built]
    hierarchy: Hierarchy
    cpus: Cpus
    """Of this machine."""
    local: Local
    """This machine."""
    hosts: Hosts
    """Those that take the roles."""
    tag: str
    """Names the run's group, and begins the names of its networks and its shared memory."""
    ledger: Ledger
    journal: Journal
    profiler: Path | str | None = None
    """The program that looks at processes, where a run asks why; or the reason why there is none.
    """
    observer: Path | None = None
    """The program that looks at the slowest requests, where a run asks for them."""

    def close(self) -> None:
        """Take away what is left of its sites."""
        self.local.close()
        self.ledger.close()
        self.journal.close()


def open_bench(
    loaded: Loaded,
    built: Mapping[str, Built],
    *,
    folder: Path,
    name: str,
    cpus: Cpus,
    profiler: Path | str | None = None,
    observer: Path | None = None,
) -> Bench:
    """A guarded bench with its ledger and its journal in `folder`.

    Raises TareError when another process has it.
    """
    hierarchy = replace(cgroup.detect(), priority=loaded.experiment.priority)
    tag = tag_of(name, folder)
    ledger = Ledger(folder / LEDGER, tag, hierarchy.run(tag), guarded=True)
    journal = Journal(folder / "events.log")
    local = Local(cpus, hierarchy, tag, ledger)
    seeing = (profiler, observer)
    return Bench(loaded, built, hierarchy, cpus, local, Hosts(local), tag, ledger, journal, *seeing)


def tag_of(name: str, folder: Path) -> str:
    """A tag that no other bench of this machine has, be it of that name, in another project."""
    found = folder.stat()
    return f"tare-{name}-{found.st_dev:x}-{found.st_ino:x}"
