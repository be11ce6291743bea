"""`tare export`: a run's results for other programs, or an experiment's container images."""

from pathlib import Path

import click

from tare.cli.completion import runs
from tare.cli.output import say
from tare.cli.run import folder_of
from tare.lab import paths

_FORMATS = (
    "csv",
    "parquet",
    "png",
    "svg",
    "google-benchmark",
    "openmetrics",
    "record",
    "slim-record",
    "folded",
    "speedscope",
    "pprof",
)


@click.command()
@click.argument("run", default="last", metavar="[RUN|EXPERIMENT]", shell_complete=runs)
@click.option(
    "--format",
    "forms",
    type=click.Choice(_FORMATS),
    multiple=True,
    help="What to write of a run; repeatable.",
)
@click.option(
    "--image",
    "images",
    multiple=True,
    metavar="IMAGE",
    help="Which container image of an experiment to write; repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Where to write; by default export/ in the run's folder, for images dist/ in the project.",
)
def command(run: str, forms: tuple[str, ...], images: tuple[str, ...], output: Path | None) -> None:
    """Write RUN's trials, summary and charts in formats that other programs read.

    `record` packs the whole run to be published; all commands that take a run can read it.
    `slim-record` leaves out what no verdict needs, for runs of thousands of trials. `folded`,
    `speedscope` and `pprof` have the stacks of a run with --why, for flame graphs.

    With --image, write container images of EXPERIMENT as archives that `docker load` and
    `podman load` take.

    \b
    tare export last --format csv
    tare export last --format png --format svg -o charts
    tare export last --format folded --format speedscope --format pprof
    tare export last --format record -o record/NAME
    tare export sandbox --image root -o images
    """
    if bool(forms) == bool(images):
        raise click.UsageError("expected either --format, for a run, or --image, for an experiment")
    if images and run == "last":
        raise click.UsageError(
            f"--image: expected an experiment before it: EXPERIMENT --image {images[0]}"
        )
    if images:
        _write_images(run, images, output or paths.images())
    else:
        _write_results(run, forms, output)


def _write_images(experiment: str, images: tuple[str, ...], output: Path) -> None:
    from tare.lab.export import image
    from tare.lab.project import catalog

    loaded = catalog.load(experiment)
    for name in images:
        loaded.image(name)  # so that a wrong name is found before anything is built
    for name in images:
        click.echo(image.export(loaded, name, output, say))


def _write_results(run: str, forms: tuple[str, ...], output: Path | None) -> None:
    from tare.report import export, results
    from tare.report.folder import read

    folder = folder_of(run)
    read_folder = read(folder)
    found = results.make(read_folder)
    for form in forms:
        for file in export.write(form, read_folder, found, output or folder / "export"):
            click.echo(file)
