"""The windows of a trial or duel that do not count: what goes wrong in them costs no trial."""

import errno
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tare.lab.errors import RoleError
from tare.lab.trial import duel, explain, tail
from tare.lab.trial.site import Site
from tare.lab.trial.turns import BASELINE, VARIANT
from tare.model.instrument import Result
from tare.model.tail import SideTail, Tail, Tails


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


def observed(off: dict[str, str], observed_ns: int, **changes: Any) -> dict[str, float]:
    """Return what a window of one second counts as requests of the observed time."""
    study = SimpleNamespace(gates={"off": off})
    bench = SimpleNamespace(loaded=SimpleNamespace(study=study, title="a study"))
    site = cast(Site, SimpleNamespace(bench=bench, parameters={}))
    answer = {
        "event": "result", "schema": 1, "instrument": "load", "window_s": 1.0,
        "outcomes": {"requests": 90.0},
    }  # fmt: skip
    return explain._requests({VARIANT: site}, Result.model_validate(answer | changes), observed_ns)


def test_requests_are_those_of_the_time_in_which_processes_are_observed() -> None:
    assert observed({}, 10**9) == {VARIANT: 90}
    assert observed({}, 9 * 10**8) == {VARIANT: pytest.approx(81)}
    assert observed({}, 10**9, window_s=0.0) == {VARIANT: 0}


def test_requests_that_fail_while_processes_are_observed_are_told() -> None:
    errors = {"read": 10, "write": 0}
    with pytest.raises(RoleError, match="errors while it was observed: read 10, expected at most"):
        observed({}, 10**9, errors=errors)
    off = {"errors": "they are asked about"}
    assert observed(off, 10**9, errors=errors) == {VARIANT: 90}


def test_windows_with_lost_events_are_told_with_a_remedy() -> None:
    def both(lost: int) -> Tails:
        seen = Tail(requests=10, of=1000, from_ns=5, slow_ns=6, ordinary_ns=3, parts=[], lost=lost)
        side = SideTail(p99_ns=5, tail=seen)
        return Tails(sides={"baseline": side, "variant": side})

    assert tail.why_spoilt(both(0)) is None
    assert tail.why_spoilt(both(7)) == (
        "14 events found no room, so these windows are left out; take less --duration, or a lower "
        "rate"
    )
