"""Folders beside the runs, for what is looked at before a run, or without one."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tare.lab import paths
from tare.lab.machine.ledger import sweep
from tare.lab.trial.bench import LEDGER

_NAME = re.compile(r"\.?own-[a-z0-9_]{8}")
_OWNER = "owner"
"""A file that the command which made the folder has a lock on."""
_MADE_BY_TARE = (_OWNER, "events.log")


@contextmanager
def working_folder() -> Iterator[Path]:
    """Yield a folder that goes with the block. Those of commands that were killed go before it."""
    runs = paths.runs()
    runs.mkdir(parents=True, exist_ok=True)
    for left in filter(is_one, list(runs.iterdir())):
        remove(left)
    hidden = Path(tempfile.mkdtemp(prefix=".own-", dir=runs))
    hidden.chmod(0o755)  # as a run's folder: a server may give up root
    with (hidden / _OWNER).open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Under its name it is locked from the first moment.
        home = hidden.rename(runs / hidden.name.removeprefix("."))
        try:
            yield home
        finally:
            shutil.rmtree(home, ignore_errors=True)


def is_one(path: Path) -> bool:
    """Return true if the path is such a folder, and not somebody's own of a like name."""
    named = _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink()
    return bool(named) and any((path / mark).is_file() for mark in _MADE_BY_TARE)


def is_in_use(path: Path) -> bool:
    """Return true if the command that made the folder still runs."""
    try:
        descriptor = os.open(path / _OWNER, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove(path: Path) -> bool:
    """Remove such a folder, and what its command left on the machine, unless that still runs.
    Return true if it is gone.
    """
    if not is_in_use(path) and sweep(path / LEDGER):
        shutil.rmtree(path, ignore_errors=True)
    return not path.exists()
