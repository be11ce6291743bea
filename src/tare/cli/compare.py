"""`tare compare`: how a run differs from a stored one."""

import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tare.cli.completion import runs
from tare.cli.exit_codes import REGRESSION
from tare.cli.output import console, json_option, print_json, say
from tare.cli.run import folder_of
from tare.cli.stored_results import stored_results
from tare.cli.stored_runs import LAST, warn_of_folder
from tare.lab import paths
from tare.lab.errors import UnknownName
from tare.model.servers import EXPERIMENT

if TYPE_CHECKING:
    from tare.model.comparison import Changed, ChangedSlope, RunComparison
    from tare.model.results import Results
    from tare.report.layout import Grid

_LIMIT = re.compile(r"(\w+)(?::(\d+(?:\.\d+)?) ?%?)?")
_STYLES = {"worse": "red", "better": "green", "equivalent": "cyan", "unresolved": "yellow"}


@click.command()
@click.argument("before", metavar="RUN", shell_complete=runs)
@click.argument("after", metavar="RUN", default="last", shell_complete=runs)
@click.option(
    "--fail-on",
    multiple=True,
    metavar="any|OUTCOME[:PERCENT]",
    help="Exit with 3 if this surely got worse (by more than PERCENT), is missing, or cannot be "
    "compared, as after an alarm of an A/A control; repeatable.",
)
@json_option
def command(before: str, after: str, fail_on: tuple[str, ...], as_json: bool) -> None:
    """Compare the effects in two runs: a stored one (its folder or results.json) and a later one.

    `last` is the newest run with results. `compare last` compares it with the run of the same study
    before it, and a duel with the one of the same commands.

    \b
    tare compare last
    tare compare record/proxies-requests last
    tare compare record/proxies-requests last --fail-on any
    tare compare record/proxies-requests last --fail-on requests_per_second:5
    """
    from tare.report.comparison import compare, compared_outcomes

    limits = [_limit(text) for text in fail_on]
    earlier, later = _runs(before, after)
    found = compare(earlier, later)
    judged: list[Changed | ChangedSlope] = [*found.changes, *found.slopes]
    known = {each.outcome for each in judged} | compared_outcomes(earlier)
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
    if limits and found.alarms:
        for alarm in found.alarms:
            say(f"cannot be compared: {alarm}")
        say("make that run again; tare doctor says what disturbs this machine")
        sys.exit(REGRESSION)
    regressions = [
        change
        for change in judged
        for name, most in limits
        if name in ("any", change.outcome)
        and change.worse_by_pct > most
        # Without a percentage, what is equivalent is no regression.
        and (most or change.trend == "worse")
    ]
    for change in regressions:
        where = f"{change.scenario}, {change.variant}, {change.outcome}"
        say(f"regression: {where}: surely worse by {_amount(change)} or more")
    asked = {name for name, _ in limits}
    missing = [each for each in found.outcomes_lost if asked & {"any", each.outcome}]
    untold = [each for each in judged if asked & {"any", each.outcome} and _is_untold(each)]
    for change in untold:
        where = f"{change.scenario}, {change.variant}, {change.outcome}"
        say(f"cannot be compared: {where}: {change.why}")
    lost = limits and (found.lost or found.refused or missing or untold)
    sys.exit(REGRESSION if regressions or lost else 0)


def _is_untold(change: "Changed | ChangedSlope") -> bool:
    """Return true if a run lacks what it takes to call this worse: an interval, or the noise floor
    of a change for the worse.
    """
    from tare.model.comparison import Changed
    from tare.stats.change import NO_FLOOR, NO_INTERVAL

    if isinstance(change, Changed):
        grew = change.after_pct > change.before_pct
    else:
        grew = change.after > change.before
    is_worse = grew == (change.better == "lower")
    return change.why == NO_INTERVAL or (change.why == NO_FLOOR and is_worse)


def _amount(change: "Changed | ChangedSlope") -> str:
    """Return how much worse an outcome got: a fall by 99.6 % is a factor of 250, and not of 2."""
    from tare.stats.rounding import change_text, reach_text

    if change.better == "higher":
        return change_text(-change.worse_by_pct).removesuffix(" lower")
    return reach_text(change.worse_by_pct)


