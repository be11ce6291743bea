"""What a coordinator of many benches costs, and how soon it notices a lost one.

    python tests/system/scale.py cost [--benches 1,10,50,200] [--repeats 6] [--blocks 200]
    python tests/system/scale.py lost [--benches 10,50,200] [--times 6]
    python tests/system/scale.py speed [--benches 2] [--repeats 6] [--blocks 24]
    python tests/system/scale.py long [--benches 10] [--blocks 3000]

Benches are processes of this machine that make no load (simulated_benches.py), over loopback. They
and the run have their files in TMPDIR: in memory, file systems cost nothing. Every figure is the
middle of the repetitions with its 95 % interval (tare.stats.location).
"""

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from simulated_benches import EVENTS, GO, NOTES, Simulation, prepare

from tare.lab.paths import ROOT
from tare.report import results
from tare.report.folder import read
from tare.stats.location import locate

_PROGRAM = Path(__file__).with_name("simulated_benches.py")
_PATIENCE_S = 600.0
_LOOK_S = 0.05
_MB = 1 << 20
_ENDLESS = 1_000_000

Lines = list[dict[str, Any]]


@dataclass(frozen=True)
class Running:
    """Benches and their coordinator in a folder."""

    home: Path
    benches: "subprocess.Popen[bytes]"
    coordinator: "subprocess.Popen[bytes]"

    def events(self) -> Lines:
        """Return what benches noted so far."""
        return lines(self.home / EVENTS)

    def notes(self) -> Lines:
        """Return what the coordinator noted so far."""
        return lines(self.home / NOTES)

    def go(self) -> None:
        """Let the blocks begin that wait for it."""
        (self.home / GO).touch()

    def coordinator_s(self) -> float:
        """Return the CPU time that the coordinator has used."""
        spent = psutil.Process(self.coordinator.pid).cpu_times()
        return float(spent.user + spent.system)

    def end(self) -> None:
        """Wait until all blocks are stored."""
        code = self.coordinator.wait(_PATIENCE_S)
        assert code == 0, f"the coordinator ended with {code}"


def lines(file: Path) -> Lines:
    """Return the whole lines of a file."""
    content = file.read_bytes()
    return [json.loads(line) for line in content[: content.rfind(b"\n") + 1].splitlines()]


def wait_for(holds: Callable[[], bool]) -> None:
    """Return when `holds` is true. Raises TimeoutError."""
    give_up = time.monotonic() + _PATIENCE_S
    while not holds():
        if time.monotonic() > give_up:
            raise TimeoutError("waited in vain")
        time.sleep(_LOOK_S)


