"""`tare export`: a run's results for other programs."""

import sys
from pathlib import Path

import click

from tare.cli.output import say
from tare.cli.run import folder_of

_FORMATS = ("csv", "parquet", "png", "svg", "google-benchmark", "openmetrics")


@click.command()
@click.argument("run", default="last")
@click.option(
    "--format",
    "forms",
    type=click.Choice(_FORMATS),
    multiple=True,
    required=True,
    help="What to write; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where to; without it, export/ of the run's folder.",
)
def command(run: str, forms: tuple[str, ...], output: Path | None) -> None:
    """Write RUN's trials, summary and charts in formats that other programs read.

    \b
    tare export last --format csv
    tare export last --format png --format svg -o charts
    """
    from tare.report import export, results
    from tare.report.folder import NotARun, read

    folder = folder_of(run)
    try:
        read_folder = read(folder)
        found = results.make(read_folder)
        for form in forms:
            for file in export.write(form, read_folder, found, output or folder / "export"):
                click.echo(file)
    except (NotARun, export.CannotExport) as error:
        say(str(error))
        sys.exit(1)
