"""Benches that make no load, and the coordinator that deals them blocks.

    python tests/system/simulated_benches.py benches HOME     # all benches of HOME/benches.toml
    python tests/system/simulated_benches.py coordinator HOME

Workers, coordinator, keys and settings are the project's own. Only what a block measures is made
up: a block sleeps, and its outcomes follow from the plan's seed. Answers are like those of
record/filters-requests: its plan, its trials' lines, its histograms, and two logs of 2 KB a trial.
"""

import ctypes
import io
import json
import math
import os
import random
import signal
import sys
import tarfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import zstandard

from tare.lab import paths
from tare.lab.errors import Interrupted
from tare.lab.run import subject
from tare.lab.run.benches import coordinator, file, keys, worker
from tare.lab.run.store import Store, write_json
from tare.model.base import Record
from tare.model.benches import Benches, BlockAsked
from tare.model.study import Blocks
from tare.model.trial import Plan, PlannedTrial, Trial, parse_trials
from tare.report.folder import LATENCIES, TRIALS_PACKED
from tare.stats.blocks import planned_trials
from tare.stats.stopping import Stop

RECORD = Path(__file__).parents[2] / "record" / "filters-requests"
BENCHES, EVENTS, NOTES, GO = "benches.toml", "events.jsonl", "notes.jsonl", "go"
_LOGS, _LOG_BYTES = ("sut.log", "load.log"), 2048
_NOISE = 0.02
"""Standard deviation of a simulated trial's log outcomes."""
_LOOK_S = 0.05
_STEP_S = 1.0
_DEATH = 1
"""PR_SET_PDEATHSIG."""


class Simulation(Record):
    """The parts of a simulation that its processes share: HOME/simulation.json."""

    count: int
    """Of benches."""
    blocks: int
    block_s: float
    """Mean time that a block sleeps."""
    spread: float = 0.5
    """Share of that by which blocks differ from it."""
    seed: int = 1

    def plan(self) -> Plan:
        """Return the record's plan with so many blocks, without the variants that it lacks."""
        plan = Plan.model_validate_json((RECORD / "plan.json").read_text())
        known = {trial.variant for trial in recorded() if trial.status == "valid"}
        own = {"min": self.blocks, "max": self.blocks}
        change = {
            "run": "simulated",
            "seed": self.seed,
            "variants": [name for name in plan.variants if name in known],
            "blocks": Blocks.model_validate(plan.blocks.model_dump() | own),
        }
        return plan.model_copy(update=change)

    def seconds(self, block: int) -> float:
        """Return how long a block sleeps."""
        drawn = random.Random(f"{self.seed} {block}").uniform(-self.spread, self.spread)
        return self.block_s * (1 + drawn)


def prepare(home: Path, simulation: Simulation, port: int) -> Benches:
    """Write all that the processes of a simulation read, with fresh keys."""
    places = "".join(
        f'[benches.bench-{number}]\naddress = "127.0.0.1"\n' for number in range(simulation.count)
    )
    head = f'schema = 1\n[coordinator]\naddress = "127.0.0.1"\nport = {port}\nwait_s = 600\n'
    (home / BENCHES).write_text(head + places)
    write_json(home / "simulation.json", simulation)
    (home / EVENTS).touch()
    (home / NOTES).touch()
    benches = file.read(home / BENCHES)
    keys.make(benches)
    return benches


def recorded() -> list[Trial]:
    """Return the trials of the record."""
    with (RECORD / TRIALS_PACKED).open("rb") as stream:
        return parse_trials(zstandard.ZstdDecompressor().stream_reader(stream).read())[0]


def note(path: Path, **what: Any) -> None:
    """Append a line, whole even if others append, too."""
    line = json.dumps({"t": time.monotonic(), **what}) + "\n"
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


