"""Paths of the project, the cache, the runs, and the instances of `tare up`."""

import os
from pathlib import Path

ROOT = Path(os.environ.get("TARE_ROOT") or Path(__file__).resolve().parents[3])
"""The project's folder."""


def cache() -> Path:
    """Builds, kept across runs and clones: TARE_CACHE, else the user's cache folder."""
    if own := os.environ.get("TARE_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "tare"


def builds() -> Path:
    """Builds of components and variants, each in a folder beside its log."""
    return cache() / "built"


def refs() -> Path:
    """Builds of git refs, each a worktree of a user's repository."""
    return cache() / "refs"


def runs() -> Path:
    """Run folders: TARE_RUNS, else runs/ of the project."""
    return Path(os.environ.get("TARE_RUNS") or ROOT / "runs")


def instances() -> Path:
    """One folder for each variant that `tare up` left running."""
    return cache() / "up"


def tuning() -> Path:
    """The journal of changed settings, which are the machine's and no user's: in TARE_STATE, else
    where the system keeps such things.
    """
    return Path(os.environ.get("TARE_STATE") or "/var/lib/tare") / "tuning.jsonl"
