"""`--benches FILE`, of the commands that can have other machines make blocks."""

from pathlib import Path

import click

from tare.model.servers import EXPERIMENT
from tare.model.trial import Plan

benches_option = click.option(
    "--benches",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Let the machines of this file make the blocks (docs/BENCHES.md).",
)


def check(file: Path, plan: Plan) -> None:
    """Read the file, and refuse a plan that other machines cannot carry out.

    Raises ManifestError, UnknownName and click.UsageError.
    """
    from tare.lab.run import subject
    from tare.lab.run.benches import file as benches_file
    from tare.lab.run.hosts import spread

    if plan.parts or plan.variants_dir or plan.experiment == EXPERIMENT:
        raise click.UsageError(
            "--benches: your own files, variants and servers are on this machine only"
        )
    for name, hosts in benches_file.read(file).spread.items():
        spread.refuse(hosts, plan, subject.planned(plan), f"--benches: bench {name}")
