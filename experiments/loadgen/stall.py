"""Show what each generator reports of a stall of the server.

1000 requests a second for ten seconds; in the middle the server, nginx's only worker or one that
echoes, is stopped for one second. 1000 of 10,000 requests are due in the stall and wait for 500 ms
on average. The truth is a mean of 50, a p95 of 500, a p99 of 900 and a maximum of 1000 ms, and a
little more while the server then works through its queue. tare can have all of them in flight, so
they queue at the server; the others have 20 connections.
"""

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tare.lab.errors import TareError
from tare.lab.machine import host
from tare.lab.project import catalog
from tare.lab.project.preparation import prepare
from tare.lab.run import instances

RATE, CONNECTIONS, SECONDS, STALL_S = 1000, 20, 10, 1.0
SCRIPT = Path(__file__).parent / "variants/k6/script.js"
ECHO = Path(__file__).parent / "echo_server.py"
Found = dict[str, float]
"""mean, p95, p99 and max in milliseconds; what a generator does not tell is missing."""
TRUTH: Found = {"mean": 50.0, "p95": 500.0, "p99": 900.0, "max": 1000.0}


@dataclass(frozen=True)
class Generator:
    """The command of a generator, and the pattern of its closing output."""

    variant: str
    """Whose requirements it has, and among whose components its program may be."""
    argv: str
    """Templates: {url}, and {bin} for the programs of the component named like the variant."""
    parse: Callable[[str], Found]
    url: str = "http://{host}:{http}/ok"
    """Of what is loaded: nginx, or the echo server."""


def tare(output: str) -> Found:
    """From tare-load's result."""
    outcomes = json.loads(output)["outcomes"]
    return {name: outcomes[f"latency_{name}_us"] / 1e3 for name in TRUTH}


def wrk(output: str) -> Found:
    """From the line of its threads and that of --latency, which has no p95."""
    mean, most = _groups(r"Latency\s+(\S+)\s+\S+\s+(\S+)", output)
    return {"mean": _ms(mean), "p99": _ms(_groups(r"99%\s+(\S+)", output)[0]), "max": _ms(most)}


def h2load(output: str) -> Found:
    """From its log of requests: begin, status and microseconds."""
    lines = re.findall(r"^\d+\t\d+\t(\d+)$", output, re.MULTILINE)
    taken = sorted(int(line) / 1e3 for line in lines)
    cuts = statistics.quantiles(taken, n=100)
    return {"mean": statistics.fmean(taken), "p95": cuts[94], "p99": cuts[98], "max": taken[-1]}


def oha(output: str) -> Found:
    """From its JSON."""
    latency = json.loads(output)["metrics"]["latency_ms"]
    return {name: latency[name] for name in TRUTH}


def hey(output: str) -> Found:
    """From its summary."""
    lines = {"mean": "Average:", "p95": "95% in", "p99": "99% in", "max": "Slowest:"}
    return {
        name: float(_groups(rf"{line}\s+(\S+) secs", output)[0]) * 1e3
        for name, line in lines.items()
    }


def k6(output: str) -> Found:
    """From what script.js prints."""
    duration = json.loads(output)["http_req_duration"]
    names = {"mean": "avg", "p95": "p(95)", "p99": "p(99)", "max": "max"}
    return {name: duration[theirs] for name, theirs in names.items()}


TARE = f"{{bin}}/tare-load --rate {RATE} --arrivals even -d {SECONDS}s --json {{url}}"
DEEP = f"{TARE} -c {CONNECTIONS} -m {RATE // CONNECTIONS}"
HTTPS = "https://{host}:{https}/ok"
GENERATORS = {
    # Not pipelined: nginx leaves Nagle's algorithm on once answers have queued up.
    "tare": Generator("tare", f"{TARE} -c {RATE}", tare),
    "tare-tls": Generator("tare", DEEP, tare, HTTPS),
    "tare-h2": Generator("tare", f"{DEEP} -p h2", tare, HTTPS),
    "tare-h3": Generator("tare", f"{DEEP} -p h3", tare, HTTPS),
    "tare-echo": Generator("tare", DEEP, tare, "tcp://{host}:{echo}"),
    "oha-corrected": Generator(
        "oha",
        f"{{bin}}/oha --no-tui --output-format json -q {RATE} --latency-correction "
        f"-c {CONNECTIONS} -z {SECONDS}s {{url}}",
        oha,
    ),
    "oha": Generator(
        "oha",
        f"{{bin}}/oha --no-tui --output-format json -q {RATE} "
        f"-c {CONNECTIONS} -z {SECONDS}s {{url}}",
        oha,
    ),
    "h2load": Generator(
        "h2load",
        f"h2load --h1 --rps {RATE // CONNECTIONS} -c {CONNECTIONS} -D {SECONDS} "
        "--log-file=/dev/stdout {url}",
        h2load,
    ),
    "hey": Generator(
        "hey", f"hey -q {RATE // CONNECTIONS} -c {CONNECTIONS} -z {SECONDS}s {{url}}", hey
    ),
    "k6": Generator(
        "k6",
        "{bin}/k6 run --quiet --no-usage-report --address= --env URL={url} "
        f"--env RATE={RATE} --env VUS={CONNECTIONS} --env SECONDS={SECONDS} {SCRIPT}",
        k6,
    ),
    # A closed loop, as fast as it goes: it has no rate.
    "wrk": Generator("wrk", f"wrk --latency -t1 -c{CONNECTIONS} -d{SECONDS}s {{url}}", wrk),
}


