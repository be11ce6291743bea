"""Paths of the project, the cache, the runs, and the instances of `tare up`."""

import os
from pathlib import Path

from tare.lab.errors import TareError

_PACKAGE = Path(__file__).resolve().parents[1]
_BROUGHT = _PACKAGE / "project"
"""What a wheel brings of the project; a clone does not have it."""

ROOT = Path(os.environ.get("TARE_ROOT") or (_BROUGHT if _BROUGHT.is_dir() else _PACKAGE.parents[1]))
"""The project's folder, in which nothing is written if it was installed from a wheel."""

IS_CLONE = ROOT != _BROUGHT
"""True if the project is a folder of the user's, not installed from a wheel."""


_NO_HOME = "HOME is not set: set it, or TARE_CACHE and TARE_RUNS, to folders that you may write"


def cache() -> Path:
    """Builds, kept across runs and clones: TARE_CACHE, else the user's cache folder."""
    if own := os.environ.get("TARE_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or _home() / ".cache"
    return Path(base) / "tare"


def builds() -> Path:
    """Builds of components and variants, each in a folder beside its log."""
    return cache() / "built"


def parts() -> Path:
    """Copies of users' own files in the place of parts, each in a folder named by its SHA-256."""
    return cache() / "parts"


def refs() -> Path:
    """Builds of git refs, each a worktree of a user's repository."""
    return cache() / "refs"


def target() -> Path:
    """Cargo's folder. Each clone has its own: Cargo would take another's program for its own if it
    is newer.
    """
    return ROOT / "target" if IS_CLONE else cache() / "target"


def runs() -> Path:
    """Run folders: TARE_RUNS, else runs/ of the project; installed, in the user's data folder."""
    if own := os.environ.get("TARE_RUNS"):
        return Path(own)
    return ROOT / "runs" if IS_CLONE else _data() / "runs"


def images() -> Path:
    """Container images: dist/ of the project, or of the current folder if tare was installed."""
    return (ROOT if IS_CLONE else Path()) / "dist"


def _data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or _home() / ".local" / "share"
    return Path(base) / "tare"


def _home() -> Path:
    """The user's folder. Raises TareError without one; an empty HOME would mean the root's."""
    if os.environ.get("HOME") == "":
        raise TareError(_NO_HOME)
    try:
        return Path.home()
    except RuntimeError as error:
        raise TareError(_NO_HOME) from error


def instances() -> Path:
    """One folder for each variant that `tare up` left running."""
    return cache() / "up"


def tuning() -> Path:
    """The journal of changed settings, which are the machine's and no user's: in TARE_STATE, else
    where the system keeps such things.
    """
    return Path(os.environ.get("TARE_STATE") or "/var/lib/tare") / "tuning.jsonl"
