"""The pairs of examples/known-changes: each can be measured, and a large change is found."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
from commandline import call
from commands import tare

from tare.lab.paths import ROOT

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "50", "-c", "2")


def module() -> ModuleType:
    file = ROOT / "examples" / "known-changes" / "run.py"
    spec = importlib.util.spec_from_file_location("known_changes", file)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = found
    spec.loader.exec_module(found)
    return found


RUN = module()


def commands(name: str) -> tuple[str, str]:
    try:
        old, new = RUN.PAIRS[name].commands()
    except RUN.Lacking as lacking:
        pytest.skip(str(lacking))
    return old, new


@pytest.mark.parametrize("name", list(RUN.PAIRS))
def test_each_pair_can_be_measured(tmp_path: Path, name: str) -> None:
    done = tare(tmp_path, "duel", *commands(name), *RUN.PAIRS[name].options, *SHORT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.timeout(600)
def test_a_sleep_of_1_ms_is_found(tmp_path: Path) -> None:
    old, new = commands("sleep")
    slow = new.replace("SLEEP_US=100", "SLEEP_US=1000")
    many = ("--duels", "8", "--duration", "1", "--rate", "60", "-c", "2")
    verdicts = set()
    for number in range(2):
        verdicts.add(verdict(tmp_path / str(number), old, slow, *many))
        if "costs" in verdicts:
            break
    if verdicts <= {"unresolved", None}:
        pytest.skip("other work of the machine disturbed the duels")
    assert verdicts <= {"costs", "unresolved", None}, verdicts


def verdict(folder: Path, *arguments: str) -> str | None:
    """Return the verdict on the second server's median latency; None if nothing was measured."""
    folder.mkdir()
    call(folder, "duel", *arguments)
    for file in folder.glob("runs/*/results.json"):
        (scenario,) = json.loads(file.read_text())["scenarios"]
        found: str = scenario["variants"]["new"]["outcomes"]["latency_p50_us"]["verdict"]
        return found
    return None


def test_the_table_has_what_was_found_and_what_could_not_be_had() -> None:
    told = {"verdict": "costs", "effect_pct": 1.25, "ci_pct": [0.5, 2.0]}
    assert RUN._told(told) == "costs: +1.2 % [+0.5, +2.0]"
    lacking = {"verdict": "unresolved", "effect_pct": None, "ci_pct": None}
    assert RUN._told(lacking) == "unresolved"

    def commands() -> tuple[str, str]:
        raise RUN.Lacking("x is not installed")

    (row,) = RUN._rows(RUN.Pair("X", "none", commands), [])
    assert row == (("X", "none", "not run: x is not installed", "", "", ""), True)


def test_a_duel_that_is_not_to_be_believed_is_no_finding() -> None:
    outcomes = {name: {"verdict": "costs"} for name in RUN.OUTCOMES}
    scenario = {"variants": {"new": {"outcomes": outcomes}}, "noise_floor": {"cpu": {}}}
    results = {"scenarios": [scenario], "answers": ["Do not believe this run: old differs."]}
    for verdict, alarmed in (("costs", True), ("saves", True), ("equivalent", False)):
        scenario["noise_floor"] = {"cpu": {"verdict": verdict}}
        if alarmed:
            with pytest.raises(RUN.Lacking, match="Do not believe this run"):
                RUN._outcomes(results)
        else:
            assert len(RUN._outcomes(results)) == len(RUN.OUTCOMES)


def test_an_effect_of_two_or_more_is_told_as_a_factor() -> None:
    outcome = {"verdict": "costs", "effect_pct": 343.2, "ci_pct": [326.0, 389.9]}
    assert RUN._told(outcome) == "costs: 4.43 times [4.26, 4.90]"
