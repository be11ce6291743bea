"""`tare compare`: how a run differs from a stored one."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.output import console, json_option, print_json, say
from tare.cli.run import folder_of

if TYPE_CHECKING:
    from tare.model.comparison import RunComparison

_REGRESSION = 3
_STYLES = {"worse": "red", "better": "green", "equivalent": "cyan", "unresolved": "yellow"}


@click.command()
@click.argument("before", metavar="RUN")
@click.argument("after", metavar="RUN", default="last")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="any|OUTCOME[:PERCENT]",
    help="Exit with 3 if this surely got worse (by more than PERCENT) or is missing; repeatable.",
)
@json_option
def command(before: str, after: str, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Compare the effects in two runs: a stored one (its folder or results.json) and a later one.

    \b
    tare compare record/proxies-requests last
    tare compare record/proxies-requests last --fail-on any
    tare compare record/proxies-requests last --fail-on requests_per_second:5
    """
    from tare.report.comparison import compare, stored

    limits = [_limit(text) for text in fail_on]
    first, last = (
        stored(Path(run) if Path(run).is_file() else folder_of(run)) for run in (before, after)
    )
    found = compare(first, last)
    known = {change.outcome for change in found.changes}
    for name, _ in limits:
        if name not in (known | {"any"}):
            expected = ", ".join(["any", *sorted(known)])
            raise click.BadParameter(
                f"{name!r}: expected one of {expected}", param_hint="--fail-on"
            )
    if as_json:
        print_json(found)
    else:
        _show(found)
    regressions = [
        change
        for change in found.changes
        for name, most in limits
        if name in ("any", change.outcome) and change.worse_by_pct > most
    ]
    for change in regressions:
        where = f"{change.scenario}, {change.variant}, {change.outcome}"
        say(f"regression: {where}: surely worse by {change.worse_by_pct:.1f} %")
    sys.exit(_REGRESSION if regressions or (limits and found.lost) else 0)


def _limit(text: str) -> tuple[str, float]:
    name, _, percent = text.partition(":")
    try:
        return name, float(percent or 0)
    except ValueError as error:
        expected = "expected any or OUTCOME[:PERCENT]"
        raise click.BadParameter(f"{text!r}: {expected}", param_hint="--fail-on") from error


def _show(found: "RunComparison") -> None:
    from tare.report.comparison import NOTE
    from tare.report.layout import Column, Grid, wrapped
    from tare.report.numbers import relative

    out = console()

    def said(text: str) -> None:
        for line in wrapped(text, out.width):
            click.echo(line)

    said(f"{found.experiment}: {found.before}, then {found.after}")
    for scenario in dict.fromkeys(item.scenario for item in found.changes):
        own = [item for item in found.changes if item.scenario == scenario]
        columns = [
            Column([item.variant for item in own], "variant"),
            Column([item.outcome for item in own], "outcome"),
            Column(
                [relative(item.before_pct, item.before_ci_pct) for item in own], "before", drop=1
            ),
            Column([relative(item.after_pct, item.after_ci_pct) for item in own], "after", drop=2),
            Column([relative(item.change_pct, item.change_ci_pct) for item in own], "change"),
            Column([item.trend for item in own], styles=[_STYLES[item.trend] for item in own]),
        ]
        click.echo(f"\n{scenario}")
        for line in Grid(columns).lines(out.width):
            out.print(line, soft_wrap=True, highlight=False)
    if not found.changes:
        said("the runs have no judged outcome in common")
    for text in found.refused:
        said(f"NOT COMPARED: {text}")
    for text in found.lost:
        said(f"LOST: {text}")
    click.echo()
    for text in found.differences:
        said(f"Not the same: {text}")
    said(NOTE)