def _runs(before: str, after: str) -> "tuple[Results, Results]":
    """Return the two runs. Raises UnknownName where there is no such run, and NotARun."""
    from tare.report.comparison import stored

    def named(run: str) -> "Results":
        return stored(Path(run) if Path(run).is_file() else folder_of(run))

    if before != LAST:
        earlier = named(before)
        if after != LAST:
            return earlier, named(after)
    newest = stored_results(newest_first=True)
    last = next(newest, None)
    if last is None:
        raise UnknownName(f"there is no run with results in {paths.runs()}")
    warn_of_folder(last.run)
    if before != LAST:
        return earlier, last
    if after != LAST:
        return last, named(after)
    for each in newest:
        # A copy of a run is the same run.
        if each.run != last.run and _question(each) == _question(last):
            return each, last
    alike = " of the same commands" if last.experiment == EXPERIMENT else ""
    raise UnknownName(f"there is no run of {last.experiment}/{last.study}{alike} before {last.run}")


def _question(run: "Results") -> tuple[object, ...]:
    """Return what two runs have in common that ask the same: the study and, where the servers are
    the user's own, their commands.
    """
    commands = run.environment.get("titles") if run.experiment == EXPERIMENT else None
    return run.experiment, run.study, commands


def _limit(text: str) -> tuple[str, float]:
    found = _LIMIT.fullmatch(text)
    if found is None:
        expected = "expected any or OUTCOME[:PERCENT]"
        raise click.BadParameter(f"{text!r}: {expected}", param_hint="--fail-on")
    return found[1], float(found[2] or 0)


def _show(found: "RunComparison") -> None:
    from tare.report.comparison import NOTE
    from tare.report.layout import wrapped

    out = console()

    def said(text: str) -> None:
        for line in wrapped(text, out.width):
            click.echo(line)

    said(f"{found.experiment}: {found.before}, then {found.after}")
    for text in found.alarms:
        said(f"DO NOT BELIEVE THIS: {text}")
    for heading, grid in _grids(found):
        click.echo(f"\n{heading}")
        for line in grid.lines(out.width):
            out.print(line, soft_wrap=True, highlight=False)
    for text in found.refused:
        said(f"NOT COMPARED: {text}")
    for text in found.lost:
        said(f"LOST: {text}")
    for each in found.outcomes_lost:
        said(
            f"LOST: {each.scenario}, {each.variant}, {each.outcome}: not compared in {found.after}"
        )
    click.echo()
    for run in found.unfinished:
        said(f"Not finished: {run}")
    for text in found.differences:
        said(f"Not the same: {text}")
    said(NOTE)


def _grids(found: "RunComparison") -> "Iterator[tuple[str, Grid]]":
    """Yield a table of effects for each scenario, then one of slopes, each with its heading."""
    from tare.report.numbers import factor, figure, relative

    for scenario in dict.fromkeys(item.scenario for item in found.changes):
        own = [item for item in found.changes if item.scenario == scenario]
        before = [relative(item.before_pct, item.before_ci_pct) for item in own]
        after = [relative(item.after_pct, item.after_ci_pct) for item in own]
        change = [relative(item.change_pct, item.change_ci_pct) for item in own]
        yield scenario, _grid(own, before, after, change)
    for scenario in dict.fromkeys(item.scenario for item in found.slopes):
        slopes = [item for item in found.slopes if item.scenario == scenario]
        yield (
            f"{scenario}, slopes beside the baseline's",
            _grid(
                slopes,
                [f"{figure(item.before, item.before_ci)} {item.unit}" for item in slopes],
                [f"{figure(item.after, item.after_ci)} {item.unit}" for item in slopes],
                ["" if item.change_pct is None else factor(item.change_pct) for item in slopes],
            ),
        )


def _grid(
    judged: "Sequence[Changed | ChangedSlope]",
    before: list[str],
    after: list[str],
    change: list[str],
) -> "Grid":
    from tare.report.layout import Column, Grid

    trends = [item.trend for item in judged]
    return Grid(
        [
            Column([item.variant for item in judged], "variant"),
            Column([item.outcome for item in judged], "outcome"),
            Column(before, "before", drop=1),
            Column(after, "after", drop=2),
            Column(change, "change"),
            Column(trends, styles=[_STYLES[trend] for trend in trends]),
        ]
    )
