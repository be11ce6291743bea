"""The part that `tare duel` and `tare gate` share: servers, and the plan of their duels."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import click
from pydantic import ValidationError

from tare.cli import error_answers, hosts_option, protocols, running_servers, sockets
from tare.cli.output import say
from tare.cli.server_options import READY_S, Asked
from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.project import servers as own
from tare.lab.project import worktrees
from tare.lab.project.servers import commands as own_commands
from tare.lab.project.servers import requests
from tare.lab.project.servers.answer import Difference
from tare.lab.run import facing, planning, subject
from tare.lab.run.store import Store
from tare.lab.trial.tail import untold
from tare.model.fields import NAME
from tare.model.servers import Body, Headers, Load, Replay, Request, Server, Servers
from tare.model.trial import clashing

_NAMES = ("old", "new", "third", "fourth", "fifth", "sixth")
_WITHIN_S = {False: 30.0, True: 90.0}
"""Seconds of duels, by whether each has more than one window."""
_DIFFERENCES = 20
"""Differences that are shown."""
_NOT_ALONE = (
    "the servers run already: nothing keeps other processes off their CPUs, so intervals are "
    "wider; and they are not restarted between duels, so one start of each is compared"
)


def prepare(asked: Asked, limits: Mapping[str, float] | None = None) -> Store:
    """Build, look at the servers' answers, and store the plan of their duels.

    Raises click.UsageError, and TareError for servers that do not start or do not answer alike.
    """
    if asked.saturated and asked.rate is not None:
        raise click.UsageError("--saturated and --rate: expected one of them")
    if asked.duels is not None and asked.within_s is not None:
        raise click.UsageError("--duels and --within: expected one of them")
    if limits is not None and running_servers.are_urls(asked.commands):
        raise click.UsageError(
            "found URLs, expected commands: if servers run already, an unlucky start looks like a "
            "slow program, so a gate would be unreliable; use tare duel to measure them"
        )
    # Before anything is built: what else a rate leaves out is known later.
    _refuse_limits(limits or {}, own.judgeable(by_clock=not asked.saturated), asked)
    allowed = _allowed(asked.allow)
    hosts = hosts_option.read(asked.hosts)
    if hosts is not None:
        _refuse_files(asked)
    servers = servers_of(asked)
    if asked.tail:
        if asked.saturated:
            raise click.UsageError(
                "--tail and --saturated: expected a rate: how slow the slowest are depends on it"
            )
        refuse_untold(servers, asked)
    if servers.running:
        say(_NOT_ALONE)
    faced = facing.face(
        servers, say, saturated=asked.saturated, any_body="body" in allowed, hosts=hosts
    )
    for remark in faced.remarks:
        say(remark)
    _refuse(
        [(name, each) for name, each in faced.differences if each.what not in allowed],
        servers.servers[0].name,
    )
    for remark in error_answers.remarks(faced.servers):
        say(remark)
    loaded = own.loaded(faced.servers)
    _refuse_limits(limits or {}, loaded.study.judged, asked)
    plan = planning.make(
        loaded,
        quick=False,
        variants=None,
        scenarios=[],
        blocks=asked.duels,
        seed=asked.seed,
        overrides={},
        until="narrow" if asked.duels else "resolved",
        within_s=None if asked.duels else asked.within_s or _WITHIN_S[asked.why or asked.tail],
        limits=limits,
        why=asked.why,
        tail=asked.tail,
    )
    store = Store.create(paths.runs(), plan)
    subject.keep(store, faced.servers)
    if hosts is not None:
        store.keep_hosts(hosts)
    return store


def servers_of(asked: Asked, *, compared: bool = True) -> Servers:
    """Return the servers that the options describe. Raises click.UsageError."""
    running = running_servers.are_urls(asked.commands)
    if running:
        _refuse_starts(asked)
    if asked.requests_file is not None and asked.path is not None:
        raise click.UsageError("--requests and --get: expected one of them")
    _refuse_beside_log(asked)
    if asked.in_order and asked.requests_file is None:
        raise click.UsageError("--in-order: expected --requests beside it")
    mix = requests.read(asked.requests_file) if asked.requests_file is not None else []
    if asked.in_order and any(each.weight != 1 for each in mix):
        raise click.UsageError("--in-order: found weights, expected only one of the two")
    commands, folders, versions = _sides(asked, 2 if compared else 1)
    socket, url = _socket(asked.url)
    if not running:
        mark = "{port}" if socket is None else "{folder}"
        _refuse_fixed(commands, [asked.setup or "", *asked.environment], mark)
    names = _names(asked.names, len(commands), _NAMES if compared else ())
    protocol, target = protocols.spoken(
        asked.protocol, running_servers.common(commands) if running else url
    )
    if socket is not None and protocol == "h3":
        raise click.UsageError(f"{asked.url}: h3 has no Unix sockets; take another --protocol")
    protocols.refuse_options(protocol, _given(asked))
    _check_backend(asked)
    if asked.path is not None and not asked.path.startswith("/"):
        raise click.UsageError(f"--get: found {asked.path!r}, expected a path that begins with /")
    query = f"?{target.query}" if target.query else ""
    request = {
        "scheme": target.scheme,
        "socket": socket,
        "protocol": protocol,
        "path": asked.path or (target.path or "/") + query,
        "method": asked.method,
        "headers": _headers(asked.headers),
        "body": _body(asked),
    }
    processes = running_servers.found(commands, protocol) if running else [None] * len(commands)
    environment = dict(_pairs(asked.environment, "=", "--env"))
    try:
        return Servers(
            servers=[
                Server(name=name, command=text, folder=folder, version=version, running=process)
                for name, text, folder, version, process in zip(
                    names, commands, folders, versions, processes, strict=True
                )
            ],
            request=Request.model_validate(request),
            mix=mix,
            replay=_replay(asked),
            in_order=asked.in_order,
            load=Load(
                rate=asked.rate,
                connections=asked.connections,
                depth=asked.depth,
                duration_s=asked.duration,
            ),
            environment=environment,
            backend=asked.backend,
            setup=asked.setup,
            ready_s=asked.ready_s,
            margin_pct=asked.margin,
        )
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        found = f"{where}: found {problem['input']!r}; {problem['msg']}"
        raise click.UsageError(found) from error


def refuse_untold(servers: Servers, asked: Asked) -> None:
    """Refuse requests that the look at the slowest cannot tell apart. Raises click.UsageError."""
    request = servers.request
    if found := untold(request.protocol, request.scheme, asked.depth):
        setting, expected = found
        raise click.UsageError(f"--{setting}: {expected}")
    if request.socket is not None:
        raise click.UsageError("--url: expected a port, by which connections are recognised")


def _refuse_beside_log(asked: Asked) -> None:
    """Refuse what makes no sense with a log, or without one. Raises click.UsageError."""
    if asked.replay is None:
        if asked.log_format is not None or asked.speed is not None:
            raise click.UsageError("--log-format and --speed: expected --replay beside them")
        return
    own = {"--get", "--method", "--body", "--body-file", "--requests"} & _given(asked)
    own |= {"--size"} if asked.size is not None else set()
    own |= {"--rate"} if asked.rate is not None else set()
    if own:
        raise click.UsageError(f"{min(own)}: the log of --replay has its own; leave it out")
    if asked.saturated and asked.speed is not None:
        raise click.UsageError("--speed and --saturated: expected one of them")


def _replay(asked: Asked) -> Replay | None:
    if asked.replay is None:
        return None
    return Replay(
        file=str(asked.replay.resolve()), format=asked.log_format, speed=asked.speed or 1.0
    )


def _check_backend(asked: Asked) -> None:
    """Refuse a backend that no server can know of, and one that is not there. Raises
    click.UsageError.
    """
    texts = [*asked.commands, asked.setup or ""]
    named = any("{backend}" in text for text in texts)
    if named and not asked.backend:
        raise click.UsageError("{backend}: expected --backend beside it")
    if asked.backend and not named and not own_commands.files(*texts):
        raise click.UsageError(
            "--backend: found no {backend} in a command, expected one there, in --setup, or in a "
            "file that a command names as {file:PATH}"
        )


def _given(asked: Asked) -> set[str]:
    """Return the options about requests that were given."""
    values = {
        "--get": asked.path,
        "--method": asked.method if asked.method != "GET" else None,
        "--header": asked.headers,
        "--body": asked.body,
        "--body-file": asked.body_file,
        "--requests": asked.requests_file,
        "--replay": asked.replay,
    }
    return {name for name, value in values.items() if value}


def _body(asked: Asked) -> Body | None:
    """Return the body of the options. Raises click.UsageError for several."""
    if [asked.body, asked.body_file, asked.size].count(None) < 2:
        raise click.UsageError("--body, --body-file and --size: expected one of them")
    if asked.body_file is not None:
        content: dict[Literal["base64", "file"], str] = {"file": str(asked.body_file.resolve())}
        return content
    if asked.size is not None:
        made: dict[Literal["size"], int] = {"size": asked.size}
        return made
    return asked.body


def _names(given: Sequence[str], count: int, usual: Sequence[str]) -> list[str]:
    """Return the servers' names: those given, then the usual ones, then by number."""
    if len(given) > count:
        raise click.UsageError(f"--name: found {len(given)} names, expected {count} or fewer")
    numbered = ["server"] if count == 1 else [f"server-{number}" for number in range(1, count + 1)]
    names = [*given, *[*usual, *numbered[len(usual) :]][len(given) : count]]
    if odd := [name for name in given if not re.fullmatch(NAME, name)]:
        raise click.UsageError(
            f"--name: found {odd[0]!r}, expected lower-case letters, digits and hyphens, with "
            "a letter or digit first"
        )
    if taken := clashing(names):
        raise click.UsageError(f"--name: found {taken!r}, which tare itself calls a trial")
    if len(set(names)) < len(names):
        raise click.UsageError(f"--name: found {', '.join(names)}, expected names that differ")
    return names


