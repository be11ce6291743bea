"""The windows of a trial or duel that do not count: what goes wrong in them costs no trial."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tare.lab.errors import RoleError
from tare.lab.trial import duel, explain
from tare.lab.trial.site import Site
from tare.lab.trial.turns import BASELINE, VARIANT
from tare.model.instrument import Result


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("option", ["why", "tail"])
def test_a_disk_that_gets_full_meanwhile_is_told_and_ends_no_run(
    monkeypatch: pytest.MonkeyPatch, option: str
) -> None:
    noted: list[tuple[str, str]] = []
    journal = SimpleNamespace(write=lambda source, text: noted.append((source, text)))
    site = cast(Site, SimpleNamespace(bench=SimpleNamespace(journal=journal)))
    sites: dict[str, Any] = {BASELINE: site, VARIANT: site}
    monkeypatch.setattr(explain, "_profiled", full)
    monkeypatch.setattr(duel, "look_at_both", full)
    program = Path("program")
    found = (
        explain.explain(sites, lambda: [], program)
        if option == "why"
        else duel._tails(sites, program, [VARIANT, BASELINE])
    )
    assert isinstance(found, str) and "No space left on device" in found
    assert [text for _, text in noted if found in text]


@pytest.mark.parametrize("off", [{}, {"errors": "they are asked about"}])
def test_requests_that_fail_while_processes_are_observed_are_told(off: dict[str, str]) -> None:
    study = SimpleNamespace(gates={"off": off})
    bench = SimpleNamespace(loaded=SimpleNamespace(study=study, title="a study"))
    sites = {VARIANT: cast(Site, SimpleNamespace(bench=bench, parameters={}))}
    answer = {
        "event": "result", "schema": 1, "instrument": "load", "window_s": 1.0,
        "outcomes": {"requests": 90.0}, "errors": {"read": 10, "write": 0},
    }  # fmt: skip
    result = Result.model_validate(answer)
    if off:
        assert explain._requests(sites, result) == {VARIANT: 90}
    else:
        with pytest.raises(RoleError, match="errors while it was observed: read 10, expected at"):
            explain._requests(sites, result)
