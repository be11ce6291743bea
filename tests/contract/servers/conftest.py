"""The command as the tests of own servers call it."""

from collections.abc import Callable
from pathlib import Path

import pytest
from commands import tare


@pytest.fixture
def duel(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Calls the command with its runs in a folder."""

    def call(*arguments: str) -> tuple[int, str]:
        done = tare(tmp_path, "duel", *arguments)
        return done.returncode, done.stdout + done.stderr

    return call
