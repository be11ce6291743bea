"""The machine's own calibration: which study makes it, and where it is kept."""

import os
from pathlib import Path

from pydantic import ValidationError

from tare.lab import paths
from tare.lab.errors import TareError
from tare.lab.project import catalog
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import experiment_names, read_toml, study_names
from tare.model.calibration import Calibration, Machine
from tare.probes.audit import audit


def study() -> Loaded:
    """Return the study that has a known difference. Raises TareError without one."""
    for experiment in experiment_names():
        folder = paths.ROOT / "experiments" / experiment
        for name in study_names(folder):
            if "calibrates" in read_toml(folder / "studies" / f"{name}.toml"):
                return catalog.load(experiment, name)
    raise TareError("no study of experiments/ says what it calibrates: expected [calibrates]")


def machine() -> Machine:
    """Return this machine."""
    found = audit([])
    return Machine(
        cpu=str(found["cpu"]), cpu_count=os.cpu_count() or 1, kernel=str(found["kernel"])
    )


def keep(found: Calibration) -> Path:
    """Store it for later runs; return its file."""
    file = _file()
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(f".{os.getpid()}")
    part.write_text(found.model_dump_json(indent=1))
    part.replace(file)
    return file


def kept() -> Calibration | None:
    """Return this machine's calibration; None if it has none, or changed since."""
    try:
        found = Calibration.model_validate_json(_file().read_text())
    except (OSError, ValidationError):
        return None
    return found if found.machine == machine() else None


def _file() -> Path:
    return paths.cache() / "calibration.json"
