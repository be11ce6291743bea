"""Read hosts.toml."""

from pathlib import Path

from tare.lab.errors import ManifestError
from tare.lab.project.index import read_toml
from tare.lab.run import settings
from tare.model.hosts import HostsFile


def names_hosts(file: Path) -> bool:
    """Return true for a file of hosts, and not of benches. Raises ManifestError."""
    return "hosts" in read_toml(file)


def read(file: Path) -> HostsFile:
    """Return the hosts of a file. Raises ManifestError."""
    if {"benches", "coordinator"} & read_toml(file).keys():
        raise ManifestError(
            f"{file}: found a file of benches (docs/BENCHES.md), expected one of hosts "
            "(docs/HOSTS.md); --benches takes it"
        )
    return settings.read(HostsFile, file)
