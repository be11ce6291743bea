"""`tare calibrate`: what this machine can tell apart, and in what time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from tare.cli.hanging import echo
from tare.cli.output import console, json_option, print_json, say
from tare.cli.ranges import Count
from tare.cli.span import span_option

if TYPE_CHECKING:
    from tare.lab.project.catalog import Loaded
    from tare.model.calibration import Calibration
    from tare.model.study import Pairing
    from tare.model.trial import Plan

_SHARES: dict["Pairing", float] = {"slices": 0.65, "trials": 0.35}
"""Of the time, by way of pairing; the check is of the first."""
_FEWEST = 8
"""Blocks of each."""
_STUDY = 12
"""Blocks of a study that is cut from a long run."""


@click.command()
@span_option("--within", "within_s", "5m", "About how long it may take.")
@click.option("--show", is_flag=True, help="Show the last calibration, and measure nothing.")
@click.option(
    "--of",
    "runs",
    metavar="RUN",
    multiple=True,
    help="Cut this long run of the calibration's study into studies, and say how often they are "
    "right; repeatable.",
)
@click.option(
    "--blocks",
    type=Count(2),
    help="With --of: blocks of a study, by default 12.",
)
@json_option
def command(
    within_s: float, show: bool, runs: tuple[str, ...], blocks: int | None, as_json: bool
) -> None:
    """Find out which differences this machine can tell apart in 1, 5 and 20 minutes.

    It compares a small server with itself and with one that adds a known 1 % to its work. Later
    runs then say beforehand what they can find. Let the machine do meanwhile what it will do
    when you measure.

    \b
    tare calibrate
    tare calibrate --within 15m       # steadier figures
    tare calibrate --show
    tare run calibration/cpu --scenarios added=none --blocks 2400   # hours; resume goes on with it
    tare calibrate --of record/calibration --blocks 8
    """
    from tare.lab.errors import TareError
    from tare.lab.run import calibrated

    if blocks is not None and not runs:
        raise click.UsageError("--blocks: expected --of beside it")
    if show and runs:
        raise click.UsageError("--show and --of: expected one of them")
    if runs:
        _print_series(runs, blocks or _STUDY, as_json)
        return
    if show:
        found = calibrated.kept()
        if found is None:
            raise TareError("this machine is not calibrated; run: tare calibrate")
    else:
        found = _calibrate(within_s)
        say(f"kept in {calibrated.keep(found)}")
    if as_json:
        print_json(found)
    else:
        _print(found)


def _calibrate(within_s: float) -> "Calibration":
    """Make two runs of the study, by duels and by trials. Raises TareError and Interrupted."""
    from tare.cli.running import execute, written
    from tare.lab import paths
    from tare.lab.errors import Disturbed, Interrupted
    from tare.lab.machine import host
    from tare.lab.run import calibrated
    from tare.lab.run.store import Store
    from tare.probes.audit import advice
    from tare.report import calibration, folder

    loaded = calibrated.study()
    folders: list[folder.RunFolder] = []
    remarks: list[str] = []
    for pairing, share in _SHARES.items():
        store = Store.create(paths.runs(), _plan(loaded, pairing, share * within_s))
        try:
            execute(store)
        except Disturbed as why:
            if not folders:
                raise
            remarks.append(f"No result by {calibration.WAYS[pairing]}: {why.reason}")
        except Interrupted:
            say(
                "stopped, so this machine is not calibrated; begin again with: tare calibrate\n"
                f"what was measured is in {store.folder}, which you may remove"
            )
            raise
        else:
            folders.append(folder.read(store.folder))
        written(store.folder)
    assert loaded.study.calibrates is not None
    cpus = host.assign(host.by_core(), server=1, client=1)
    return calibration.make(
        folders,
        loaded.study.calibrates,
        calibrated.machine(),
        remarks=remarks,
        advice=advice(cpus.server),
    )


def _print_series(runs: Sequence[str], blocks: int, as_json: bool) -> None:
    from tare.cli.run import folder_of
    from tare.lab.errors import TareError
    from tare.lab.run import calibrated
    from tare.report import folder, series

    loaded = calibrated.study()
    assert loaded.study.calibrates is not None
    read = [folder.read(folder_of(run)) for run in runs]
    for run in read:
        if (title := f"{run.plan.experiment}/{run.plan.study}") != loaded.title:
            raise TareError(f"{run.path}: found a run of {title}, expected one of {loaded.title}")
    found = series.cut(read, loaded.study.calibrates, blocks)
    if as_json:
        print_json([each.model_dump(mode="json") for each in found])
        return
    for each in found:
        for line in series.sentences(each):
            click.echo(line)


def _plan(loaded: "Loaded", pairing: "Pairing", seconds: float) -> "Plan":
    """Return the plan of the study's first scenario with as many blocks as go into that time."""
    from tare.lab import paths
    from tare.lab.project.preparation import Prepared
    from tare.lab.run import estimate, planning

    def made(blocks: int) -> "Plan":
        return planning.make(
            loaded,
            quick=False,
            variants=None,
            scenarios=[],
            blocks=blocks,
            seed=None,
            overrides={},
            pairing=pairing,
        )

    one = estimate.estimate(made(1), loaded, paths.runs(), Prepared())
    return made(max(_FEWEST, int(seconds / one.seconds[0])))


def _print(found: "Calibration") -> None:
    from rich.table import Table

    from tare.report import calibration

    echo("", calibration.sentence(found))
    echo("", calibration.check(found))
    click.echo()
    table = Table("smallest difference found", "by", box=None, padding=(0, 2, 0, 0))
    for span in calibration.SPANS_S:
        table.add_column(span, justify="right", no_wrap=True)
    for row in calibration.rows(found):
        table.add_row(*row)
    console().print(table, highlight=False)
    echo("", "Found in about four of five studies that look once. Your own servers may be noisier.")
    echo("", "tare duel and tare gate look after every duel, which takes about half as long again.")
    for line in found.remarks:
        echo("", line)
    if found.advice:
        echo("", "These settings disturb; tare doctor --tune says which of them it can change:")
    for line in found.advice:
        echo("  ", line)