def _socket(url: str | None) -> tuple[str | None, str | None]:
    """Return the Unix socket of a URL, if it has one, and the URL as if it had a port."""
    return sockets.split(url) if url is not None and sockets.is_socket(url) else (None, url)


def _refuse_fixed(commands: Sequence[str], others: Sequence[str], mark: str) -> None:
    """Refuse a command that cannot know its port, or its folder, which may stand in a file that is
    filled in. Raises click.UsageError.
    """
    gives = "a free port" if mark == "{port}" else "a folder, in which its socket is"
    for command in commands:
        if not any(mark in text or "{file:" in text for text in (command, *others)):
            raise click.UsageError(
                f"found {command!r}, expected {mark} in it: tare gives each server {gives}"
            )


def _refuse_starts(asked: Asked) -> None:
    """Refuse options about servers that tare starts. Raises click.UsageError."""
    given = {
        "--against": asked.against,
        "--backend": asked.backend,
        "--build": asked.build,
        "--env": asked.environment,
        "--ready-within": asked.ready_s if asked.ready_s != READY_S else None,
        "--setup": asked.setup,
        "--url": asked.url,
    }
    _refuse_given(given, "the servers run already, expected commands")


def _refuse_files(asked: Asked) -> None:
    """Refuse what only this machine has. Raises click.UsageError."""
    given = {
        "--against": asked.against,
        "--body-file": asked.body_file,
        "--replay": asked.replay,
        "--requests": asked.requests_file,
        "--tail": asked.tail,
        "--why": asked.why,
    }
    _refuse_given(given, "it is of this machine alone; leave it or --hosts out")
    if asked.url and sockets.is_socket(asked.url):
        raise click.UsageError("--url: a Unix socket is of one machine; leave it or --hosts out")


