"""`tare duel`: two of your own servers, side by side, and a verdict."""

import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import click
from pydantic import ValidationError

from tare.cli.output import json_option, say
from tare.cli.span import Span
from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.project.servers.answer import Difference

_NAMES = ("old", "new", "third", "fourth", "fifth", "sixth")
_URL = "http://127.0.0.1:{port}/"


@click.command()
@click.argument("commands", nargs=-1, required=True, metavar="COMMAND COMMAND...")
@click.option("--name", "names", multiple=True, help="A server's name, in the order of commands.")
@click.option("--get", "path", metavar="PATH", help="The path that is asked for; / without it.")
@click.option("--url", metavar="URL", help=f"Scheme and path; without it {_URL}")
@click.option("-p", "--protocol", type=click.Choice(["h1", "h2", "h3"]), help="Without it h1.")
@click.option("-X", "--method", default="GET", show_default=True)
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME: VALUE")
@click.option("--body-file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("-c", "--connections", type=click.IntRange(1), default=16, show_default=True)
@click.option(
    "--rate",
    type=click.FloatRange(0, min_open=True),
    help="Requests per second; without it 40 % of what the slower server can answer.",
)
@click.option("--saturated", is_flag=True, help="As fast as they answer, instead of by the clock.")
@click.option("--within", "within_s", type=Span(), default="30s", show_default=True, metavar="T")
@click.option("--duels", type=click.IntRange(1), help="Exactly so many, whatever they show.")
@click.option("--duration", type=click.FloatRange(0, min_open=True), default=1.0, metavar="S")
@click.option("--margin", type=click.FloatRange(0, min_open=True), default=1.0, metavar="PERCENT")
@click.option(
    "--allow",
    multiple=True,
    metavar="status|body|header:NAME",
    help="A difference between the answers that is meant.",
)
@click.option(
    "--ready-within",
    "ready_s",
    type=Span(),
    default="30s",
    show_default=True,
    metavar="T",
    help="How long a server may take until it accepts connections.",
)
@click.option("--env", "environment", multiple=True, metavar="NAME=VALUE")
@click.option("--seed", type=int, help="Seed of order, ports, layout and arrivals.")
@json_option
def command(
    commands: tuple[str, ...],
    names: tuple[str, ...],
    path: str | None,
    url: str | None,
    protocol: str | None,
    method: str,
    headers: tuple[str, ...],
    body_file: Path | None,
    connections: int,
    rate: float | None,
    saturated: bool,
    within_s: float,
    duels: int | None,
    duration: float,
    margin: float,
    allow: tuple[str, ...],
    ready_s: float,
    environment: tuple[str, ...],
    seed: int | None,
    as_json: bool,
) -> None:
    """Compare servers that the COMMANDs start, the first is the baseline.

    {port} in a command is filled in with a free port, {folder} with an empty folder, {host} and
    {cpus} likewise. All servers are alive at once, and the load alternates between two of them
    every two milliseconds. Their answers must be the same. It ends as soon as every verdict is
    there, or after --within.

    \b
    tare duel './old --port {port}' './new --port {port}'
    tare duel 'python3 -m http.server {port}' 'python3 -m http.server {port}' --get /README.md
    tare duel './a {port}' './b {port}' --name a --name b --rate 5000 --within 2m
    """
    from tare.cli.running import go_on
    from tare.lab.project import servers as own
    from tare.lab.run import facing, planning, subject
    from tare.lab.run.store import Store
    from tare.model.servers import Load, Request, Server, Servers

    if len(commands) < 2:
        raise click.UsageError("found one command, expected two or more, each in quotes")
    if saturated and rate is not None:
        raise click.UsageError("--saturated and --rate: expected one of them")
    given = [*names, *_NAMES[len(names) :]][: len(commands)]
    where, asked = own.working_folder(), urlsplit(url or _URL)
    if asked.scheme not in ("http", "https"):
        raise click.BadParameter(f"{url!r}: expected http:// or https://", param_hint="--url")
    query = f"?{asked.query}" if asked.query else ""
    try:
        servers = Servers(
            servers=[
                Server(name=name, command=text, folder=where)
                for name, text in zip(given, commands, strict=True)
            ],
            request=Request.model_validate(
                {
                    "scheme": asked.scheme,
                    "protocol": protocol or "h1",
                    "path": path or (asked.path or "/") + query,
                    "method": method,
                    "headers": dict(_pairs(headers, ":", "--header")),
                    "body_file": str(body_file.resolve()) if body_file else None,
                }
            ),
            load=Load(rate=rate, connections=connections, duration_s=duration),
            environment=dict(_pairs(environment, "=", "--env")),
            ready_s=ready_s,
            margin_pct=margin,
        )
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        found = f"{where}: found {problem['input']!r}; {problem['msg']}"
        raise click.UsageError(found) from error
    faced = facing.face(servers, say, saturated=saturated, any_body="body" in allow)
    for remark in faced.remarks:
        say(remark)
    _refuse([(name, each) for name, each in faced.differences if each.what not in allow], given[0])
    loaded = own.loaded(faced.servers)
    plan = planning.make(
        loaded,
        quick=False,
        variants=None,
        scenarios=[],
        blocks=duels,
        seed=seed,
        overrides={},
        until="narrow" if duels else "resolved",
        within_s=None if duels else within_s,
    )
    store = Store.create(paths.runs(), plan)
    subject.keep(store, faced.servers)
    sys.exit(0 if go_on(store, as_json=as_json) else 1)


def _pairs(texts: tuple[str, ...], mark: str, option: str) -> list[tuple[str, str]]:
    """Split each text at the mark. Raises click.BadParameter."""
    found = []
    for text in texts:
        name, between, value = text.partition(mark)
        if not between or not name.strip():
            raise click.BadParameter(f"{text!r}: expected NAME{mark}VALUE", param_hint=option)
        found.append((name.strip(), value.strip()))
    return found


def _refuse(found: Sequence[tuple[str, Difference]], first: str) -> None:
    """Say how answers differ. Raises TareError if they do."""
    if not found:
        return
    lines = [f"{first} and {name}: {each.text}" for name, each in found]
    words = " ".join(f"--allow {word}" for word in dict.fromkeys(each.what for _, each in found))
    raise TareError(
        "the servers' answers differ, so that they do not do the same work:\n  "
        + "\n  ".join(lines)
        + f"\nif that is meant, add: {words}"
    )
