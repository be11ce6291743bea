"""Faults of the machine in what ended a trial: they are not charged to the variant."""

import errno
import os
from pathlib import Path

from tare.lab.errors import MachineFault
from tare.lab.trial.site import Site

_LACKS = {errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
_ROOM_BYTES = 64 << 10
"""A disk with less room is full: a role's log or configuration need not fit."""
_NO_ROOM = os.strerror(errno.ENOSPC)


def lack(error: BaseException | None) -> str | None:
    """Return what the machine lacked if that is what an error comes from, or None."""
    while error is not None:
        if isinstance(error, MachineFault):
            return str(error)
        if isinstance(error, OSError) and error.errno in _LACKS:
            return os.strerror(error.errno)
        error = error.__cause__
    return None


def surroundings(site: Site, reason: str) -> str | None:
    """Return the machine's fault in what failed for `reason` in a stopped site, or None.

    A port that is still taken when all roles have ended is somebody else's.
    """
    if (port := site.stolen_port()) is not None:
        return f"another process has taken port {port}"
    if full(site.folder):
        return f"the disk of {site.folder} is full"
    return _NO_ROOM if _NO_ROOM in reason else None


def full(folder: Path) -> bool:
    """Return true if the folder's disk has no room or no files left."""
    found = os.statvfs(folder)
    no_files = found.f_files > 0 and found.f_favail == 0
    return found.f_bavail * found.f_frsize < _ROOM_BYTES or no_files
