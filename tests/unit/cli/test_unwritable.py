"""Errors of the system in a sentence."""

import errno
from pathlib import Path

import pytest

from tare.cli.unwritable import unwritable


def told(code: int, file: Path) -> str:
    return unwritable(OSError(code, "some words", str(file)))


def test_only_what_cannot_be_written_names_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path))
    log = tmp_path / "a" / "sut.log"
    assert told(errno.ENOENT, log) == f"{log}: No such file or directory"
    for code in (errno.EACCES, errno.ENOSPC, errno.EROFS):
        words = told(code, log)
        assert words.startswith(f"cannot write {log} (") and "set TARE_RUNS to a folder" in words
    assert told(errno.EACCES, Path("/elsewhere")) == "/elsewhere: Permission denied"


def test_a_folder_that_cannot_be_made_names_its_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "none"
    monkeypatch.setenv("TARE_RUNS", str(missing))
    assert told(errno.ENOENT, missing).startswith(f"cannot write {missing} (No such file")