def _sides(asked: Asked, fewest: int) -> tuple[list[str], list[str], list[str]]:
    """Return each side's command, the folder that it runs in, and its version."""
    here, commands = own.working_folder(), list(asked.commands)
    if (asked.against is None) != (asked.build is None):
        raise click.UsageError("--against and --build: expected both, or none of them")
    if asked.against is None:
        if len(commands) < fewest:
            raise click.UsageError("found one command, expected two or more, each in quotes")
        return commands, [here] * len(commands), ["as given"] * len(commands)
    if len(commands) != 1:
        raise click.UsageError("--against: found several commands, expected one for both refs")
    assert asked.build is not None
    built = worktrees.both(Path(here), asked.against, asked.build, say)
    return commands * 2, [str(each.folder) for each in built], [each.commit for each in built]


def _allowed(words: Sequence[str]) -> set[str]:
    """Return the differences that are allowed, names of headers in lower case. Raises
    click.BadParameter.
    """
    for word in words:
        if not re.fullmatch(r"status|body|header:[^\s:]+", word):
            expected = "expected status, body or header:NAME"
            raise click.BadParameter(f"{word!r}: {expected}", param_hint="--allow")
    return {word.lower() for word in words}


def _pairs(texts: tuple[str, ...], mark: str, option: str) -> list[tuple[str, str]]:
    """Split each text at the mark. Raises click.BadParameter."""
    found = []
    for text in texts:
        name, between, value = text.partition(mark)
        if not between or not name.strip():
            raise click.BadParameter(f"{text!r}: expected NAME{mark}VALUE", param_hint=option)
        found.append((name.strip(), value))
    return found


def _headers(texts: tuple[str, ...]) -> Headers:
    """Return the headers, one that was given several times with all its values in order."""
    found: dict[str, list[str]] = {}
    written: dict[str, str] = {}
    for name, value in _pairs(texts, ":", "--header"):
        found.setdefault(written.setdefault(name.lower(), name), []).append(value.strip())
    return {name: own[0] if len(own) == 1 else own for name, own in found.items()}


def _refuse(found: Sequence[tuple[str, Difference]], first: str) -> None:
    """Say how answers differ. Raises TareError if they do."""
    if not found:
        return
    lines = [f"{first} and {name}: {each.text}" for name, each in found[:_DIFFERENCES]]
    if len(found) > _DIFFERENCES:
        lines.append(f"and {len(found) - _DIFFERENCES} more")
    words = " ".join(f"--allow {word}" for word in dict.fromkeys(each.what for _, each in found))
    raise TareError(
        "the servers' answers differ, so they do not do the same work:\n  "
        + "\n  ".join(lines)
        + f"\nif you intend that, add: {words}"
    )


def _refuse_limits(limits: Iterable[str], known: Sequence[str], asked: Asked) -> None:
    """Raise click.UsageError for a limit of an outcome that these servers cannot have."""
    if unknown := [name for name in limits if name not in known]:
        found = f"--fail-on: found {unknown[0]!r}"
        if unknown[0] in own.judgeable(by_clock=True) and not asked.saturated:
            found += ", which is not measured at this rate"
        raise click.UsageError(f"{found}, expected one of {', '.join(known)}")


def _refuse_given(options: Mapping[str, object], why: str) -> None:
    if option := next((name for name, value in options.items() if value), None):
        raise click.UsageError(f"{option}: {why}")
