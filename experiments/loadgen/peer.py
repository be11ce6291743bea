"""Runs another load generator as an instrument: docs/FORMAT.md, "The instrument protocol".

An adapter, `instrument.py` in a variant's folder, says how its peer is called and how to read what
it prints at its end; `main` does the rest. Peers cannot tell when their warm-up ended: CPU time is
read over the window, the rate is that of the whole run, and both are steady by then.
"""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

_AFTER_S = 0.2
"""A peer goes on so long after the window, so that probes see a loaded server, and that an adapter
which wakes up late still finds it at work."""
_PATIENCE_S = 10.0
"""How much longer than told a peer may take to start, to round up seconds, and to print."""
KINDS = ("connect", "read", "write", "status", "body", "timeout")


class Unfit(Exception):
    """A spec that the peer cannot do."""


class Unreadable(Exception):
    """A closing output that does not say what it should."""


@dataclass(frozen=True)
class Spec:
    """The options of a call of a peer."""

    program: str
    protocol: str
    """h1 or h2."""
    url: str
    connections: int
    depth: int
    """Requests in flight on each connection."""
    threads: int
    warmup_s: float
    duration_s: float

    @property
    def run_s(self) -> float:
        """Seconds that the peer runs in all: warm-up, window, and a little more."""
        return round(self.warmup_s + self.duration_s + _AFTER_S, 6)

    @property
    def tls(self) -> bool:
        """True if the connections are encrypted."""
        return self.url.startswith("https:")


@dataclass(frozen=True)
class Answer:
    """A peer's report of its whole run."""

    rate: float
    """Whole answers a second, whatever their status."""
    answered: int
    """Whole answers, whatever their status; 0 when there was none."""
    errors: dict[str, int]
    """By kind, as in the protocol's `errors`; a kind that is not named did not occur."""
    protocol: str | None = None
    """What was negotiated, where the peer says so."""


Command = Callable[[Spec], list[str]]
Parse = Callable[[str], Answer]


def main(name: str, command: Command, parse: Parse) -> NoReturn:
    """Run the peer once, as the spec on the command line says, and exit.

    `command` may raise Unfit (exit code 2), `parse` Unreadable (1).
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", required=True, type=Path)
    try:
        spec = _read(parser.parse_args().spec)
        argv = command(spec)
    except (Unfit, OSError, ValueError) as error:
        _end(2, f"{name}: {error}")
    try:
        _run(name, argv, spec, parse)
    except (Unreadable, OSError) as error:
        _end(1, f"{name}: {error}")
    sys.exit(0)


def _read(file: Path) -> Spec:
    """Raises Unfit for a field that is missing or has another type."""
    fields = json.loads(file.read_text())
    found: dict[str, Any] = {}
    for field, kind in Spec.__annotations__.items():
        value = fields.get(field)
        if not isinstance(value, (int, float) if kind is float else kind):
            raise Unfit(f"spec: {field}: found {value!r}, expected {kind.__name__}")
        found[field] = value
    return Spec(**found)


def _run(name: str, argv: list[str], spec: Spec, parse: Parse) -> None:
    # A file and not a pipe: nobody reads while the window is open.
    with tempfile.TemporaryFile("w+") as output:
        begun = time.monotonic()
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=output)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            opened, closed = _window(child.pid, begun, spec)
            if not _ended(child.pid, closed + _AFTER_S + _PATIENCE_S):
                raise Unreadable(f"did not end within {spec.run_s + _PATIENCE_S:g} s")
        except _Early as early:
            raise Unreadable(f"ended {early}: {_tail(output)}") from None
        finally:
            child.kill()
            code = child.wait()
        if code != 0:
            raise Unreadable(f"ended with {code}: {_tail(output)}")
        output.seek(0)
        _emit("result", **result(name, spec, parse(output.read()), closed - opened))


class _Early(Exception):
    """The peer ended before its window did."""


def _window(pid: int, begun: float, spec: Spec) -> tuple[float, float]:
    """Sleep through warm-up and window, telling when; the window's begin and end."""
    edges: list[float] = []
    for event, length in (("measure", spec.warmup_s), ("measured", spec.duration_s)):
        if _ended(pid, (edges[-1] if edges else begun) + length):
            raise _Early(f"{time.monotonic() - begun:.1f} s after its start, before its window did")
        edges.append(time.monotonic())
        _emit(event, t_s=edges[-1] - begun)
    return edges[0], edges[1]


def _ended(pid: int, until: float) -> bool:
    """Sleep until then, or until the process has ended, which is True."""
    descriptor = os.pidfd_open(pid)
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(max(0.0, until - time.monotonic()) * 1e3))
    finally:
        os.close(descriptor)


def result(name: str, spec: Spec, answer: Answer, window_s: float) -> dict[str, object]:
    """The result of a run. Raises Unreadable when there was no answer, or another protocol.

    Errors are those of the whole run, since a peer does not say when they were. Latencies of peers
    are not from intended sends: they are left out.
    """
    errors = dict.fromkeys(KINDS, 0) | answer.errors
    if answer.answered == 0 and sum(errors.values()) == 0:
        raise Unreadable("it had no answer from the server, and tells of no error")
    if answer.protocol not in (None, spec.protocol):
        raise Unreadable(f"{answer.protocol} was negotiated, expected {spec.protocol}")
    wrong = errors["status"] + errors["body"]
    share = (answer.answered - wrong) / answer.answered if answer.answered else 0.0
    rate = answer.rate * share
    return {
        "schema": 1,
        "instrument": name,
        "protocol": spec.protocol,
        "window_s": window_s,
        "outcomes": {"requests": rate * window_s, "requests_per_second": rate},
        "errors": errors,
        "total": {"requests": answer.answered, "errors": errors},
    }


def _tail(output: IO[str]) -> str:
    output.seek(0)
    return " | ".join(output.read().strip().splitlines()[-4:])[-300:] or "it printed nothing"


def _emit(event: str, **fields: object) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def _end(code: int, sentence: str) -> NoReturn:
    print(sentence, file=sys.stderr)
    sys.exit(code)
