"""Records: runs that are published, packed so that all they show derives from their trials."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from tare.model.results import Results
from tare.model.trial import Trial
from tare.report import stored
from tare.report.folder import TRIALS_PACKED, RunFolder

HISTOGRAM = "latency"
"""The only histogram of which a report is made."""
_LEVEL = 19
_LONGEST_FILE = 16384
"""Characters of a rendered file that is kept: a longer one is a body, and no configuration."""


def write(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    """Write a run's record into `target`, and name each file when it is done. Raises OSError."""
    from tare.report import charts, drawing, html  # takes a second to import

    folder = replace(folder, environment=_shortened(folder.environment))
    pictures = charts.pictures(folder, results)
    files: dict[str, bytes] = {
        "plan.json": folder.plan.model_dump_json(indent=1).encode() + b"\n",
        "environment.json": json.dumps(folder.environment, ensure_ascii=False).encode() + b"\n",
        TRIALS_PACKED: _packed(folder),
        "results.json": stored.text(results).encode(),
        "report.html": html.render(folder, results).encode(),
    }
    if pictures:
        files["picture.svg"] = drawing.svg(pictures[0].chart).encode()
    for name, content in files.items():
        (target / name).write_bytes(content)
        yield target / name


def _shortened(environment: dict[str, Any]) -> dict[str, Any]:
    """Return the environment with long rendered files replaced by their length and digest."""
    files = {
        place: {name: _short(text) for name, text in rendered.items()}
        for place, rendered in environment.get("files", {}).items()
    }
    return environment | ({"files": files} if files else {})


def _short(text: str) -> str:
    if len(text) <= _LONGEST_FILE:
        return text
    data = text.encode()
    return f"({len(data)} bytes, SHA-256 {hashlib.sha256(data).hexdigest()})"


def _packed(folder: RunFolder) -> bytes:
    lines = b"".join(_line(folder, trial) for trial in folder.trials)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(lines)


def _line(folder: RunFolder, trial: Trial) -> bytes:
    encoded = folder.histogram(trial, HISTOGRAM)
    kept = {HISTOGRAM: encoded} if encoded is not None else {}
    return trial.model_copy(update={"histograms": kept}).model_dump_json().encode() + b"\n"
