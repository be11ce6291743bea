"""What of the cache is in memory is the machine's doing: the fill says so by its exit code."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tare.lab.paths import ROOT


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "cache"))
    for name in ("fill", "memory"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("fill")


def test_hot_objects_that_do_not_stay_in_memory_are_no_fault_of_the_cache(
    fill: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fill, "_file", lambda folder, path: folder / path)
    monkeypatch.setattr(fill, "_fetch", lambda *_: None)
    monkeypatch.setattr(fill.memory, "drop", lambda _: None)
    monkeypatch.setattr(fill.memory, "resident", lambda _: (2950, 3000))
    with pytest.raises(SystemExit) as ended:
        fill._settle("a cache", Path("/"), ["hot"], [])
    assert ended.value.code == os.EX_TEMPFAIL
    assert "2950 of 3000 pages of hot objects are in memory" in capsys.readouterr().err
