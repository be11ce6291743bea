"""Fixtures of the contract tests of `echo`."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from echo_server import BPF, SHAPES, VARIANTS, Server, may_load_bpf


@pytest.fixture(params=VARIANTS)
def variant(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    if name in BPF and not may_load_bpf():
        pytest.skip("BPF programs are loaded as root only")
    return name


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts servers that are stopped when the test ends."""
    made: list[Server] = []

    def start(variant: str, *arguments: str, wrap: tuple[str, ...] = ()) -> Server:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Server(variant, folder, *arguments, wrap=wrap))
        return made[-1]

    yield start
    for one in made:
        one.kill()
