"""The removal of builds, copies of users' own files and stored runs for `tare clean`, and the
reasons why others stay.
"""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tare.lab import paths
from tare.lab.project import build, in_use, worktrees
from tare.lab.run import instances, working_folder
from tare.lab.run.store import Store

_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9a-f]{16}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_STRANGE = "not made by tare"
_OF_HOSTS = re.compile(r"(bench|host)-[A-Za-z0-9._-]+")
_IN_USE = "in use by another command of tare"


@dataclass(frozen=True)
class Item:
    """A build with its log, a copy of a user's own file, or a run."""

    path: Path
    size: int
    """In bytes, as it lies on the disk."""
    stays: str = ""
    """The reason why it is not removed; empty if it is."""


def builds() -> list[Item]:
    """Return all that builds left in the cache, by name. Raises TareError as `instances` does.

    What a build under way has made so far is among it: `building_ends` waits for its end.
    """
    up = _up()
    logs = {_log(path) for path in _in(paths.builds()) if path.is_dir()}
    own = [path for path in _in(paths.builds()) if path not in logs]
    return [
        *(Item(path, _size(path) + _size(_log(path)), _build_stays(path, up)) for path in own),
        *(Item(path, _size(path), _ref_stays(path)) for path in _in(paths.refs())),
    ]


def copies() -> list[Item]:
    """Return the copies of users' own files. Raises TareError as `instances` does."""
    needed = _needed()
    return [Item(path, _size(path), _copy_stays(path, needed)) for path in _in(paths.parts())]


def runs() -> list[Item]:
    """Return the stored runs, oldest first."""
    return [Item(path, _size(path), _run_stays(path)) for path in _in(paths.runs())]


@contextmanager
def building_ends(on_wait: Callable[[], None]) -> Iterator[None]:
    """Let nobody build anything; `on_wait` is told if somebody does."""
    with ExitStack() as stack:
        stack.enter_context(build.alone(on_wait))
        if paths.refs().is_dir():
            stack.enter_context(build.alone(on_wait, paths.refs()))
        yield


def remove(item: Item) -> bool:
    """Remove what does not stay. Return False if it came into use since it was listed."""
    path = item.path
    if working_folder.is_one(path):
        return working_folder.remove(path)
    if path.parent == paths.runs():
        return not _run_stays(path) and _gone(path)
    if path.parent == paths.parts():
        with _unused(path) as free:
            # What has come up meanwhile held its copy until it was noted.
            return free and path.name not in _needed() and _gone(path)
    refs = path.parent == paths.refs()
    marker = path / (worktrees.DONE if refs else build.RECEIPT)
    if not marker.is_file():  # of a build that failed or was cut off
        if refs:
            worktrees.remove(path)
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


def _is_up(name: str) -> str:
    return f"{name} is up; tare down {name} takes it down"


def _needed() -> dict[str, str]:
    """Return the SHA-256 of each copy that something up or an unfinished run needs, and by whom."""
    found: dict[str, str] = {}
    for run in _in(paths.runs()):
        with suppress(OSError, ValueError):
            plan = json.loads((run / "plan.json").read_text())
            if _run_stays(run):
                why = f"tare resume {run.name} needs it"
                found |= {each["sha256"]: why for each in plan.get("parts", {}).values()}
    for up in instances.all_instances():
        found |= {copy.parent.name: _is_up(up.name) for copy in up.part.values()}
    return found


def _copy_stays(path: Path, needed: Mapping[str, str]) -> str:
    if not _DIGEST.fullmatch(path.name) or path.is_symlink() or not path.is_dir():
        return _STRANGE
    if why := needed.get(path.name):
        return why
    with _unused(path) as free:
        return "" if free else _IN_USE


@contextmanager
def _unused(copy: Path) -> Iterator[bool]:
    """Yield whether no process holds a file of the copy; until the block ends, none can."""
    with ExitStack() as stack:
        yield all(stack.enter_context(in_use.unused(file)) for file in copy.iterdir())


def _in(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in sorted(folder.iterdir()) if path.name != "lock")


def _build_stays(path: Path, up: dict[Path, str]) -> str:
    if path in up:
        return _is_up(up[path])
    unfinished = path.name.startswith("staging-") and path.is_dir()
    failed = path.suffix == ".log" and path.is_file() and _NAME.fullmatch(path.stem)
    return "" if unfinished or failed else _marked(path, build.RECEIPT)


def _ref_stays(path: Path) -> str:
    is_worktree = _NAME.fullmatch(path.name) and (path / ".git").is_file()
    unfinished = is_worktree and not (path / worktrees.DONE).exists()
    return "" if unfinished else _marked(path, worktrees.DONE)


def _marked(path: Path, marker: str) -> str:
    """Return why a build stays: others made it, or somebody uses it."""
    if path.is_symlink() or not _NAME.fullmatch(path.name) or not (path / marker).is_file():
        return _STRANGE
    with in_use.unused(path / marker) as free:
        return "" if free else _IN_USE


def _run_stays(path: Path) -> str:
    if working_folder.is_one(path):
        return _IN_USE if working_folder.is_in_use(path) else ""
    if path.is_symlink() or not (path / "plan.json").is_file():
        of_hosts = path.is_dir() and _OF_HOSTS.fullmatch(path.name)
        return "the folder of a bench or a host of this name" if of_hosts else _STRANGE
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
