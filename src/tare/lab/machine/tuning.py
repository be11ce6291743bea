"""Sets the kernel's settings to what measuring wants, and back to what they were.

The journal has every old value before the first new one is written, so that after a crash at any
moment `revert` restores all of them.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from tare.lab.errors import TareError
from tare.probes.settings import Setting, read

_BOOT = Path("/proc/sys/kernel/random/boot_id")


@dataclass(frozen=True)
class Change:
    """One file of the kernel."""

    setting: str
    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Outcome:
    """The result of writing a setting."""

    change: Change
    value: str
    """As it was read again."""
    status: Literal["done", "denied", "differs"]
    why: str = ""


def plan(settings: Iterable[Setting], root: Path = Path("/")) -> list[Change]:
    """List the settings that would change; those that cannot be read are left out."""
    found = []
    for setting in settings:
        if setting.tuned is None:
            continue
        try:
            values = setting.values(root)
        except PermissionError:
            continue
        found += [
            Change(setting.name, str(file), value, setting.tuned)
            for file, value in values.items()
            if not setting.good(value)
        ]
    return found


def apply(changes: Iterable[Change], journal: Path) -> list[Outcome]:
    """Change all of them, and note them in the journal unless there are none.

    Raises TareError when an earlier change was not reverted, or when the journal cannot be written.
    """
    if journal.exists():
        raise TareError(
            f"settings changed earlier are still in force ({journal}): "
            "run tare doctor --revert first"
        )
    known = list(changes)
    if not known:
        return []
    _store(journal, known)
    return [_write(change, change.new) for change in known]


def revert(journal: Path) -> list[Outcome]:
    """Restore the settings in the journal, last first, and forget those that are restored.

    After a restart of the machine nothing is written or reported: the kernel has its own values
    again.
    Raises TareError when the journal cannot be read.
    """
    boot, changes = _load(journal)
    outcomes: list[Outcome] = []
    if boot == _boot():
        outcomes = [_write(change, change.old) for change in reversed(changes)]
    left = [outcome.change for outcome in reversed(outcomes) if outcome.status != "done"]
    if left:
        _store(journal, left)
    else:
        journal.unlink()
    return outcomes


def _write(change: Change, value: str) -> Outcome:
    file = Path(change.file)
    try:
        if read(file) != value:
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_TRUNC), "w") as stream:  # makes none
                stream.write(value)
    except FileNotFoundError:
        return Outcome(change, "", "done", "it is no longer there")
    except OSError as error:
        return Outcome(change, read(file) or "", "denied", os.strerror(error.errno or 0))
    found = read(file) or ""
    return Outcome(change, found, "done" if found == value else "differs")


def _boot() -> str:
    return _BOOT.read_text().strip()


def _store(journal: Path, changes: Iterable[Change]) -> None:
    lines = [{"boot": _boot()}, *(asdict(change) for change in changes)]
    fresh = journal.with_suffix(".new")
    try:
        journal.parent.mkdir(parents=True, exist_ok=True)
        with fresh.open("w") as stream:
            stream.write("".join(json.dumps(line) + "\n" for line in lines))
            stream.flush()
            os.fsync(stream.fileno())
        fresh.rename(journal)
        folder = os.open(journal.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)
    except OSError as error:
        raise TareError(f"cannot write the journal {journal}: {error.strerror}") from error


def _load(journal: Path) -> tuple[str, list[Change]]:
    try:
        head, *lines = journal.read_text().splitlines()
        return json.loads(head)["boot"], [Change(**json.loads(line)) for line in lines]
    except FileNotFoundError as error:
        raise TareError("nothing to revert: tare has changed no setting") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TareError(f"cannot read the journal {journal}: {error}") from error
