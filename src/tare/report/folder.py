"""Read a run's folder, the only input of a report."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.model.trial import Plan, Trial, parse_trials
from tare.stats.histogram import Histogram, merge

TRIALS, TRIALS_PACKED = "trials.jsonl", "trials.jsonl.zst"
LATENCIES = "latencies.json"


class NotARun(Exception):
    """A folder that is not a run's."""


@dataclass(frozen=True)
class RunFolder:
    """A run as it lies on disk, finished or not."""

    path: Path
    plan: Plan
    trials: list[Trial]
    environment: dict[str, Any]
    latencies: dict[str, dict[str, str]] | None = None
    """A record's latency histograms: scenario → label → all valid trials' merged, encoded."""

    def latency(self, scenario: str, label: str) -> Histogram | None:
        """Return a variant's latencies, all valid trials merged; None if none were kept."""
        encoded = self.encoded_latencies(scenario, label)
        return merge(encoded) if encoded else None

    def encoded_latencies(self, scenario: str, label: str) -> list[str]:
        """Return a variant's encoded latency histograms: one per valid trial, or a record's one."""
        if self.latencies is not None:
            merged = self.latencies.get(scenario, {}).get(label)
            return [] if merged is None else [merged]
        files = (
            self.path / "histograms" / f"{trial.id}.json"
            for trial in self.trials
            if (trial.scenario, trial.shown_as, trial.status) == (scenario, label, "valid")
        )
        kept = (json.loads(file.read_text()) for file in files if file.exists())
        return [histograms["latency"] for histograms in kept if "latency" in histograms]


def read(path: Path) -> RunFolder:
    """Return the run in a folder of runs/, or of record/.

    Raises NotARun with the file that is missing or damaged.
    """
    plan, environment = path / "plan.json", path / "environment.json"
    latencies = path / LATENCIES
    try:
        return RunFolder(
            path,
            Plan.model_validate_json(plan.read_text()),
            parse_trials(_lines(path)),
            json.loads(environment.read_text()) if environment.exists() else {},
            json.loads(latencies.read_text()) if latencies.exists() else None,
        )
    except (OSError, ValueError) as error:
        raise NotARun(f"{path} is not the folder of a run: {error}") from error


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
