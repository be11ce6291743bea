"""Fixtures of the contract tests of `sandbox`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandboxes import MODES, Sandbox


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    if os.geteuid() != 0:
        pytest.skip("sandboxes give workers users and control groups of their own, as root only")
    if request.param == "kvm" and not Path("/dev/kvm").exists():
        pytest.skip("no /dev/kvm")
    return str(request.param)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Sandbox]]:
    """Starts sandboxes that are stopped when the test ends."""
    made: list[Sandbox] = []

    def start(mode: str, *options: str) -> Sandbox:
        folder = tmp_path / f"sandbox-{len(made)}"
        folder.mkdir()
        made.append(Sandbox(mode, folder, *options))
        return made[-1]

    yield start
    for one in made:
        one.kill()
