"""A run's folder: plan, trials, histograms, environment. Every trial is on disk before the next."""

import contextlib
import itertools
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import zstandard
from pydantic import BaseModel

from tare.lab.errors import TareError
from tare.lab.trial.bench import LEDGER
from tare.model.hosts import HostsFile
from tare.model.profile import PACKED, PROFILES, Explained
from tare.model.tail import TAILS, Tails
from tare.model.trial import Plan, Trial, parse_trials

_HOSTS = "hosts.json"
_BALLAST_BYTES = 1 << 20
_PIECE_BYTES = 1 << 16


class Store:
    """The folder of one run (docs/FORMAT.md, "A run's folder")."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self._ballast = folder / "ballast"
        self._unwritten: list[Trial] = []

    @classmethod
    def create(cls, runs: Path, plan: Plan) -> "Store":
        """Make the folder of a new run, numbered if the name is taken, and write its plan."""
        runs.mkdir(parents=True, exist_ok=True)
        for number in itertools.count(1):
            run = plan.run if number == 1 else f"{plan.run}-{number}"
            store = cls(runs / run)
            with contextlib.suppress(FileExistsError):
                store.folder.mkdir()
                break
        write_json(store.folder / "plan.json", plan.model_copy(update={"run": run}))
        return store

    @classmethod
    def at(cls, folder: Path, plan: Plan) -> "Store":
        """Make a run's folder with just this path, and write its plan. Raises OSError."""
        folder.mkdir(parents=True)
        store = cls(folder)
        write_json(folder / "plan.json", plan)
        return store

    def prepare(self) -> None:
        """Reserve room for records, so that a full disk can still be reported."""
        for name in ("histograms", "logs", "work"):
            (self.folder / name).mkdir(exist_ok=True)
        stored = {trial.id for trial in self.trials()}
        for left in self.work.iterdir():
            if left.name not in stored:  # of a trial that was cut off, and is made again
                shutil.rmtree(left)
        self._ballast.write_bytes(b"\0" * _BALLAST_BYTES)

    @property
    def in_order(self) -> bool:
        """Return true if no run is going on in the folder, and none was cut off."""
        return not self._ballast.exists() and not (self.folder / LEDGER).exists()

    def keep_hosts(self, hosts: HostsFile) -> None:
        """Store the hosts of the run's roles, so that it can be resumed."""
        write_json(self.folder / _HOSTS, hosts.model_dump(mode="json", by_alias=True))

    def hosts(self) -> HostsFile | None:
        """Return the hosts of the run's roles, if they have any. Raises TareError."""
        file = self.folder / _HOSTS
        if not file.exists():
            return None
        try:
            return HostsFile.model_validate_json(file.read_text())
        except (OSError, ValueError) as error:
            raise TareError(f"{file}: not the hosts of a run: {error}") from error

    def plan(self) -> Plan:
        """The stored plan. Raises TareError."""
        file = self.folder / "plan.json"
        try:
            return Plan.model_validate_json(file.read_text())
        except (OSError, ValueError) as error:
            raise TareError(f"{file}: not the plan of a run: {error}") from error

    def environment(self) -> dict[str, Any]:
        """Return what environment.json holds so far. Raises TareError for a damaged one."""
        file = self.folder / "environment.json"
        if not file.exists():
            return {}
        try:
            return dict(json.loads(file.read_text()))
        except (ValueError, TypeError) as error:
            raise TareError(
                f"{file} is damaged: {error}; remove it, and the run goes on without "
                "checking that the experiment is still the same"
            ) from error

    def trials(self) -> list[Trial]:
        """All stored trials, in the order they were made."""
        return self._read()[0]

    def set_aside(self) -> list[str]:
        """Return the lines of trials.jsonl that are not used, and why."""
        return [f"trials.jsonl: {line}" for line in self._read()[1]]

    def _read(self) -> tuple[list[Trial], list[str]]:
        file = self.folder / "trials.jsonl"
        return parse_trials(file.read_bytes()) if file.exists() else ([], [])

    def append(self, trials: Sequence[Trial]) -> bool:
        """Add a line for each and sync them. Return False if that fails; it is retried later."""
        self._unwritten += trials
        try:
            self._flush()
        except OSError:
            self._ballast.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._flush()
        return not self._unwritten

    def keep_histograms(self, trial: Trial, histograms: Mapping[str, str]) -> None:
        """Store a trial's histograms beside the trials."""
        if histograms:
            write_json(self.folder / "histograms" / f"{trial.id}.json", histograms)

    def keep_profile(self, trial: Trial, found: Explained) -> None:
        """Store what was seen of a trial's or duel's processes, packed."""
        folder = self.folder / PROFILES
        folder.mkdir(exist_ok=True)
        packed = zstandard.compress(found.model_dump_json().encode())
        (folder / f"{trial.id}{PACKED}").write_bytes(packed)

    def keep_tails(self, trial: Trial, found: Tails) -> None:
        """Store what was seen of the slowest requests of a duel's sides."""
        folder = self.folder / TAILS
        folder.mkdir(exist_ok=True)
        write_json(folder / f"{trial.id}.json", found)

    def clear_work(self, trial: Trial) -> None:
        """Keep a trial's logs; keep what else it was made of only when it failed."""
        source = self.work / trial.id
        if not source.is_dir():
            return
        target = self.folder / "logs" / trial.id
        target.mkdir(exist_ok=True)
        for log in source.glob("*/*.log"):
            shutil.copyfile(log, target / log.name)
        if trial.status != "failed":
            shutil.rmtree(source, ignore_errors=True)

    def finish(self) -> None:
        """Remove what only a run in progress needs. Raises TareError if trials are not stored."""
        self._ballast.unlink(missing_ok=True)
        if self._unwritten:
            with contextlib.suppress(OSError):
                self._flush()
        if self._unwritten:
            names = ", ".join(trial.id for trial in self._unwritten)
            raise TareError(f"{self.folder}: no room to store {names}; make room and resume")
        if self.work.is_dir() and not any(self.work.iterdir()):
            self.work.rmdir()

    def _flush(self) -> None:
        file = self.folder / "trials.jsonl"
        whole = _whole_bytes(file)
        lines = b"".join(trial.model_dump_json().encode() + b"\n" for trial in self._unwritten)
        # Unbuffered: a buffer would write the rest of a line that was cut off when it is closed.
        with file.open("ab", buffering=0) as stream:
            stream.truncate(whole)
            try:
                while lines:
                    lines = lines[stream.write(lines) :]
                os.fsync(stream.fileno())
            except OSError:
                stream.truncate(whole)
                raise
        self._unwritten.clear()


def write_json(file: Path, content: BaseModel | Mapping[str, Any]) -> None:
    """Replace `file` by `content`, whole or not at all."""
    if isinstance(content, BaseModel):
        text = content.model_dump_json(indent=1)
    else:
        text = json.dumps(content, indent=1, ensure_ascii=False)
    temporary = file.with_suffix(".tmp")
    try:
        temporary.write_text(text + "\n")
        temporary.replace(file)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _whole_bytes(file: Path) -> int:
    """Return the length of the file up to its last line end, without reading more than its end."""
    if not file.exists():
        return 0
    with file.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        while end > 0:
            start = max(0, end - _PIECE_BYTES)
            stream.seek(start)
            if (found := stream.read(end - start).rfind(b"\n")) >= 0:
                return start + found + 1
            end = start
    return 0
