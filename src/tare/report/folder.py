"""Read a run's folder, the only input of a report."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.model.trial import Plan, Trial, parse_trials

TRIALS, TRIALS_PACKED = "trials.jsonl", "trials.jsonl.zst"


class NotARun(Exception):
    """A folder that is not a run's."""


@dataclass(frozen=True)
class RunFolder:
    """A run as it lies on disk, finished or not."""

    path: Path
    plan: Plan
    trials: list[Trial]
    environment: dict[str, Any]

    def histogram(self, trial: Trial, name: str) -> str | None:
        """A trial's encoded histogram, if it was kept."""
        if name in trial.histograms:
            return trial.histograms[name]
        file = self.path / "histograms" / f"{trial.id}.json"
        if not file.exists():
            return None
        found = json.loads(file.read_text()).get(name)
        return None if found is None else str(found)


def read(path: Path) -> RunFolder:
    """Return the run in a folder of runs/, or of record/.

    Raises NotARun with the file that is missing or damaged.
    """
    plan, environment = path / "plan.json", path / "environment.json"
    try:
        return RunFolder(
            path,
            Plan.model_validate_json(plan.read_text()),
            parse_trials(_lines(path)),
            json.loads(environment.read_text()) if environment.exists() else {},
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