def main() -> int:
    """Measure the generators named on the command line, or all; the exit code."""
    chosen = sys.argv[1:] or list(GENERATORS)
    if unknown := set(chosen) - set(GENERATORS):
        sys.exit(f"stall: no generator {', '.join(unknown)}; there are: {', '.join(GENERATORS)}")
    cpus = host.assign(host.by_core(), server=1, client=1)
    os.sched_setaffinity(0, cpus.server)
    loaded = catalog.load("loadgen")
    up = instances.up(instances.ready(loaded, loaded.experiment.baseline, {}, _progress))
    echo = subprocess.Popen([sys.executable, ECHO, up.host], stdout=subprocess.PIPE, text=True)
    os.sched_setaffinity(0, cpus.client)
    failed = False
    try:
        assert echo.stdout is not None
        ports = {"host": up.host, **up.port, "echo": int(echo.stdout.readline())}
        print(f"{'ms':14}" + "".join(f"{name:>9}" for name in TRUTH), flush=True)
        _print("the truth", TRUTH)
        for name in chosen:
            generator = GENERATORS[name]
            try:
                argv = _argv(loaded, generator, generator.url.format(**ports))
                output = run(argv, [*_children(up.roles["server"].pid), echo.pid])
                _print(name, generator.parse(output))
            except (TareError, ValueError, KeyError) as error:
                failed = True
                print(f"{name:14}  {error}", flush=True)
    finally:
        echo.kill()
        echo.wait()
        instances.down(up)
    return 1 if failed else 0


def _argv(loaded: catalog.Loaded, generator: Generator, url: str) -> list[str]:
    """The generator's command line. Raises TareError when it cannot be had."""
    prepared = prepare(loaded, [generator.variant], _progress)
    if why := prepared.why_not(generator.variant):
        raise TareError(why)
    components = prepared.built[generator.variant].components
    folder = components.get("load" if generator.variant == "tare" else generator.variant)
    return [part.format(bin=f"{folder}/bin", url=url) for part in generator.argv.split(" ")]


def run(argv: list[str], servers: list[int]) -> str:
    """Return a generator's report of one stall of the `servers`. Raises TareError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        # Files and no pipes: nobody reads meanwhile, and a full pipe would stop the generator.
        file, complaints = Path(folder, "output"), Path(folder, "complaints")
        with file.open("a") as stdout, complaints.open("a") as stderr:
            child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        try:
            time.sleep((SECONDS - STALL_S) / 2)
            _stall(servers)
            child.wait(SECONDS + 30)
        finally:
            child.kill()
            child.wait()
        if child.returncode != 0:
            last = complaints.read_text(errors="replace").strip()[-200:]
            raise TareError(f"ended with {child.returncode}: {last}")
        return file.read_text(errors="replace")


def _children(master: int) -> list[int]:
    return list(map(int, Path(f"/proc/{master}/task/{master}/children").read_text().split()))


def _stall(servers: list[int]) -> None:
    try:
        for server in servers:
            os.kill(server, signal.SIGSTOP)
        time.sleep(STALL_S)
    finally:
        for server in servers:
            os.kill(server, signal.SIGCONT)


def _print(name: str, found: Found) -> None:
    cells = (f"{found[column]:9.1f}" if column in found else f"{'–':>9}" for column in TRUTH)
    print(f"{name:14}" + "".join(cells), flush=True)


def _groups(pattern: str, output: str) -> tuple[str, ...]:
    """Return the matches of the pattern's groups. Raises ValueError if it does not match."""
    match = re.search(pattern, output)
    if match is None:
        raise ValueError(f"its output has no {pattern!r}")
    return match.groups()


def _ms(text: str) -> float:
    """`1.5s` → 1500.0. Raises ValueError."""
    number, unit = _groups(r"^([\d.]+)(us|ms|s|m)$", text)
    return float(number) * {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}[unit]


def _progress(line: str) -> None:
    print(f"stall: {line}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
