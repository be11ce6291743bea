"""`tare history`: the runs that are stored, and how effects went from one to the next."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.hanging import echo
from tare.cli.output import console, json_option, print_json, say
from tare.cli.run import folder_of
from tare.cli.stored_results import stored_results
from tare.lab.project.index import experiment_names
from tare.model.servers import EXPERIMENT

if TYPE_CHECKING:
    from tare.model.history import History, Series
    from tare.model.results import Results
    from tare.report.layout import Grid

_STYLES = {"costs": "red", "saves": "green", "equivalent": "cyan", "unresolved": "yellow"}


@click.command()
@click.argument("of", metavar="[EXPERIMENT|RUN]", required=False)
@click.option(
    "--page",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a page with charts of the effects.",
)
@json_option
def command(of: str | None, page: Path | None, as_json: bool) -> None:
    """List the stored runs, oldest first; with EXPERIMENT, also each variant's effects run by run.

    It names the run since which an effect has changed. RUN is the folder of a run or of a record:
    it is listed with the stored runs of its study. EXPERIMENT `servers` means your own servers:
    duels of the same commands at the same rate are a series.

    \b
    tare history
    tare history filters
    tare history record/filters-price
    tare history servers --page history.html
    """
    from tare.report.history import history
    from tare.report.history_page import render

    # A copy of a run, such as a record, is the same run; folders may have other names.
    known = sorted({each.run: each for each in stored_results()}.values(), key=lambda one: one.run)
    if of in (*experiment_names(), EXPERIMENT):
        known = [each for each in known if each.experiment == of]
    elif of is not None:
        known = _beside(folder_of(of), known)
    found = history(known)
    if page is not None:
        page.write_text(render(found))
        say(f"page: {page}")
    if as_json:
        print_json(found)
    elif not known:
        click.echo(f"no run of {of} is stored" if of else "no run is stored")
    else:
        _show(found, effects=of is not None)


def _beside(folder: Path, known: "list[Results]") -> "list[Results]":
    """Return the run in `folder` among the known runs of its study, oldest first."""
    from tare.report.comparison import stored

    own = stored(folder)
    study = (own.experiment, own.study)
    runs = {each.run: each for each in known if (each.experiment, each.study) == study}
    return [each for _, each in sorted((runs | {own.run: own}).items())]


def _show(found: "History", *, effects: bool) -> None:
    from tare.report.history_words import sentences
    from tare.report.layout import wrapped

    out = console()
    if effects:
        for sentence in sentences(found):
            for line in wrapped(sentence, out.width):
                click.echo(line)
        click.echo()
    grids = [("", _runs(found)), *(_series(found) if effects else ())]
    for heading, grid in grids:
        if heading:
            click.echo(f"\n{heading}")
        for line in grid.lines(out.width):
            out.print(line, soft_wrap=True, highlight=False)
    if effects:
        click.echo()
        echo("", "Effects are against the baseline of each run; tare compare shows two runs.")


def _runs(found: "History") -> "Grid":
    from tare.report.layout import Column, Grid

    return Grid(
        [
            Column([each.run for each in found.runs], "run"),
            Column([str(each.trials_valid) for each in found.runs], "trials", right=True),
            Column(["" if each.complete else "not finished" for each in found.runs]),
            Column([(each.fingerprint or "unknown")[:8] for each in found.runs], "made of", drop=1),
            Column([each.kernel or "" for each in found.runs], "kernel", drop=2),
        ]
    )


def _series(found: "History") -> "Iterator[tuple[str, Grid]]":
    """Yield a table of each series, in which a change point stands at its run."""
    from tare.report.history_words import heading

    for series in found.series:
        yield heading(series), _grid(series)


def _grid(series: "Series") -> "Grid":
    from tare.report.history_words import remark, shown
    from tare.report.layout import Column, Grid

    verdicts = [point.verdict or "" for point in series.points]
    return Grid(
        [
            Column([point.run for point in series.points], "run"),
            Column([shown(series, point) for point in series.points], "effect"),
            Column(verdicts, styles=[_STYLES.get(each, "") for each in verdicts]),
            Column([remark(series, point) for point in series.points]),
        ]
    )
