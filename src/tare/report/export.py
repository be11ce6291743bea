"""A run's results in the formats of others: each writes its files into one folder."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from tare.model.results import Results
from tare.report import frames, google_benchmark, openmetrics, stacks
from tare.report.errors import ReportError
from tare.report.folder import TRIALS, RunFolder

T = TypeVar("T")


class CannotExport(ReportError):
    """The reason why a format cannot be written."""


def _csv(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    for name, rows in frames.tables(folder, results).items():
        file = target / f"{name}.csv"
        with file.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(frames.COLUMNS[name]))
            writer.writeheader()
            writer.writerows(rows)
        yield file


def _parquet(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise CannotExport("Parquet needs pyarrow: pip install 'tare[parquet]'") from error
    kinds = {"text": pyarrow.string(), "whole": pyarrow.int64(), "number": pyarrow.float64()}
    for name, rows in frames.tables(folder, results).items():
        columns = frames.COLUMNS[name].items()
        schema = pyarrow.schema([(column, kinds[kind]) for column, kind in columns])
        file = target / f"{name}.parquet"
        parquet.write_table(pyarrow.Table.from_pylist(rows, schema=schema), file)
        yield file


def _pictures(suffix: str) -> Callable[[RunFolder, Results, Path], Iterator[Path]]:
    def write(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
        from tare.report import drawing  # takes a second to import
        from tare.report.charts.pictures import pictures

        drawn = pictures(folder, results)
        for name, picture in _named([each.name for each in drawn], drawn):
            file = target / f"{name}.{suffix}"
            if suffix == "svg":
                file.write_text(drawing.svg(picture.chart))
            else:
                file.write_bytes(drawing.png(picture.chart))
            yield file

    return write


def _google_benchmark(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    file = target / "google-benchmark.json"
    file.write_text(google_benchmark.text(folder))
    yield file


def _openmetrics(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    file = target / "openmetrics.txt"
    file.write_text(openmetrics.text(results))
    yield file


def _record(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    from tare.report import record

    _refuse_own(folder, target)
    yield from record.write(folder, results, target)


def _slim_record(folder: RunFolder, _: Results, target: Path) -> Iterator[Path]:
    from tare.report import record, results

    _refuse_own(folder, target)
    slim = record.slim(folder)
    yield from record.write(slim, results.make(slim), target)


def _refuse_own(folder: RunFolder, target: Path) -> None:
    """Raise CannotExport for the run's own folder: its packed trials would hide later ones."""
    if (folder.path / TRIALS).exists() and target.resolve() == folder.path.resolve():
        raise CannotExport(f"{target} is the run's own folder; name another one with -o")


def _folded(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    found = stacks.of_run(folder, results)
    for name, seen in _named([each.name for each in found], found):
        file = target / f"{name}.folded"
        file.write_text(stacks.folded(seen))
        yield file


def _speedscope(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    file = target / "speedscope.json"
    file.write_text(stacks.speedscope(results.run, stacks.of_run(folder, results)))
    yield file


def _pprof(folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    found = stacks.of_run(folder, results)
    for name, seen in _named([each.name for each in found], found):
        file = target / f"{name}.pb.gz"
        file.write_bytes(stacks.pprofiled(seen))
        yield file


def _named(names: Sequence[str], items: Sequence[T]) -> Iterator[tuple[str, T]]:
    """Yield each item with the name of its file, which no other has."""
    made: Counter[str] = Counter()
    for name, item in zip(names, items, strict=True):
        plain = _plain(name)
        made[plain] += 1
        yield plain if made[plain] == 1 else f"{plain}-{made[plain]}", item


def _plain(name: str) -> str:
    """Return a name without what cannot be in a file's, such as a path that a scenario is of."""
    return re.sub(r"[^A-Za-z0-9_.=,-]", "-", name)


_WRITERS: dict[str, Callable[[RunFolder, Results, Path], Iterator[Path]]] = {
    "csv": _csv,
    "parquet": _parquet,
    "png": _pictures("png"),
    "svg": _pictures("svg"),
    "google-benchmark": _google_benchmark,
    "openmetrics": _openmetrics,
    "record": _record,
    "slim-record": _slim_record,
    "folded": _folded,
    "speedscope": _speedscope,
    "pprof": _pprof,
}
FORMATS: Sequence[str] = tuple(_WRITERS)


def write(form: str, folder: RunFolder, results: Results, target: Path) -> Iterator[Path]:
    """Write the files of one of `FORMATS` into `target`, which is made, and name each when done.

    Raises CannotExport and OSError.
    """
    target.mkdir(parents=True, exist_ok=True)
    yield from _WRITERS[form](folder, results, target)