@contextmanager
def running(simulation: Simulation) -> Iterator[Running]:
    """Start benches, then their coordinator; return when all have joined, and end all of it."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    home = Path(tempfile.mkdtemp(prefix="tare-scale-"))
    prepare(home, simulation, port)
    environment = os.environ | {
        "TARE_ROOT": str(ROOT),
        "TARE_RUNS": str(home / "runs"),
        "TARE_CACHE": str(home / "cache"),
        "OPENBLAS_NUM_THREADS": "1",
    }

    def started(role: str) -> "subprocess.Popen[bytes]":
        # Each has CPU time of its own, however many benches there are, where Linux groups processes
        # by session.
        return subprocess.Popen(
            [sys.executable, _PROGRAM, role, home], env=environment, start_new_session=True
        )

    benches = started("benches")
    try:
        wait_for(lambda: len(pids(lines(home / EVENTS))) == simulation.count)
        coordinator = started("coordinator")
        try:
            found = Running(home, benches, coordinator)
            wait_for(
                lambda: (
                    coordinator.poll() is not None
                    or joined(found.notes(), simulation.count) is not None
                )
            )
            assert coordinator.poll() is None, "the coordinator ended before all had joined"
            yield found
        finally:
            coordinator.kill()
            coordinator.wait()
    finally:
        for child in psutil.Process(benches.pid).children():
            child.kill()
        benches.kill()
        benches.wait()
        shutil.rmtree(home)


def pids(events: Lines) -> dict[str, int]:
    """Return bench → the process that it is."""
    return {each["bench"]: each["pid"] for each in events if each["what"] == "says"}


def joined(notes: Lines, count: int) -> dict[str, Any] | None:
    """Return the note of the moment at which so many benches were there."""
    return next((each for each in notes if each.get("count") == count), None)


def cost(simulation: Simulation, idle_s: float = 10.0) -> dict[str, float]:
    """Return the coordinator's CPU times and memory for one run."""
    count = simulation.count
    with running(simulation) as found:
        notes = found.notes()
        first, all_there = notes[0], joined(notes, count)
        assert all_there is not None
        wait_for(lambda: sum(each["what"] == "begins" for each in found.events()) >= count)
        process, bench = (
            psutil.Process(found.coordinator.pid),
            psutil.Process(next(iter(pids(found.events()).values()))),
        )
        time.sleep(1.0)
        before = found.coordinator_s()
        time.sleep(idle_s)
        idle = (found.coordinator_s() - before) / idle_s
        memory, own = process.memory_info().rss, bench.memory_full_info()
        files = process.num_fds()
        found.go()
        found.end()
        blocks = {each["done"]: each for each in found.notes() if each["what"] == "block"}
        # Before, blocks that were dealt earlier are stored; after, none is dealt any more.
        start, end = blocks[count], blocks[simulation.blocks - count]
        made = end["done"] - start["done"]
        took_s = end["t"] - start["t"]
        answers = [each["bytes"] for each in found.events() if each["what"] == "ends"]
    spent = end["cpu_s"] - start["cpu_s"]
    return {
        "join_s": all_there["t"] - first["t"],
        "join_cpu_ms": 1000 * (all_there["cpu_s"] - first["cpu_s"]) / count,
        "idle_ms_per_s": 1000 * idle,
        "block_cpu_ms": 1000 * spent / made,
        "beside_idle_ms": 1000 * (spent - idle * took_s) / made,
        "blocks_per_s": made / took_s,
        "coordinator_mb": memory / _MB,
        "files": files,
        "bench_mb": own.rss / _MB,
        "bench_own_mb": own.uss / _MB,
        "answer_kb": sum(answers) / len(answers) / 1024,
    }


def long(simulation: Simulation, parts: int = 6) -> Lines:
    """Return the CPU time of a block and the memory, as the number of stored blocks grows."""
    at: Lines = []
    with running(simulation) as found:
        process = psutil.Process(found.coordinator.pid)
        found.go()
        size = simulation.blocks // parts
        for part in range(1, parts + 1):
            wait_for(lambda part=part: _done(found) >= part * size - 1)  # type: ignore[misc]
            rss = process.memory_info().rss / _MB if process.is_running() else float("nan")
            at.append({"rss_mb": rss})
        found.end()
        blocks = {each["done"]: each["cpu_s"] for each in found.notes() if each["what"] == "block"}
    for part, row in enumerate(at):
        from_, to = max(1, part * size), (part + 1) * size
        row |= {"to": to, "block_cpu_ms": 1000 * (blocks[to] - blocks[from_]) / (to - from_)}
    return at


def _done(found: Running) -> int:
    return max((each["done"] for each in found.notes() if each["what"] == "block"), default=0)


def lost(simulation: Simulation, number: signal.Signals, times: int) -> list[dict[str, float]]:
    """Return when benches were noticed that got a signal in the middle of a block, and when their
    block began again.
    """
    with running(simulation) as found:
        found.go()
        seen: list[dict[str, float]] = []
        gone: dict[str, tuple[int, float]] = {}
        for _ in range(times):
            name, block = busy(found, set(gone), simulation)
            os.kill(pids(found.events())[name], number)
            gone[name] = block, time.monotonic()
            time.sleep(1.0)
        for name, (block, at) in gone.items():
            wait_for(lambda name=name: gone_at(found, name) is not None)  # type: ignore[misc]
            wait_for(lambda at=at, block=block: again(found, block, at) is not None)  # type: ignore[misc]
            noticed, made = gone_at(found, name), again(found, block, at)
            assert noticed is not None and made is not None
            seen.append({"noticed_s": noticed - at, "again_s": made - at})
        return seen


