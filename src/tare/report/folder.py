"""Read a run's folder, the only input of a report."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tare.model.shapes import EnvironmentNote
from tare.model.trial import Plan, Trial, fault_of, parse_trials
from tare.report import consistency
from tare.report.errors import NotARun
from tare.stats.histogram import Histogram, merge

TRIALS, TRIALS_PACKED = "trials.jsonl", "trials.jsonl.zst"
LATENCIES = "latencies.json"
_LATENCIES = TypeAdapter(dict[str, dict[str, str]])
_WITHOUT = "; remove it to report without it"


@dataclass(frozen=True)
class RunFolder:
    """A run as it lies on disk, finished or not."""

    path: Path
    plan: Plan
    trials: list[Trial]
    environment: dict[str, Any]
    latencies: dict[str, dict[str, str]] | None = None
    """A record's latency histograms: scenario → label → all valid trials' merged, encoded."""
    set_aside: list[str] = field(default_factory=list)
    """Lines of its trials that were not used, and why."""

    @property
    def is_dosed(self) -> bool:
        """Return true if each trial measured several doses."""
        return any(self.plan.outcomes[name].is_slope for name in self.plan.reported)

    def latency(self, scenario: str, label: str) -> Histogram | None:
        """Return a variant's latencies, all valid trials merged; None if none were kept.

        Raises NotARun for a damaged histogram.
        """
        encoded = self.encoded_latencies(scenario, label)
        try:
            return merge(encoded) if encoded else None
        except ValueError as error:
            raise NotARun(
                f"{self.path}: latencies of {label} in {scenario}: {error}; "
                "remove its file to report without it"
            ) from error

    def encoded_latencies(self, scenario: str, label: str) -> list[str]:
        """Return a variant's encoded latency histograms: one per valid trial, or a record's one.

        None where doses were measured: a trial keeps the histogram of its last dose only.
        """
        if self.is_dosed:
            return []
        if self.latencies is not None:
            merged = self.latencies.get(scenario, {}).get(label)
            return [] if merged is None else [merged]
        files = (
            self.path / "histograms" / f"{trial.id}.json"
            for trial in self.trials
            if (trial.scenario, trial.shown_as, trial.status) == (scenario, label, "valid")
        )
        kept = (_table(file) for file in files if file.exists())
        return [histograms["latency"] for histograms in kept if "latency" in histograms]


def read(path: Path) -> RunFolder:
    """Return the run in a folder of runs/, or of record/.

    Raises NotARun with the file that is missing or damaged.
    """
    plan, environment = path / "plan.json", path / "environment.json"
    if not plan.is_file():
        raise NotARun(f"{path} is not the folder of a run: it has no plan.json{_instead(path)}")
    latencies = path / LATENCIES
    try:
        planned = Plan.model_validate_json(plan.read_text())
        if (fault := consistency.fault(planned)) is not None:
            raise NotARun(f"{plan} is damaged: {fault}")
        parsed, damaged = parse_trials(_lines(path))
        trials, others = consistency.fitting(planned, parsed)
        return RunFolder(
            path,
            planned,
            trials,
            _environment(environment) if environment.exists() else {},
            _latencies(latencies) if latencies.exists() else None,
            [*damaged, *others],
        )
    except (OSError, ValueError) as error:
        raise NotARun(f"{path} is not the folder of a run: {error}") from error


def _instead(path: Path) -> str:
    """Return what else of a run the folder has: records of earlier versions have tables alone."""
    table = path / "table.txt"
    return f"; its trials were not kept, and {table} has what they showed" if table.exists() else ""


def _table(file: Path) -> dict[str, Any]:
    """Return a JSON file's table. Raises NotARun for a damaged one."""
    try:
        found = json.loads(file.read_text())
    except ValueError as error:
        raise NotARun(f"{file} is damaged: {error}{_WITHOUT}") from error
    if not isinstance(found, dict):
        raise NotARun(f"{file} is damaged: expected a table{_WITHOUT}")
    return found


def _environment(file: Path) -> dict[str, Any]:
    """Return environment.json, in which all that reports read has its shape. Raises NotARun."""
    found = _table(file)
    try:
        EnvironmentNote.model_validate(found)
    except ValidationError as error:
        raise NotARun(f"{file} is damaged: {fault_of(error)}{_WITHOUT}") from error
    return found


def _latencies(file: Path) -> dict[str, dict[str, str]]:
    """Return a record's latency histograms, still encoded. Raises NotARun."""
    try:
        return _LATENCIES.validate_python(_table(file))
    except ValidationError as error:
        raise NotARun(f"{file} is damaged: {fault_of(error)}{_WITHOUT}") from error


def _lines(path: Path) -> bytes:
    """Return the trials as they were stored. Raises OSError, and ValueError for damaged ones."""
    if (packed := path / TRIALS_PACKED).exists():
        import zstandard

        try:
            return zstandard.ZstdDecompressor().decompress(packed.read_bytes())
        except zstandard.ZstdError as error:
            raise ValueError(f"{packed}: {error}") from error
    plain = path / TRIALS
    return plain.read_bytes() if plain.exists() else b""
