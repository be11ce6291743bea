"""`tare tail`: what the slowest requests of your own server waited for."""

from typing import TYPE_CHECKING, Any

import click

from tare.cli import error_answers
from tare.cli.output import console, json_option, print_json, say
from tare.cli.own_servers import refuse_untold, servers_of
from tare.cli.ranges import Amount
from tare.cli.server_options import Asked, asking, servers

if TYPE_CHECKING:
    from tare.lab.run.tails import Looked


@click.command()
@servers("COMMAND|URL...")
@asking
@click.option(
    "--rate",
    type=Amount(),
    help="Requests per second by the clock; needed, unless --replay has the times.",
)
@click.option(
    "--duration",
    type=Amount(),
    default=5.0,
    show_default=True,
    metavar="S",
    help="Seconds of load.",
)
@click.option(
    "--slowest",
    type=Amount(0.25),
    default=0.001,
    show_default=True,
    metavar="SHARE",
    help="The share of requests that count as the slowest; ten at least.",
)
@json_option
def command(slowest: float, as_json: bool, **given: Any) -> None:
    """Say what the slowest requests of the server that COMMAND starts waited for.

    The load comes by the clock, at --rate or as --replay has it. Meanwhile tare records when the
    server's tasks run, wait, read and write, and which process has their CPU. It then divides the
    time of the slowest requests, from the intended send to the answer, among its causes, beside
    that of ordinary requests. Several servers are observed one by one. URLs name servers that run
    already. It needs root, and HTTP/1.1, or HTTP/2 without TLS.

    \b
    tare tail './server --port {port}' --rate 5000
    tare tail http://127.0.0.1:8001/ --rate 2000 --duration 20
    tare tail './server --port {port}' --rate 5000 --slowest 0.01 --json
    """
    from tare.lab.run import facing
    from tare.lab.run.tails import tails
    from tare.report.tail import grid

    asked = Asked(**given)
    if asked.rate is None and asked.replay is None:
        raise click.UsageError("expected --rate: how slow the slowest are depends on it")
    described = servers_of(asked, compared=False)
    refuse_untold(described, asked)
    faced = facing.face(described, say, saturated=None, any_body=False)
    for remark in (*faced.remarks, *error_answers.remarks(faced.servers)):
        say(remark)
    looked = []
    for each in tails(faced.servers, slowest, say):
        looked.append(each)
        if as_json:
            continue
        out = console()
        if len(asked.commands) > 1:
            out.print(each.name, style="bold", highlight=False)
        for line in _said(each):
            out.print(line, markup=False, highlight=False)
        for row in grid(each.tail).lines(out.width):
            out.print(row, soft_wrap=True, highlight=False)
    if as_json:
        print_json(
            [
                {
                    "server": each.name,
                    "sentences": _said(each),
                    "tail": each.tail.model_dump(),
                }
                for each in looked
            ]
        )


def _said(looked: "Looked") -> list[str]:
    from tare.report.tail import sentences

    result = looked.result
    return sentences(looked.tail, result.outcomes, result.errors, result.times_dropped)
