"""`--benches FILE`, of the commands that can have other machines make blocks."""

from pathlib import Path

import click

benches_option = click.option(
    "--benches",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Deal the blocks to the machines of this file (docs/BENCHES.md).",
)
