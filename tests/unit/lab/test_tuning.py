import json
from pathlib import Path

import pytest

from tare.lab.errors import TareError
from tare.lab.machine import tuning
from tare.lab.machine.tuning import Change
from tare.probes.settings import settings

KNOWN = settings([0])


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for path, content in {
        "proc/sys/vm/swappiness": "60",
        "proc/sys/kernel/numa_balancing": "0",
        "sys/block/vda/queue/scheduler": "bfq",
        "sys/block/vdb/queue/scheduler": "none",
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content)
    return root


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    return tmp_path / "state" / "tuning.jsonl"


def values(root: Path) -> dict[str, str]:
    return {
        str(file.relative_to(root)): file.read_text() for file in root.rglob("*") if file.is_file()
    }


def test_only_what_differs_would_change(machine: Path) -> None:
    found = tuning.plan(KNOWN, machine)
    assert [(each.setting, each.old, each.new) for each in found] == [
        ("swappiness", "60", "10"),
        ("disk scheduler", "bfq", "none"),
    ]


def test_what_was_applied_is_restored_exactly(machine: Path, journal: Path) -> None:
    before = values(machine)
    done = tuning.apply(tuning.plan(KNOWN, machine), journal)
    assert [each.status for each in done] == ["done", "done"]
    assert values(machine) != before and tuning.plan(KNOWN, machine) == []
    with pytest.raises(TareError, match="run tare doctor --revert first"):
        tuning.apply([], journal)
    assert {each.status for each in tuning.revert(journal)} == {"done"}
    assert values(machine) == before and not journal.exists()
    with pytest.raises(TareError, match="nothing to revert"):
        tuning.revert(journal)


def test_without_a_change_there_is_nothing_to_revert(journal: Path) -> None:
    assert tuning.apply([], journal) == [] == tuning.apply([], journal)
    with pytest.raises(TareError, match="nothing to revert"):
        tuning.revert(journal)


@pytest.mark.parametrize("written", [0, 1])
def test_a_crash_while_applying_loses_no_old_value(
    machine: Path, journal: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    before = values(machine)
    plan, write, calls = tuning.plan(KNOWN, machine), tuning._write, []

    def crash(change: Change, value: str) -> tuning.Outcome:
        calls.append(change)
        if len(calls) > written:
            raise KeyboardInterrupt
        return write(change, value)

    with monkeypatch.context() as patched:
        patched.setattr(tuning, "_write", crash)
        with pytest.raises(KeyboardInterrupt):
            tuning.apply(plan, journal)
    assert (values(machine) != before) == (written > 0)
    tuning.revert(journal)
    assert values(machine) == before


def test_what_cannot_be_restored_stays_in_the_journal(machine: Path, journal: Path) -> None:
    tuning.apply(tuning.plan(KNOWN, machine), journal)
    scheduler = machine / "sys/block/vda/queue/scheduler"
    scheduler.unlink()
    scheduler.mkdir()
    assert sorted(each.status for each in tuning.revert(journal)) == ["denied", "done"]
    scheduler.rmdir()
    scheduler.write_text("none")
    (again,) = tuning.revert(journal)
    assert again.status == "done" and scheduler.read_text() == "bfq" and not journal.exists()


def test_a_disk_that_is_gone_needs_no_scheduler(machine: Path, journal: Path) -> None:
    tuning.apply(tuning.plan(KNOWN, machine), journal)
    (machine / "sys/block/vda/queue/scheduler").unlink()
    assert {each.status for each in tuning.revert(journal)} == {"done"}
    assert not (machine / "sys/block/vda/queue/scheduler").exists()


def test_after_another_start_of_the_machine_nothing_is_written(
    machine: Path, journal: Path
) -> None:
    tuning.apply(tuning.plan(KNOWN, machine), journal)
    tuned = values(machine)
    head, *lines = journal.read_text().splitlines()
    assert set(json.loads(head)) == {"boot"}
    journal.write_text("\n".join([json.dumps({"boot": "another"}), *lines]))
    assert tuning.revert(journal) == []
    assert values(machine) == tuned and not journal.exists()


@pytest.mark.parametrize("content", ["", "no json\n", "{}\n", '{"boot": "x"}\n{"file": 1}\n'])
def test_a_damaged_journal_is_told_of(journal: Path, content: str) -> None:
    journal.parent.mkdir()
    journal.write_text(content)
    with pytest.raises(TareError, match="cannot read the journal"):
        tuning.revert(journal)
    assert journal.exists()
