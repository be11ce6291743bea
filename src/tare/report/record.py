"""Records: runs that are published, packed so that all they show derives from their trials."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from tare.model.profile import PACKED, PROFILES
from tare.model.results import Results
from tare.model.tail import TAILS
from tare.model.trial import Plan, Trial
from tare.report import stored
from tare.report.folder import LATENCIES, TRIALS_PACKED, RunFolder
from tare.stats.dose_response import windows as windows_of
from tare.stats.histogram import encode_merged

_LEVEL = 19
_PICTURE = "picture.svg"
_SLIM_DIGITS = 6
"""Significant digits of a slim record's figures."""
_LEFT_OUT = ("roles", "machine", "counters", "instrument")
"""Fields of trials that a slim record does not have, doses and responses apart."""


def write(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    """Write a run's record into `target`, and name each file when it is done. Raises OSError."""
    from tare.report import drawing, html  # takes a second to import
    from tare.report.charts.pictures import pictures

    drawn = pictures(folder, results)[:1]
    files: dict[str, bytes] = {
        "plan.json": folder.plan.model_dump_json(indent=1).encode() + b"\n",
        "environment.json": json.dumps(folder.environment, ensure_ascii=False).encode() + b"\n",
        TRIALS_PACKED: _packed(folder),
        LATENCIES: _latencies(folder, results),
        "results.json": stored.text(results).encode(),
        "report.html": html.render(folder, results).encode(),
    }
    if drawn:
        files[_PICTURE] = drawing.svg(drawn[0].chart).encode()
    if (folder.path / PROFILES).is_dir():
        (target / PROFILES).mkdir(exist_ok=True)
        files |= {
            f"{PROFILES}/{file.name}": file.read_bytes()
            for file in sorted((folder.path / PROFILES).glob(f"*{PACKED}"))
        }
    if (folder.path / TAILS).is_dir():
        (target / TAILS).mkdir(exist_ok=True)
        files |= {
            f"{TAILS}/{file.name}": file.read_bytes()
            for file in sorted((folder.path / TAILS).glob("*.json"))
        }
    _remove_others(target, files)
    for name, content in files.items():
        (target / name).write_bytes(content)
        yield target / name


def _remove_others(target: Path, files: Iterable[str]) -> None:
    """Remove what a record has of a run that was exported there before, and this one has not."""
    for pattern in (_PICTURE, f"{PROFILES}/*{PACKED}", f"{TAILS}/*.json"):
        for file in target.glob(pattern):
            if str(file.relative_to(target)) not in files:
                file.unlink()


def slim(folder: RunFolder) -> RunFolder:
    """Return a run without what neither its verdicts nor its tables are made of.

    Trials keep the outcomes that are reported, and only those that did not count keep their gates.
    """
    return replace(folder, trials=[_slim(trial, folder.plan) for trial in folder.trials])


def _slim(trial: Trial, plan: Plan) -> Trial:
    kept = {name: trial.outcomes[name] for name in plan.reported if name in trial.outcomes}
    shorter = {
        "started": trial.started[: len("2026-01-01T00:00:00")] + "+00:00",
        "wall_s": round(trial.wall_s, 3),
        "measured_s": round(trial.measured_s, 3),
        "outcomes": {name: _shorter(value) for name, value in kept.items()},
        "gates": [] if trial.status == "valid" else trial.gates,
    }
    left_out: dict[str, Any] = {name: {} for name in _LEFT_OUT}
    return trial.model_copy(update=shorter | left_out | {"instrument": _doses(trial)})


def _doses(trial: Trial) -> dict[str, Any]:
    """Return what slopes are made of; nothing of a trial that measured none."""
    if (found := trial.instrument.get("slope")) is None:
        return {}
    windows: list[dict[str, Any]] = [
        {"round": each.round, "dose": each.dose, "response": _shorter(each.response), "spoilt": []}
        for each in windows_of(trial)
    ]
    return {"slope": {**{key: found[key] for key in ("parameter", "outcome")}, "windows": windows}}


def _shorter(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.{_SLIM_DIGITS}g}")


def _packed(folder: RunFolder) -> bytes:
    lines = "".join(trial.model_dump_json() + "\n" for trial in folder.trials)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(lines.encode())


def _latencies(folder: RunFolder, results: Results) -> bytes:
    found = {
        scenario.name: {
            label: encode_merged(encoded)
            for label in scenario.variants
            if (encoded := folder.encoded_latencies(scenario.name, label))
        }
        for scenario in results.scenarios
    }
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
