"""`--hosts FILE`, of the commands whose roles can be on hosts of their own."""

from pathlib import Path

import click

from tare.model.hosts import HostsFile

hosts_option = click.option(
    "--hosts",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Run the roles of each trial on the hosts of this file (docs/HOSTS.md).",
)


def read(file: Path | None, benches: Path | None = None) -> HostsFile | None:
    """Return the hosts of the option's file, or None without it.

    Raises ManifestError, and click.UsageError beside --benches.
    """
    from tare.lab.run.hosts import file as hosts_file

    if file is None:
        return None
    if benches is not None:
        raise click.UsageError("--hosts and --benches: expected one of them")
    return hosts_file.read(file)
