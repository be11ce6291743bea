"""`tare list`: the experiments, their studies and their variants."""

from dataclasses import asdict
from pathlib import Path

import click

from tare.cli.hanging import echo
from tare.cli.output import json_option, print_json
from tare.cli.variants_dir import variants_dir_option
from tare.lab.project import index

_INDENT = " " * 12


@click.command()
@variants_dir_option
@json_option
def command(variants_dir: Path | None, as_json: bool) -> None:
    """List the experiments, each with its studies and its variants.

    `tare run EXPERIMENT` measures the studies marked *; `tare run EXPERIMENT/STUDY` any of them.
    Variants marked + are measured only where --variants names them.
    """
    known = index.entries(outside=variants_dir)
    if as_json:
        print_json([asdict(entry) for entry in known])
        return
    for entry in known:
        echo(f"{entry.name:11} ", entry.question)
        for study in entry.studies:
            mark = "*" if study.default else " "
            echo(f"{_INDENT}{mark} {study.name:14} ", study.question)
        variants = [f"+{name}" if name in entry.extended else name for name in entry.variants]
        echo(f"{_INDENT}variants: ", f"{', '.join(variants)}\n")
