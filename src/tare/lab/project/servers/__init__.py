"""A user's own servers as an experiment, so that they are measured as all others are."""

import json
import os
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from tare.lab.project.catalog import Loaded, over
from tare.lab.project.servers import commands, requests
from tare.lab.project.servers.commands import raw
from tare.model.manifest import Experiment, Variant
from tare.model.role import Running
from tare.model.servers import (
    EXPERIMENT,
    REQUEST,
    START,
    Asked,
    Expected,
    Replay,
    Server,
    Servers,
)
from tare.model.study import Study

STUDY = "duel"
_ANSWERS = 8
"""A turn: with fewer on average there surely are not the ten that p99 in ordinary rounds takes."""


def loaded(servers: Servers) -> Loaded:
    """Return the experiment that these servers are."""
    first = servers.servers[0].name
    experiment = Experiment.model_validate(
        {
            "schema": 1,
            "title": "Your own servers",
            "question": "What does the change cost?",
            "baseline": first,
            "studies": [STUDY],
            "parameters": _parameters(servers),
            "outcomes": _OUTCOMES,
            "margin_pct": servers.margin_pct,
        }
    )
    judged = _judged(servers)
    study = Study.model_validate(
        {
            "schema": 1,
            "title": "Duel",
            "question": _question(servers),
            "judged": judged,
            "awaited": [name for name in judged if name not in _TAILS],
            "shown": [name for name in _OUTCOMES if name not in (*BY_CLOCK, *_SATURATED)],
            "pairing": "slices",
            "slices": servers.load.slices.model_dump(),
            "blocks": {"min": 8, "max": 40},
        }
    )
    variants = {each.name: _variant(servers, each) for each in servers.servers}
    return Loaded(
        EXPERIMENT, Path(__file__).parent, experiment, STUDY, over(experiment, study), variants
    )


def judgeable(*, by_clock: bool) -> list[str]:
    """Return the outcomes that any servers can be judged by, under a load of that kind."""
    return BY_CLOCK if by_clock else _SATURATED


def _judged(servers: Servers) -> list[str]:
    """Return the outcomes that are judged, without those that no duel of these servers can have, so
    that nothing waits for them.
    """
    load = servers.load
    lacking = set()
    if any(each.running for each in servers.servers):
        lacking.add("ordinary_cpu_us_per_request")  # their CPU time is known of whole windows only
    if load.rate is not None and load.rate * load.slices.length_ms < 1000 * _ANSWERS:
        lacking.add("ordinary_latency_p99_us")
    every = _SATURATED if load.rate is None else BY_CLOCK
    return [name for name in every if name not in lacking]


def _question(servers: Servers) -> str:
    names = [server.name for server in servers.servers]
    rate = servers.load.rate
    how = "as fast as they answer" if rate is None else f"at {rate:g} requests per second"
    return f"What does {' or '.join(names[1:])} cost against {names[0]}, {how}?"


def _parameters(servers: Servers) -> dict[str, Any]:
    load, request = servers.load, servers.request
    found: dict[str, Any] = {
        "protocol": request.protocol,
        REQUEST: requests.summary(servers),
        START: commands.summary(servers),
        "connections": load.connections,
        "duration_s": load.duration_s,
        "warmup_s": load.warmup_s,
    }
    if servers.backend:
        found["backend_cpus"] = 1
    if load.depth > 1:
        found["depth"] = load.depth
    return found | ({"rate": load.rate} if load.rate is not None else {})


def _variant(servers: Servers, server: Server) -> Variant:
    request = servers.request
    asked = requests.asked(servers)
    pace = "{{ {'kind': 'open', 'rate': rate} if rate is defined else {'kind': 'closed'} }}"
    spec: dict[str, Any] = {
        "schema": 1,
        "protocol": request.protocol,
        "url": _url(servers, server),
        "connections": "{{ connections }}",
        "depth": "{{ depth | default(1) }}",
        "cpus": "{{ cpus.client }}",
        "loop": pace,
        "warmup_s": "{{ warmup_s }}",
        "duration_s": "{{ duration_s }}",
        "seed": "{{ seed }}",
    }
    if servers.replay is not None:
        spec |= _sent(asked[0], None) | _replayed(servers.replay, server.expected)
        return _manifest(servers, server, spec)
    parts = [_sent(*each) for each in zip_longest(asked, server.expected)]
    if servers.mix:
        spec["mix_order"] = "turns" if servers.in_order else "random"
        spec["mix"] = [
            {"url": raw(each.url), "weight": each.weight, **part}
            for each, part in zip(servers.mix, parts, strict=True)
        ]
    else:
        spec |= parts[0]
    return _manifest(servers, server, spec)


def _replayed(replay: Replay, expected: Sequence[Expected]) -> dict[str, Any]:
    """Return what the spec has of a log; any answer is right whose status was seen before."""
    return {
        "replay": {
            "file": raw(replay.file),
            "format": replay.format,
            "speed": replay.speed,
            "expect_logged": False,
            "timed": "{{ rate is defined }}",
        },
        "loop": {"kind": "closed"},
        "expect": {"status": sorted({each.status for each in expected}) or [200]},
    }


def _manifest(servers: Servers, server: Server, spec: Mapping[str, Any]) -> Variant:
    running = server.running
    return Variant.model_validate(
        {
            "schema": 1,
            "title": server.command,
            "components": ["load", *(["origin"] if servers.backend else [])],
            "ports": [] if running else ["http", *(["backend"] if servers.backend else [])],
            "version": {"argv": ["echo", raw(server.version)], "pattern": "(.+)"},
            "roles": {"sut": {"running": running}} if running else _started(servers, server),
            "instrument": {"argv": ["{{ component.load }}/bin/tare-load"], "spec": spec},
            "properties": {"expected": json.dumps([each.model_dump() for each in server.expected])},
        }
    )


