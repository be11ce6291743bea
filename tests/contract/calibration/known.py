"""Short trials and duels of the known server, as they are planned."""

from typing import Any

from tare.lab.project import catalog
from tare.lab.run import planning
from tare.model.trial import PlannedTrial

SHORT = {"connections": 4, "warmup_s": 0.1, "duration_s": 0.6, "rate": 1000}
loaded = catalog.load("calibration", "cpu")


def parameters(**changes: Any) -> dict[str, Any]:
    return planning.scenario_at(loaded, {"added": "none"}, SHORT | changes).parameters


def planned(variant: str) -> PlannedTrial:
    return PlannedTrial(block=0, scenario="default", label=variant, variant=variant, id=variant)
