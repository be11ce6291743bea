"""`tare gate`: may this change go in? For CI."""

import json
import re
import sys
from typing import Any

import click

from tare.cli.output import print_json, say
from tare.cli.own_servers import prepare
from tare.cli.server_options import Asked, options

_REGRESSION = 3
_LIMIT = re.compile(r"\s*(\w+)\s*>\s*(\d+(?:\.\d+)?)\s*%?\s*")
_FORMATS = ("text", "json", "markdown", "junit", "github")
_MARKS = {"fail": "❌", "pass": "✅", "cannot-tell": "❔"}


@click.command()
@options
@click.option(
    "--fail-on",
    multiple=True,
    metavar="'OUTCOME > N%'",
    help="How much worse an outcome may get; without it 'cpu_us_per_request > 2%'.",
)
@click.option("--format", "form", type=click.Choice(_FORMATS), default="text", show_default=True)
def command(fail_on: tuple[str, ...], form: str, **given: Any) -> None:
    """Compare servers as tare duel does; exit with 3 if one is surely worse than --fail-on allows.

    It never fails for noise: where it cannot tell, it says so and exits with 0. It ends as soon as
    every limited outcome is surely beyond its limit, or surely within.

    \b
    tare gate './old --port {port}' './new --port {port}' --fail-on 'cpu_us_per_request > 2%'
    tare gate --against main --build 'make' './server --port {port}' --within 5m
    """
    from tare.cli.running import execute, written
    from tare.report import junit
    from tare.report.gate import rulings

    limits = dict(_limit(text) for text in fail_on or ("cpu_us_per_request > 2%",))
    store = prepare(Asked(**given), limits)
    execute(store)
    results = written(store.folder)
    if broken := [
        f"{name}: {each.reason}"
        for scenario in results.scenarios
        for name, each in scenario.variants.items()
        if each.status != "measured"
    ]:
        for line in broken:
            say(line)
        sys.exit(1)
    found, words = rulings(results, limits), results.answers
    failed = any(each.decision == "fail" for each in found)
    match form:
        case "json":
            print_json(
                {
                    "failed": failed,
                    "rulings": [each.model_dump() for each in found],
                    "sentences": words,
                    "run": store.folder.name,
                }
            )
        case "junit":
            click.echo(junit.document(found, words, store.folder.name))
        case "github":
            for each in found:
                kind = "error" if each.decision == "fail" else "notice"
                click.echo(f"::{kind} title=tare gate::{each.variant}: {each.text}")
        case "markdown":
            click.echo("| | server | outcome |\n|---|---|---|")
            for each in found:
                click.echo(f"| {_MARKS[each.decision]} | {each.variant} | {each.text} |")
            click.echo("\n" + "\n\n".join(words))
        case _:
            for each in found:
                click.echo(f"{each.decision}: {each.variant}: {each.text}")
            for line in words:
                click.echo(line)
    say(f"report: {store.folder / 'report.html'}")
    sys.exit(_REGRESSION if failed else 0)


def _limit(text: str) -> tuple[str, float]:
    found = _LIMIT.fullmatch(text)
    if found is None:
        expected = "expected OUTCOME > N%, such as 'cpu_us_per_request > 2%'"
        raise click.BadParameter(f"{json.dumps(text)}: {expected}", param_hint="--fail-on")
    return found[1], float(found[2])
