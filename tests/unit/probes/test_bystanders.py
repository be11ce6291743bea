"""Other processes that use the CPU."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tare.probes.bystanders import Bystander, busy, named


@pytest.fixture
def spinning(tmp_path: Path) -> Iterator[int]:
    """A process that does nothing but use a CPU, under a name of its own."""
    program = tmp_path / "spin-of-test"
    program.symlink_to(sys.executable)
    with subprocess.Popen([program, "-c", "while True: pass"]) as child:
        yield child.pid
        child.kill()


def test_who_uses_the_cpu_is_named(spinning: int) -> None:
    found = [each for each in busy(0.5) if spinning in each.pids]
    assert [each.name for each in found] == ["spin-of-test"]
    assert found[0].share > 0


def test_this_process_is_no_bystander() -> None:
    assert not [each for each in busy(0.2) if os.getpid() in each.pids]


def test_names_may_hold_anything(tmp_path: Path) -> None:
    for pid, name in ((7, "a) b (c"), (8, "")):
        folder = tmp_path / str(pid)
        folder.mkdir()
        (folder / "stat").write_text(f"{pid} ({name}) R {'0 ' * 10}5 6 {'0 ' * 8}")
    (tmp_path / "9").mkdir()  # one that has ended
    assert busy(0.15, proc=tmp_path) == [], "nothing moved"


def test_a_kernel_worker_that_changes_its_name_is_one_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "7"
    folder.mkdir()
    ticks = iter(range(1000, 100_000, 20))

    def sleep(_: float) -> None:
        used = next(ticks)
        name = f"kworker/u8:{used}-writeback"
        (folder / "stat").write_text(f"7 ({name}) R {'0 ' * 10}{used} 0 {'0 ' * 8}")

    sleep(0)
    monkeypatch.setattr("tare.probes.bystanders.time.sleep", sleep)
    monkeypatch.setattr("tare.probes.bystanders.time.monotonic", iter(range(100)).__next__)
    (found,) = busy(10, proc=tmp_path)
    assert (found.name, found.pids) == ("kworker", (7,))
    assert found.share < 1, "only what it used while it was watched"


def test_the_busiest_are_told_in_words() -> None:
    found = [Bystander("cc1", (4, 5), 1.5), Bystander("make", (3,), 0.2)]
    assert named(found) == "cc1 (2 processes, 150 % of a CPU), make (process 3, 20 % of a CPU)"
    assert named(found * 2).endswith(", …")
