"""A laboratory of one's own for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import Laboratory


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Laboratory]:
    laboratory = Laboratory(tmp_path)
    yield laboratory
    laboratory.assert_nothing_left()
