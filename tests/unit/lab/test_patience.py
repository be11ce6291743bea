"""The end of a run that the machine spoils."""

from typing import Any

import pytest

from tare.lab.errors import Disturbed
from tare.lab.run.patience import SPOILT_MAX, Patience, spoilt
from tare.model.trial import Trial
from tare.probes.bystanders import Bystander


def trial(status: str = "invalid", *kinds: str, **fields: Any) -> Trial:
    """An attempt that gates of these kinds refused."""
    gates = [
        {"name": kind, "kind": kind, "ok": False, "found": "1", "wanted": "0"} for kind in kinds
    ]
    known = {
        "id": "b00-s0-a",
        "block": 0,
        "scenario": "default",
        "label": "a",
        "variant": "a",
        "attempt": 1,
        "status": status,
        "reason": "steal: much, wanted little",
        "started": "now",
        "wall_s": 1.0,
        "gates": gates,
    }
    return Trial.model_validate(known | fields)


DISTURBED = trial("invalid", "machine", "generator")


@pytest.mark.parametrize(
    ("found", "is_spoilt"),
    [
        (DISTURBED, True),
        (trial("invalid", machine_fault=True), True),
        (trial("invalid"), False),
        (trial("invalid", "machine", "load"), False),
        (trial("failed", "machine"), False),
        (trial("valid"), False),
    ],
)
def test_only_the_machine_spoils(found: Trial, is_spoilt: bool) -> None:
    assert spoilt(found) is is_spoilt


def test_the_run_ends_with_the_name_of_who_disturbs() -> None:
    patience = Patience("run-7", lambda _: [Bystander("cc1", (4, 5), 1.8)])
    for _ in range(SPOILT_MAX - 1):
        patience.see([DISTURBED] * 3)
    with pytest.raises(Disturbed) as ended:
        patience.see([DISTURBED])
    assert str(ended.value).split("\n") == [
        "the machine spoilt 6 trials in a row; the last one: steal: much, wanted little",
        "other processes on the CPUs: cc1 (2 processes, 180 % of a CPU)",
        "stop them, then go on with: tare resume run-7",
    ]


def test_where_nobody_disturbs_the_end_says_what_trials_lack() -> None:
    lacks = ["only affinity and nice isolate; run as root", "idle CPUs sleep"]

    def end(last: Trial) -> list[str]:
        patience = Patience("run-7", lambda _: [])
        for _ in range(SPOILT_MAX - 1):
            patience.see([DISTURBED], lacks)
        with pytest.raises(Disturbed) as ended:
            patience.see([last], lacks)
        return str(ended.value).split("\n")[1:]

    assert end(DISTURBED) == [
        "other processes on the CPUs: none that is busy now",
        "what trials lack here: only affinity and nice isolate; run as root",
        "what trials lack here: idle CPUs sleep",
        "go on with: tare resume run-7",
    ]
    full = end(trial("invalid", machine_fault=True))
    assert full[1:] == ["go on with: tare resume run-7"]


def test_one_that_counts_or_fails_begins_the_count_again() -> None:
    patience = Patience("run-7", lambda _: [])
    for last in (trial("valid"), trial("failed")):
        for _ in range(SPOILT_MAX - 1):
            patience.see([DISTURBED])
        patience.see([DISTURBED, last])
    patience.see([DISTURBED])
