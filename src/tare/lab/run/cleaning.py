"""The removal of builds and stored runs for `tare clean`, and the reasons why others stay."""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tare.lab import paths
from tare.lab.project import build, in_use, worktrees
from tare.lab.run import instances
from tare.lab.run.store import Store

_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{16}")
_STRANGE = "not made by tare"


@dataclass(frozen=True)
class Item:
    """A build with its log, or a run."""

    path: Path
    size: int
    """In bytes, as it lies on the disk."""
    stays: str = ""
    """The reason why it is not removed; empty if it is."""


def builds() -> list[Item]:
    """Return all that builds left in the cache, by name. Raises TareError as `instances` does.

    What a build under way has made so far is among it: `build.alone` waits for its end.
    """
    up = _up()
    logs = {_log(path) for path in _in(paths.builds()) if path.is_dir()}
    own = [path for path in _in(paths.builds()) if path not in logs]
    return [
        *(Item(path, _size(path) + _size(_log(path)), _build_stays(path, up)) for path in own),
        *(Item(path, _size(path), _marked(path, worktrees.DONE)) for path in _in(paths.refs())),
    ]


def runs() -> list[Item]:
    """Return the stored runs, oldest first."""
    return [Item(path, _size(path), _run_stays(path)) for path in _in(paths.runs())]


def remove(item: Item) -> bool:
    """Remove what does not stay. Return False if it came into use since it was listed."""
    path = item.path
    if path.parent == paths.runs():
        return not _run_stays(path) and _gone(path)
    refs = path.parent == paths.refs()
    marker = path / (worktrees.DONE if refs else build.RECEIPT)
    if not marker.is_file():  # of a build that failed or was cut off
        return _gone(path)
    with in_use.unused(marker) as free:
        # What has come up meanwhile was held until it was noted.
        if not free or path in _up():
            return False
        if refs:
            worktrees.remove(path)
        else:
            _log(path).unlink(missing_ok=True)
        return _gone(path)


def _up() -> dict[Path, str]:
    """Return the builds of what is up, each with a variant's name."""
    return {path: each.name for each in instances.all_instances() for path in each.builds}


def _in(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if path.name != "lock")


def _build_stays(path: Path, up: dict[Path, str]) -> str:
    if path in up:
        return f"{up[path]} is up; tare down {up[path]} takes it down"
    unfinished = path.name.startswith("staging-") and path.is_dir()
    failed = path.suffix == ".log" and path.is_file() and _NAME.fullmatch(path.stem)
    return "" if unfinished or failed else _marked(path, build.RECEIPT)


def _marked(path: Path, marker: str) -> str:
    """Return why a build stays: others made it, or somebody uses it."""
    if path.is_symlink() or not _NAME.fullmatch(path.name) or not (path / marker).is_file():
        return _STRANGE
    with in_use.unused(path / marker) as free:
        return "" if free else "in use by another command of tare"


def _run_stays(path: Path) -> str:
    if path.is_symlink() or not (path / "plan.json").is_file():
        return _STRANGE
    if Store(path).in_order and (path / "results.json").is_file():
        return ""
    return f"not finished; tare resume {path.name} goes on with it"


def _gone(path: Path) -> bool:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
    return not path.exists()


def _log(path: Path) -> Path:
    return path.with_suffix(".log")


def _size(path: Path) -> int:
    if not path.exists():
        return 0
    inner = (
        Path(folder) / name for folder, folders, files in os.walk(path) for name in folders + files
    )
    return 512 * sum(each.lstat().st_blocks for each in (path, *inner))
