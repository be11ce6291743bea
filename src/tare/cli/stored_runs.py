"""The folders of stored runs, by age."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

from tare.cli.output import say
from tare.lab import paths

LAST = "last"
"""What commands call the newest run."""
_PLAN = "plan.json"
_STAMP = re.compile(r"\d{8}T\d{6}Z(?=-)")
"""How the name of a run begins."""


def by_age(having: str = _PLAN) -> list[Path]:
    """Return the folders of runs that have this file, the oldest first. A folder that was given
    another name is as old as its plan says.
    """
    return sorted((file.parent for file in paths.runs().glob(f"*/{having}")), key=_age)


def warn_of_folder(newest: str) -> None:
    """Say that `last` is the newest run where a folder has that name, too."""
    if Path(LAST).is_dir():
        say(f"{LAST} is the newest run, {newest}; the folder of that name is ./{LAST}")


def _age(folder: Path) -> tuple[str, str]:
    stamp = _STAMP.match(folder.name)
    return stamp[0] if stamp else _planned(folder), folder.name


def _planned(folder: Path) -> str:
    """Return when a run was planned, as names have it; nothing if its plan does not tell."""
    try:
        created = json.loads((folder / _PLAN).read_text())["created"]
        return f"{datetime.fromisoformat(created).astimezone(UTC):%Y%m%dT%H%M%SZ}"
    except (OSError, ValueError, TypeError, KeyError):
        return ""
