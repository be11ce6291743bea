"""Fixtures of the contract tests of `filters`: variants started by hand, the experiment's hooks."""

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from harness import Site, loaded

from tare.lab.project import requirements


@pytest.fixture(scope="session")
def hooks() -> ModuleType:
    spec = importlib.util.spec_from_file_location("filters_hooks", loaded.folder / "hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Callable[..., Site]]:
    """Makes sites that are stopped when the test ends."""
    made: list[Site] = []

    def make(variant: str, **parameters: Any) -> Site:
        for item in requirements.missing(requirements.of(loaded, variant)):
            if item.cpu:
                pytest.skip(f"{variant} needs a CPU with {item.cpu}")
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Site(variant, folder, **parameters))
        return made[-1]

    yield make
    for one in made:
        one.stop()