def busy(found: Running, without: set[str], simulation: Simulation) -> tuple[str, int]:
    """Return a bench that has begun a block a moment ago, and the block."""
    while True:
        events = found.events()
        latest = {each["bench"]: each for each in events if each["what"] in ("begins", "ends")}
        for name, last in latest.items():
            young = time.monotonic() - last["t"] < simulation.block_s / 4
            if last["what"] == "begins" and young and name not in without:
                return name, last["block"]
        time.sleep(_LOOK_S)


def gone_at(found: Running, name: str) -> float | None:
    """Return when the coordinator said that a bench is gone."""
    start = f"bench {name} is gone"
    told = (each for each in found.notes() if each.get("text", "").startswith(start))
    return next((each["t"] for each in told), None)


def again(found: Running, block: int, after: float) -> float | None:
    """Return when a block began for the first time after a moment."""
    begun = (each for each in found.events() if each["what"] == "begins" and each["t"] > after)
    return next((each["t"] for each in begun if each["block"] == block), None)


def speed(simulation: Simulation) -> tuple[float, Mapping[str, Any]]:
    """Return blocks a minute from when all have joined, and what the run answers."""
    with running(simulation) as found:
        start = time.monotonic()
        found.go()
        found.end()
        end = found.notes()[-1]["t"]
        answer = results.make(read(found.home / "runs" / "simulated"))
    return 60 * simulation.blocks / (end - start), {
        each.name: each.model_dump() for each in answer.scenarios
    }


def shown(rows: Sequence[Mapping[str, float]]) -> str:
    """Return each figure with its interval, or with its extremes where there are too few."""
    told = []
    for key in rows[0]:
        found = locate(np.array([row[key] for row in rows]))
        values = [row[key] for row in rows]
        low, high = (
            (found.interval.low, found.interval.high)
            if found.interval
            else (min(values), max(values))
        )
        about = "" if found.interval else f" range of {found.n}"
        told.append(f"  {key:16} {found.estimate:9.3f} [{low:.3f}, {high:.3f}]{about}")
    return "\n".join(told)


def main() -> None:
    """Measure what the command line asks for, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["cost", "lost", "speed", "long"])
    parser.add_argument("--benches", default="")
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--blocks", type=int, default=200)
    parser.add_argument("--rate", type=float, default=10.0, help="blocks a second of all benches")
    parser.add_argument("--times", type=int, default=6)
    asked = parser.parse_args()
    default = {"cost": "1,10,50,200", "lost": "10,50,200", "speed": "2", "long": "10"}[asked.what]
    for count in map(int, (asked.benches or default).split(",")):
        print(f"{asked.what}, {count} benches, load {os.getloadavg()[0]:.1f}", flush=True)
        block_s = count / asked.rate
        if asked.what == "cost":
            blocks = 2 * count + asked.blocks
            each = Simulation(count=count, blocks=blocks, block_s=block_s)
            print(shown([cost(each) for _ in range(asked.repeats)]), flush=True)
        elif asked.what == "long":
            each = Simulation(count=count, blocks=asked.blocks, block_s=block_s)
            for row in long(each):
                print("  " + ", ".join(f"{key} {value:.1f}" for key, value in row.items()))
        elif asked.what == "lost":
            for number in (signal.SIGKILL, signal.SIGSTOP):
                each = Simulation(count=count, blocks=_ENDLESS, block_s=max(block_s, 2.0))
                print(f"  {number.name}\n{shown(lost(each, number, asked.times))}", flush=True)
        else:
            print(shown([faster(count, asked.blocks) for _ in range(asked.repeats)]), flush=True)


def faster(count: int, blocks: int, block_s: float = 1.0) -> dict[str, float]:
    """Return how much sooner so many benches make the blocks of one, with the same answer."""
    one, several = (
        speed(Simulation(count=number, blocks=blocks, block_s=block_s)) for number in (1, count)
    )
    assert one[1] == several[1], "the verdicts differ"
    return {"alone_per_min": one[0], "per_min": several[0], "times": several[0] / one[0]}


if __name__ == "__main__":
    main()
