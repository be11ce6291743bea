"""Locks on builds in use: each user of one holds a shared lock on its marker."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_HELD: dict[Path, int] = {}


def hold(marker: Path) -> bool:
    """Keep what `marker` stands in from being removed until this process ends.

    Return False if the marker is not there.
    """
    try:
        descriptor = os.open(marker, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    if not marker.exists():  # removed while the lock was awaited
        os.close(descriptor)
        return False
    if (known := _HELD.pop(marker, None)) is not None:
        os.close(known)
    _HELD[marker] = descriptor
    return True


@contextmanager
def unused(marker: Path) -> Iterator[bool]:
    """Yield whether no process holds the marker; until the block ends, none can."""
    descriptor = os.open(marker, os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
