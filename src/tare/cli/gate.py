"""`tare gate`: may this change go in? For CI."""

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from tare.cli.encodings import in_ascii
from tare.cli.exit_codes import REGRESSION
from tare.cli.output import say
from tare.cli.own_servers import prepare
from tare.cli.server_options import Asked, options, servers
from tare.cli.unwritable import unwritable
from tare.lab.errors import TareError
from tare.report.errors import ReportError
from tare.report.gate_formats import ERRORS, FORMATS

_FILES = ("json", "junit", "markdown")
"""Formats whose output goes to a file or another program, so that a person may not read it."""
_LIMIT = re.compile(r"\s*(\w+)\s*>\s*(\d+(?:\.\d+)?)\s*%?\s*")


@click.command()
@servers("COMMAND...")
@options
@click.option(
    "--fail-on",
    multiple=True,
    metavar="'OUTCOME > N%'",
    help="How much worse an outcome may get; without it CPU time per request by 2 %, in ordinary "
    "rounds and in all.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(list(FORMATS)),
    default="text",
    show_default=True,
    help="The form of the decision.",
)
def command(fail_on: tuple[str, ...], form: str, **given: Any) -> None:
    """Compare servers as tare duel does; exit with 3 if one is surely worse than --fail-on allows.

    Where it cannot tell, it says so and exits with 0. So it does after an alarm of the A/A control,
    which it says first. Noise alone fails a limit in at most one of forty cases, and more seldom
    the higher the limit is. The gate ends as soon as each server is surely beyond a limit or surely
    within all of them. After an error it decides nothing, says so in the --format too, and exits
    with 1.

    \b
    tare gate './old --port {port}' './new --port {port}' --fail-on 'cpu_us_per_request > 2%'
    tare gate --against main --build 'make' './server --port {port}' --within 5m
    """
    from tare.cli.running import execute, resumable, written
    from tare.report.gate import DEFAULT_LIMITS, alarm, rulings, unmeasured

    limits = _limits(fail_on) or DEFAULT_LIMITS
    run: str | None = None
    try:
        store = prepare(Asked(**given), limits)
        run = store.folder.name
        with resumable(store):
            execute(store)
        results = written(store.folder)
        if broken := unmeasured(results):
            raise TareError("\n".join(broken))
    except (TareError, ReportError, OSError) as error:
        if form in ERRORS:
            said = unwritable(error) if isinstance(error, OSError) else str(error)
            # Where this cannot be written, the error itself must still be said.
            with suppress(OSError):
                click.echo(ERRORS[form](said, run))
        raise
    found, doubt = rulings(results, limits), alarm(results)
    failed = any(each.decision == "fail" for each in found)
    text = FORMATS[form](found, results.answers, store.folder.name, doubt)
    click.echo(in_ascii(text) if form == "json" else text)
    if doubt and form in _FILES:
        say(doubt)
    say(f"report: {store.folder / 'report.html'}")
    sys.exit(REGRESSION if failed else 0)


def _limits(texts: Sequence[str]) -> dict[str, float]:
    """Return each limited outcome with its limit. Raises click.BadParameter."""
    limits: dict[str, float] = {}
    for outcome, percent in map(_limit, texts):
        if outcome in limits:
            found = f"found two limits of {outcome}, expected one"
            raise click.BadParameter(found, param_hint="--fail-on")
        limits[outcome] = percent
    return limits


def _limit(text: str) -> tuple[str, float]:
    found = _LIMIT.fullmatch(text)
    if found is None:
        expected = "expected OUTCOME > N%, such as 'cpu_us_per_request > 2%'"
        raise click.BadParameter(f"{json.dumps(text)}: {expected}", param_hint="--fail-on")
    return found[1], float(found[2])
