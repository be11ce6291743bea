"""Find known changes in servers that tare did not write, and find nothing where nothing changed.

Each pair is one server, as it comes in a package, and the same with one change. `tare duel`
compares the two, and the server with itself. The table says what was found; it is also written to
the file that --table names.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.project import build
from tare.report.numbers import relative

HERE = Path(__file__).parent
HEAD = (
    "server",
    "change",
    "CPU per request, ordinary rounds",
    "all rounds",
    "median latency",
    "p99 latency",
)
OUTCOMES = (
    "ordinary_cpu_us_per_request",
    "cpu_us_per_request",
    "latency_p50_us",
    "latency_p99_us",
)
_REST = ("",) * (len(OUTCOMES) - 1)


class Lacking(Exception):
    """A server that cannot be had here; the message says why."""


@dataclass(frozen=True)
class Pair:
    """A server, and its change."""

    server: str
    change: str
    commands: Callable[[], tuple[str, str]]
    """Return the command without the change and with it. Raises Lacking."""
    options: tuple[str, ...] = ()


def main() -> int:
    """Make the duels; return the exit code: 1 if one of them could not be made."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", nargs="*", metavar="PAIR", help=f"of {', '.join(PAIRS)}")
    parser.add_argument("--within", default="75s", help="time for each duel (default 75s)")
    parser.add_argument("--duels", help="make exactly so many of each instead")
    parser.add_argument("--table", type=Path, default=Path("known-changes.md"))
    asked = parser.parse_args()
    if unknown := set(asked.pairs) - set(PAIRS):
        parser.error(f"found {', '.join(sorted(unknown))}, expected some of {', '.join(PAIRS)}")
    length = ["--duels", asked.duels, "--duration", "0.3"] if asked.duels else []
    length = length or ["--within", asked.within]
    rows, failed = [], False
    for name in asked.pairs or PAIRS:
        for row, made in _rows(PAIRS[name], length):
            print(" | ".join(row), flush=True)
            rows.append(row)
            failed |= not made
    asked.table.write_text(_table(rows))
    print(f"table: {asked.table.absolute()}")
    return 1 if failed else 0


def _rows(pair: Pair, length: list[str]) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Yield the rows of the change and of no change, and whether each was measured."""
    try:
        old, new = pair.commands()
    except Lacking as lacking:
        yield (pair.server, pair.change, f"not run: {lacking}", *_REST), True
        return
    for change, second in ((pair.change, new), ("none", old)):
        try:
            found = _duel(old, second, [*pair.options, *length])
        except Lacking as failure:
            yield (pair.server, change, f"failed: {failure}", *_REST), False
        else:
            yield (pair.server, change, *map(_told, found)), True


def _duel(old: str, new: str, options: list[str]) -> list[dict[str, Any]]:
    """Return the outcomes of `new` against `old`. Raises Lacking with the last lines."""
    argv = [sys.executable, "-m", "tare", "duel", old, new, "--json", *options]
    done = subprocess.run(argv, cwd=HERE, capture_output=True, text=True, check=False)
    try:
        return _outcomes(json.loads(done.stdout))
    except (ValueError, KeyError) as error:
        raise Lacking(" ".join(done.stderr.split()[-40:])) from error


def _outcomes(results: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a duel's outcomes. Raises Lacking if its A/A control says not to believe them."""
    (scenario,) = results["scenarios"]
    if any(floor["verdict"] in ("costs", "saves") for floor in scenario["noise_floor"].values()):
        raise Lacking(results["answers"][0])
    outcomes = scenario["variants"]["new"]["outcomes"]
    return [outcomes[name] for name in OUTCOMES]


def _told(outcome: dict[str, Any]) -> str:
    """Return an outcome's verdict, with its effect and interval if there is one."""
    effect, interval = outcome["effect_pct"], outcome["ci_pct"]
    if effect is None or interval is None:
        return outcome["verdict"] or "not measured"
    return f"{outcome['verdict']}: {relative(effect, (interval[0], interval[1]))}"


def _table(rows: Iterable[tuple[str, ...]]) -> str:
    lines = [HEAD, ("---",) * len(HEAD), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _program(name: str, package: str) -> str:
    if path := shutil.which(name):
        return path
    raise Lacking(f"{name} is not installed: apt-get install {package}")


def _component(name: str, path: str) -> str:
    try:
        return str(build.component(name, print) / path)
    except TareError as error:
        raise Lacking(str(error)) from error


def _nginx() -> tuple[str, str]:
    nginx = _component("nginx-debian", "sbin/nginx")
    command = f"{nginx} -p {{folder}} -e stderr -c {{file:{HERE}/NAME.conf}}"
    return command.replace("NAME", "nginx"), command.replace("NAME", "nginx-gzip")


def _caddy() -> tuple[str, str]:
    caddy = _component("caddy", "bin/caddy")
    command = f"{caddy} run --adapter caddyfile --config {{file:{HERE}/NAME}}"
    return command.replace("NAME", "Caddyfile"), command.replace("NAME", "Caddyfile-log")


def _node() -> tuple[str, str]:
    command = f"{_program('node', 'nodejs')} {HERE}/node_server.js {{port}}"
    return command, f"{command} allocate"


def _python() -> tuple[str, str]:
    command = f"{_program('python3', 'python3')} {HERE}/python_server.py {{port}}"
    return command, f"{command} header"


def _granian() -> tuple[str, str]:
    packages = paths.cache() / "known-changes"
    command = (
        f"PYTHONPATH={packages}:{HERE} {sys.executable} -m granian --interface wsgi "
        "--host {host} --port {port} --no-ws --no-access-log --log-level warning granian_app:app"
    )
    if not packages.is_dir():
        script = paths.ROOT / "components" / "install-wheel.sh"
        paths.cache().mkdir(parents=True, exist_ok=True)
        fresh = tempfile.mkdtemp(prefix="known-changes-", dir=paths.cache())
        done = subprocess.run(
            ["sh", str(script), str(HERE / "requirement.txt")],
            env={"PATH": "/usr/bin:/bin", "TARE_OUT": fresh},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            shutil.rmtree(fresh)
            raise Lacking(f"pip cannot install Granian: {' '.join(done.stderr.split()[-20:])}")
        Path(fresh).rename(packages)
    return command, f"SLEEP_US=100 {command}"


def _allowed(*what: str) -> tuple[str, ...]:
    return tuple(word for name in what for word in ("--allow", name))


_COMPRESSED = ("body", *(f"header:{name}" for name in ("content-encoding", "content-length")))
_COMPRESSED += tuple(f"header:{name}" for name in ("transfer-encoding", "etag", "accept-ranges"))
PAIRS = {
    "header": Pair("Python http.server", "one more header", _python, _allowed("header:x-more")),
    "gzip": Pair(
        "nginx",
        "gzip on",
        _nginx,
        (
            *("--setup", "seq 1000 > {folder}/page.txt", "--get", "/page.txt"),
            *("-H", "Accept-Encoding: gzip", *_allowed(*_COMPRESSED, "header:last-modified")),
        ),
    ),
    "log": Pair("Caddy (Go)", "log on", _caddy),
    "sleep": Pair("Granian (Rust)", "a sleep of 100 µs", _granian),
    "allocation": Pair("Node", "an allocation of 64 KB", _node),
}

if __name__ == "__main__":
    sys.exit(main())