class Bench:
    """A bench whose blocks are made up."""

    def __init__(self, home: Path, simulation: Simulation, name: str) -> None:
        self._home, self._simulation, self._name = home, simulation, name

    @cached_property
    def _like(self) -> dict[str, Trial]:
        """Label → a trial of the record; the A/A control's sides are one trial."""
        found: dict[str, Trial] = {}
        for trial in recorded():
            if trial.status == "valid":
                found.setdefault(trial.label, trial)
        return found | {"control": found["none@control"]}

    @cached_property
    def _histograms(self) -> Mapping[str, bytes]:
        """Variant → the file of a trial's histograms."""
        (scenario,) = json.loads((RECORD / LATENCIES).read_text()).values()
        return {
            name: json.dumps({"latency": encoded, "service": encoded}).encode()
            for name, encoded in scenario.items()
        }

    @cached_property
    def _environment(self) -> bytes:
        return (RECORD / "environment.json").read_bytes()

    @cached_property
    def _log(self) -> bytes:
        draw = random.Random(self._name)
        text = "".join(f"{draw.random():.6f} request {n}\n" for n in range(_LOG_BYTES))
        return text.encode()[:_LOG_BYTES]

    def made(
        self, asked: BlockAsked, folder: Path, name: str, goes_on: Callable[[], bool]
    ) -> bytes:
        """Sleep as long as the block takes, and return its answer packed, as `worker.made` does."""
        plan, block = asked.plan, asked.block
        tell = partial(note, self._home / EVENTS, bench=self._name, block=block)
        tell(what="begins")
        while not (self._home / GO).exists() and goes_on():
            time.sleep(_LOOK_S)
        end = time.monotonic() + self._simulation.seconds(block)
        trials = [
            self._trial(plan, side)
            for planned in planned_trials(plan, block)
            for side in (planned, planned.side(plan.baseline_of(planned.label)))
        ]
        packed = self._packed(plan, trials)
        while (left := end - time.monotonic()) > 0 and goes_on():
            time.sleep(min(left, _STEP_S))
        tell(what="ends", bytes=len(packed))
        return packed

    def _trial(self, plan: Plan, planned: PlannedTrial) -> Trial:
        """Return a trial whose outcomes follow from the plan's seed."""
        like = self._like[planned.label]
        draw = random.Random(f"{plan.seed} {planned.id}")
        outcomes = {
            name: value and value * math.exp(draw.gauss(0, _NOISE))
            for name, value in like.outcomes.items()
        }
        own = {"outcomes": outcomes, "bench": None, "attempt": 1, "started": plan.created}
        return like.model_copy(update=planned.model_dump() | own)

    def _packed(self, plan: Plan, trials: Sequence[Trial]) -> bytes:
        """Return what `parcel.pack` would, without writing a thousand files a second first."""
        stream = io.BytesIO()
        with tarfile.open(fileobj=stream, mode="w") as archive:

            def add(name: str, content: bytes) -> None:
                head = tarfile.TarInfo(name)
                head.size = len(content)
                archive.addfile(head, io.BytesIO(content))

            add("trials.jsonl", b"".join(t.model_dump_json().encode() + b"\n" for t in trials))
            add("environment.json", self._environment)
            for trial in trials:
                own = self._histograms.get(trial.variant, self._histograms[plan.baseline])
                add(f"histograms/{trial.id}.json", own)
                for name in _LOGS:
                    add(f"logs/{trial.id}/{name}", self._log)
        return zstandard.compress(stream.getvalue())


def benches(home: Path) -> None:
    """Be all benches: each is a process, forked from this one to start sooner."""
    simulation = Simulation.model_validate_json((home / "simulation.json").read_text())
    found = file.read(home / BENCHES)
    names = list(found.benches)
    if len(names) == 1:
        _bench(home, found, simulation, names[0])
    for name in names:
        if os.fork() == 0:
            _bench(home, found, simulation, name)
    while True:
        try:
            os.wait()
        except ChildProcessError:
            return


def _bench(home: Path, found: Benches, simulation: Simulation, name: str) -> None:
    """Serve until a signal; never return."""
    _end_with_parent()
    own = Bench(home, simulation, name)
    worker.made = own.made  # type: ignore[assignment]

    def say(text: str) -> None:
        note(home / EVENTS, bench=name, what="says", text=text, pid=os.getpid())

    try:
        worker.serve(found, name, say)
    except Interrupted:
        os._exit(0)
    except BaseException as error:
        say(f"ended: {error!r}")
    os._exit(1)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_DEATH, signal.SIGKILL)


class Notes:
    """A dealer that notes what happens, and the CPU time that this process has used by then."""

    def __init__(self, home: Path) -> None:
        self._file = home / NOTES
        self._count = -1

    def _note(self, **what: Any) -> None:
        note(self._file, cpu_s=time.process_time(), **what)

    def remark(self, text: str) -> None:
        self._note(what="remark", text=text)

    def benches(self, count: int) -> None:
        if count != self._count:
            self._count = count
            self._note(what="benches", count=count)

    def begins(self, planned: PlannedTrial, attempt: int) -> None:
        pass

    def progress(self, event: Mapping[str, Any]) -> None:
        pass

    def ends(self, trial: Trial) -> None:
        pass

    def block(self, done: int, decision: Stop) -> None:
        self._note(what="block", done=done)


def coordinate(home: Path) -> None:
    """Deal the simulation's blocks; the run is in the folder `simulated` of TARE_RUNS."""
    simulation = Simulation.model_validate_json((home / "simulation.json").read_text())
    plan = simulation.plan()
    store = Store.create(paths.runs(), plan)
    loaded = subject.planned(plan)
    found = file.read(home / BENCHES)
    coordinator.Coordinator(loaded, plan, store, found, Notes(home)).execute()


if __name__ == "__main__":
    _end_with_parent()
    {"benches": benches, "coordinator": coordinate}[sys.argv[1]](Path(sys.argv[2]))
