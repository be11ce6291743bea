"""Records: runs that are published, packed so that all they show derives from their trials."""

import json
from collections.abc import Iterator
from pathlib import Path

import zstandard

from tare.model.results import Results
from tare.model.trial import Trial
from tare.report import stored
from tare.report.folder import TRIALS_PACKED, RunFolder

HISTOGRAM = "latency"
"""The only histogram of which a report is made."""
_LEVEL = 19


def write(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    """Write a run's record into `target`, and name each file when it is done. Raises OSError."""
    from tare.report import charts, drawing, html  # takes a second to import

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


def _packed(folder: RunFolder) -> bytes:
    lines = b"".join(_line(folder, trial) for trial in folder.trials)
    return zstandard.ZstdCompressor(level=_LEVEL).compress(lines)


def _line(folder: RunFolder, trial: Trial) -> bytes:
    encoded = folder.histogram(trial, HISTOGRAM)
    kept = {HISTOGRAM: encoded} if encoded is not None else {}
    return trial.model_copy(update={"histograms": kept}).model_dump_json().encode() + b"\n"