def _sent(asked: Asked, expected: Expected | None) -> dict[str, Any]:
    """Return a request, and its right answer, as the generator's spec has them."""
    found: dict[str, Any] = {
        "method": asked.method,
        "headers": {
            key: raw(value) if isinstance(value, str) else [raw(each) for each in value]
            for key, value in asked.headers.items()
        },
        "expect": {
            "status": [expected.status if expected else 200],
            "body_length": expected.body_length if expected else None,
        },
    }
    match asked.body:
        case str(text):
            found["body"] = raw(text)
        case {"size": int(size)}:
            found["body"] = {"size": size}
        case dict(parts):
            found["body"] = {key: raw(str(value)) for key, value in parts.items()}
    return found


def _started(servers: Servers, server: Server) -> dict[str, Any]:
    """Return the roles of a server: itself, and the origin that it may stand before."""
    own = {key: raw(value) for key, value in servers.environment.items()}
    request = servers.request
    kind, place = "udp" if request.protocol == "h3" else "tcp", "{{ port.http }}"
    if request.socket is not None:
        kind, place = "unix", request.socket.replace("{folder}", "{{ folder }}")
    sut = {
        "argv": ["/bin/sh", "-c", commands.shell(server, servers.setup, backend=servers.backend)],
        "env": {"HOME": raw(str(Path.home())), **own},
        "ports": ["http"],
        "ready": {kind: [place], "timeout_s": servers.ready_s},
    }
    return {**({"backend": _ORIGIN} if servers.backend else {}), "sut": sut}


def _url(servers: Servers, server: Server) -> str:
    """Return the URL, a template of the instrument's."""
    request, running = servers.request, server.running
    path = "/" if servers.mix else raw(request.path)
    if request.socket is not None:
        # Its folder is the server's, and not the instrument's.
        place = "unix:" + request.socket.replace("{folder}", "{{ site }}/sut")
        return place if request.scheme == "tcp" else f"{request.scheme}://{place}:{path}"
    place = "{{ address.http }}:{{ port.http }}" if running is None else _place(running)
    return f"{request.scheme}://{place}{'' if request.scheme == 'tcp' else path}"


def _place(running: Running) -> str:
    host = f"[{running.host}]" if ":" in running.host else running.host
    return f"{host}:{running.port}"


def working_folder() -> str:
    """The folder in which the user called tare, by the name that the shell has for it."""
    here, named = Path.cwd(), Path(os.environ.get("PWD", ""))
    # A program that starts tare elsewhere, or goes there itself, leaves PWD as it was.
    is_here = named.is_absolute() and named.is_dir() and named.samefile(here)
    return str(named if is_here else here)


_ORIGIN: dict[str, Any] = {
    "argv": [
        "{{ component.origin }}/bin/origin",
        "{{ host }}",
        "{{ port.backend }}",
        "{{ folder }}",
    ],
    "ports": ["backend"],
    "ready": {"tcp": ["{{ port.backend }}"]},
    "stop_signal": "QUIT",
    "cpus": "backend",
}
_CPU = ["ordinary_cpu_us_per_request", "cpu_us_per_request"]
_TAILS = ["ordinary_latency_p99_us", "latency_p99_us"]
BY_CLOCK = [*_CPU, "latency_p50_us", *_TAILS]
"""Outcomes that are judged by the clock, where these servers can have them."""
_SATURATED = [*_CPU, "requests_per_second"]
_OUTCOMES: dict[str, Any] = {
    "ordinary_cpu_us_per_request": {
        "title": "Server CPU per request in ordinary rounds",
        "unit": "µs",
        "better": "lower",
        "value": "role.sut.ordinary_cpu_us",
        "per": "instrument.requests",
    },
    "cpu_us_per_request": {
        "title": "Server CPU per request",
        "unit": "µs",
        "better": "lower",
        "value": "role.sut.cpu_us",
        "per": "instrument.requests",
    },
    "latency_p50_us": {
        "title": "Median latency",
        "unit": "µs",
        "better": "lower",
        "value": "instrument.latency_p50_us",
    },
    "ordinary_latency_p99_us": {
        "title": "p99 latency in ordinary rounds",
        "unit": "µs",
        "better": "lower",
        "value": "instrument.ordinary_latency_p99_us",
    },
    "latency_p99_us": {
        "title": "p99 latency",
        "unit": "µs",
        "better": "lower",
        "value": "instrument.latency_p99_us",
    },
    "requests_per_second": {
        "title": "Requests per second",
        "unit": "1/s",
        "better": "higher",
        "value": "instrument.requests_per_second",
    },
    "cpu_elsewhere": {
        "title": "Share of the server's CPU time that is used in the other's turns",
        "unit": "%",
        "better": "lower",
        "value": "instrument.cpu_elsewhere_share",
        "times": 100,
    },
    "memory": {
        "title": "Server memory",
        "unit": "MB",
        "better": "lower",
        "value": "role.sut.memory_bytes",
        "times": 1e-6,
    },
    "switches": {
        "title": "Context switches per request",
        "unit": "1",
        "better": "lower",
        "value": "role.sut.switches_voluntary + role.sut.switches_involuntary",
        "per": "instrument.requests",
    },
}
