import sys
from pathlib import Path

import pytest

from tare.model.given_up import counting, given_up, needs
from tare.model.trial import RANGE, Gate, Plan, Trial

sys.path.insert(0, str(Path(__file__).parents[1] / "stats"))
from blocked import CLOSED, OPEN, plan, trials

BASELINES = {"script": "build"}
VARIANTS = ["none", "build", "script"]
ALL = {*VARIANTS, "control"}


def made(pairing: str) -> Plan:
    return plan(pairing=pairing, variants=VARIANTS, baselines=BASELINES)


def ended(variant: str, status: str, times: int) -> list[Trial]:
    """So many trials of a variant that ended so, in the closed loop."""
    (first, *_) = trials(plan(), 1)
    own = {"scenario": CLOSED.name, "variant": variant, "status": status}
    return [first.model_copy(update={**own, "block": block}) for block in range(times)]


@pytest.mark.parametrize(
    ("pairing", "variant", "status", "times", "lost"),
    [
        ("trials", "script", "failed", 1, set()),
        ("trials", "script", "failed", 2, {"script"}),
        ("trials", "build", "failed", 2, {"build"}),
        ("trials", "none", "failed", 2, ALL),
        ("trials", "none", "unavailable", 1, {"none", "control"}),
        ("slices", "script", "unavailable", 1, {"script"}),
        ("slices", "build", "unavailable", 1, {"build", "script"}),
        ("slices", "build", "failed", 2, {"build", "script"}),
        ("slices", "none", "failed", 1, set()),
        ("slices", "none", "failed", 2, ALL),
        ("slices", "none", "unavailable", 1, ALL),
    ],
)
def test_what_cannot_be_compared_is_given_up_in_its_scenario(
    pairing: str, variant: str, status: str, times: int, lost: set[str]
) -> None:
    own = ended(variant, status, times)
    assert given_up(made(pairing), CLOSED.name, own) == lost
    assert given_up(made(pairing), OPEN.name, own) == set()


def test_a_duel_needs_its_baseline_and_that_of_the_control() -> None:
    assert needs(made("slices"), "script") == ["script", "build", "none"]
    assert needs(made("slices"), "control") == ["none"]
    assert needs(made("trials"), "script") == ["script"]


def beyond(variant: str) -> Trial:
    """A trial whose search found that even the highest rate holds."""
    (trial,) = ended(variant, "invalid", 1)
    gate = Gate(name=RANGE, kind="analysis", ok=False, found="even 100 held", wanted="less")
    return trial.model_copy(update={"gates": [gate], "reason": "even 100 held"})


@pytest.mark.parametrize(
    ("pairing", "variant", "lost"),
    [
        ("trials", "script", {"script"}),
        ("trials", "none", {"none", "control"}),
        ("slices", "build", {"build", "script"}),
        ("slices", "none", ALL),
    ],
)
def test_an_answer_outside_the_range_ends_its_variant(
    pairing: str, variant: str, lost: set[str]
) -> None:
    own = [beyond(variant)]
    assert given_up(made(pairing), CLOSED.name, own) == lost
    assert given_up(made(pairing), OPEN.name, own) == set()


def test_answers_within_the_range_do_not_count_beside_one_outside() -> None:
    within, other = ended("script", "valid", 2), ended("build", "valid", 1)
    elsewhere = within[0].model_copy(update={"scenario": OPEN.name})
    found = counting([*within, beyond("script"), *other, elsewhere])
    assert [trial.status for trial in found] == ["invalid"] * 3 + ["valid"] * 2
    assert {trial.reason for trial in found[:3]} == {"even 100 held"}
