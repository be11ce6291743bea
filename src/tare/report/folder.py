"""Reads a run's folder: all that a report knows."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tare.model.trial import Plan, Trial, parse_trials


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
        file = self.path / "histograms" / f"{trial.id}.json"
        if not file.exists():
            return None
        found = json.loads(file.read_text()).get(name)
        return None if found is None else str(found)


def read(path: Path) -> RunFolder:
    """Raises NotARun with the file that is missing or damaged."""
    plan, trials, environment = (
        path / name for name in ("plan.json", "trials.jsonl", "environment.json")
    )
    try:
        return RunFolder(
            path,
            Plan.model_validate_json(plan.read_text()),
            parse_trials(trials.read_bytes()) if trials.exists() else [],
            json.loads(environment.read_text()) if environment.exists() else {},
        )
    except (OSError, ValueError) as error:
        raise NotARun(f"{path} is not the folder of a run: {error}") from error
