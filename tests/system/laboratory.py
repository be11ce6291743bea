"""The laboratory as its users run it, on the toy project, with its runs and builds in a folder."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.lab.machine import cgroup, network
from tare.lab.machine.proc import ended
from tare.lab.trial.bench import tag_of
from tare.model.trial import Plan, Trial, parse_trials

PROJECT = Path(__file__).with_name("project")
PATIENCE_S = 30


@dataclass(frozen=True)
class Laboratory:
    """Commands, and what they leave in `home`."""

    home: Path

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tare", *arguments],
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def tare(self, *arguments: str, code: int = 0) -> str:
        """Standard output of a command that ends with `code`; errors are told in sentences."""
        with self.start(*arguments) as command:
            out, err = command.communicate(timeout=4 * PATIENCE_S)
        assert "Traceback" not in err + out, err
        assert command.returncode == code, f"exit code {command.returncode}: {out}{err}"
        return out if code == 0 else out + err

    def run_folder(self) -> Path:
        """The folder of the only run."""
        (plan,) = self.runs.glob("*/plan.json")
        return plan.parent

    def plan(self) -> Plan:
        return Plan.model_validate_json((self.run_folder() / "plan.json").read_text())

    def trials(self) -> list[Trial]:
        file = self.run_folder() / "trials.jsonl"
        return parse_trials(file.read_bytes())[0] if file.exists() else []

    def tags(self) -> list[str]:
        """What the names of all that its runs make on the machine begin with."""
        plans = self.runs.glob("*/plan.json")
        return [tag_of(plan.parent.name, plan.parent) for plan in plans]

    def results(self) -> dict[str, Any]:
        return dict(json.loads((self.run_folder() / "results.json").read_text()))

    def has_trials(self, count: int = 1) -> Callable[[], bool]:
        """Whether the only run has stored so many trials."""
        return lambda: bool(list(self.runs.glob("*/plan.json"))) and len(self.trials()) >= count

    def assert_nothing_left(self) -> None:
        """No process, group, shared memory, network or ledger of any run, soon after its end."""
        wait_for(lambda: not self._left(), self._left)

    def _left(self) -> list[str]:
        bases = cgroup.detect().bases.values()
        places = [*bases, Path("/dev/shm"), network.NAMES]
        left = [path for tag in self.tags() for place in places for path in place.glob(f"{tag}*")]
        return [str(path) for path in [*left, *self.runs.rglob("ledger.jsonl")]] + self.processes()

    def processes(self) -> list[str]:
        """Living processes that were started with this laboratory's folder."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                environment = (process / "environ").read_bytes()
                command = (process / "cmdline").read_bytes()
            except OSError:
                continue
            if str(self.home).encode() in environment and not ended(int(process.name)):
                found.append(f"{process.name} {command.decode(errors='replace')}")
        return found

    def _environment(self) -> dict[str, str]:
        return os.environ | {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TARE_ROOT": str(PROJECT),
            "TARE_RUNS": str(self.runs),
            "TARE_CACHE": str(self.home / "cache"),
        }


def wait_for(
    holds: Callable[[], bool],
    what: Callable[[], object] = lambda: "",
    patience_s: float = PATIENCE_S,
) -> None:
    """Fails when `holds` does not come true."""
    give_up = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < give_up, f"waited in vain; there is: {what()}"
        time.sleep(0.02)


def end(command: "subprocess.Popen[str]", number: signal.Signals) -> tuple[int, str]:
    """Exit code and output of a command after a signal."""
    command.send_signal(number)
    with command:
        out, err = command.communicate(timeout=PATIENCE_S)
    assert "Traceback" not in err, err
    return command.returncode, out + err
