import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from tare.lab.errors import RoleError
from tare.lab.machine.cgroup import Group
from tare.lab.machine.proc import ended, session_pids
from tare.lab.machine.process import Place, Process, ending, wait_until

Start = Callable[[str], Process]


class Room:
    """A control group that knows only whether it is there; processes are not in it."""

    def __init__(self) -> None:
        self.there = False

    def create(self, cpus: object) -> None:
        self.there = True

    def entrances(self) -> list[str]:
        return []

    def pids(self) -> list[int]:
        return []

    def remove(self) -> None:
        self.there = False


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts shell scripts as the role `sut`, without control groups."""
    started: list[Process] = []

    def make(script: str) -> Process:
        process = Process(
            "sut",
            ["sh", "-c", script],
            folder=tmp_path,
            env={"PATH": os.environ["PATH"]},
            log=tmp_path / "sut.log",
            place=Place(None, sorted(os.sched_getaffinity(0))[:1]),
        )
        started.append(process)
        return process

    yield make
    for process in started:
        process.kill()


def said(process: Process, text: str) -> bool:
    return wait_until(lambda: text in process.log.read_text(), [process], 20)


def test_it_runs_in_its_folder_on_its_cpus_in_a_session_of_its_own(
    start: Start, tmp_path: Path
) -> None:
    process = start("pwd; echo up; exec sleep 60")
    assert said(process, "up")
    assert process.log.read_text().startswith(f"{tmp_path}\n")
    assert os.sched_getaffinity(process.pid) == {min(os.sched_getaffinity(0))}
    assert os.getsid(process.pid) == process.pid
    assert process.pids() == [process.pid]


def test_it_is_noted_before_it_becomes_the_role(tmp_path: Path) -> None:
    file = tmp_path / "noted"
    process = Process(
        "sut",
        ["cat", str(file)],
        folder=tmp_path,
        env={"PATH": os.environ["PATH"]},
        log=tmp_path / "log",
        place=Place(None, sorted(os.sched_getaffinity(0))),
        enrol=lambda pid: print(pid, os.getsid(0), end="", file=file.open("w"), flush=True),
    )
    assert process.child.wait() == 0
    assert (tmp_path / "log").read_text() == f"{process.pid} {process.pid}"
    process.kill()


def test_an_early_end_is_named_with_the_last_lines_of_the_log(start: Start) -> None:
    process = start("for i in 1 2 3 4 5 6 7; do echo line $i; done; exit 3")
    with pytest.raises(RoleError) as caught:
        wait_until(lambda: False, [process], 20)
    assert str(caught.value) == (
        "role sut ended with exit code 3: line 2 | line 3 | line 4 | line 5 | line 6 | line 7"
    )


def test_one_that_goes_into_the_background_is_told_to_stay(start: Start) -> None:
    process = start("sleep 60 & echo begun")
    with pytest.raises(RoleError, match=r"exit code 0; it must stay in the foreground: begun$"):
        wait_until(lambda: False, [process], 20)


def test_an_end_without_a_word_is_named_too(start: Start) -> None:
    process = start("kill -KILL $$")
    with pytest.raises(RoleError, match="ended with signal SIGKILL, having printed nothing"):
        wait_until(lambda: False, [process], 20)


def test_readiness_of_a_role_that_ended_is_somebody_elses(start: Start) -> None:
    process = start("exit 1")
    process.child.wait()
    with pytest.raises(RoleError):
        wait_until(lambda: True, [process], 20)


def test_waiting_ends(start: Start) -> None:
    assert not wait_until(lambda: False, [start("sleep 60")], 0.01)


def test_it_ends_when_asked(start: Start) -> None:
    assert start("exec sleep 60").stop(signal.SIGTERM, 20)


def test_one_that_ignores_the_signal_is_killed_and_reported(start: Start) -> None:
    process = start("trap '' TERM; echo up; while :; do sleep 60; done")
    assert said(process, "up")
    pids = process.pids()
    assert not process.stop(signal.SIGTERM, 0.05)
    assert all(ended(pid) for pid in pids)


def test_children_do_not_outlive_it(start: Start) -> None:
    process = start("sleep 60 & echo up; exec sleep 60")
    assert said(process, "up")
    pids = process.pids()
    assert len(pids) == 2
    assert process.stop(signal.SIGTERM, 20)
    assert wait_until(lambda: all(ended(pid) for pid in pids), [], 20)


def test_one_that_was_made_while_others_were_killed_does_not_outlive_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = start("sleep 60 & echo up; exec sleep 60")
    assert said(process, "up")
    pids, looks = process.pids(), iter([[process.pid]])
    monkeypatch.setattr(
        "tare.lab.machine.process.session_pids",
        lambda leader, began: next(looks, None) or session_pids(leader, began),
    )
    process.kill()
    assert len(pids) == 2 and all(ended(pid) for pid in pids)


def test_one_that_left_its_group_is_killed_and_not_waited_for(tmp_path: Path) -> None:
    process = Process(
        "sut",
        ["sleep", "20"],
        folder=tmp_path,
        env={"PATH": os.environ["PATH"]},
        log=tmp_path / "log",
        place=Place(cast(Group, Room()), sorted(os.sched_getaffinity(0))),
    )
    process.kill()
    assert process.child.returncode == -signal.SIGKILL


def test_what_cannot_be_started_is_named_and_leaves_no_group_with_its_limits(
    tmp_path: Path,
) -> None:
    room = Room()
    for place in (Place(None, [0]), Place(cast(Group, room), sorted(os.sched_getaffinity(0)))):
        with pytest.raises(RoleError, match="role sut: cannot start no-such-program"):
            Process(
                "sut",
                ["no-such-program"],
                folder=tmp_path,
                env={},
                log=tmp_path / "log",
                place=place,
            )
    assert not room.there


def test_endings_in_words() -> None:
    assert ending(2) == "exit code 2" and ending(-15) == "signal SIGTERM"


def test_a_log_that_would_fill_the_disk_ends_it(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tare.lab.machine.process.MOST_LOG", 1 << 20)
    process = start("yes and again | head -c 3000000; echo the end; exec sleep 60")
    with pytest.raises(RoleError, match="role sut wrote more than 1 MB to standard output and "):
        wait_until(lambda: False, [process], 60)


def test_a_role_may_remove_its_own_log(start: Start, tmp_path: Path) -> None:
    process = start("rm sut.log; touch up; exec sleep 60")
    assert wait_until((tmp_path / "up").exists, [process], 20)
    process.ensure_alive()
    assert process.last_words() == ", having printed nothing"


def test_the_last_words_of_a_long_log_are_its_end(start: Start) -> None:
    process = start("yes and again | head -c 3000000; echo the end; exec sleep 60")
    assert wait_until(lambda: process.last_words().endswith("and again | the end"), [process], 60)


def test_the_last_words_are_short_and_command_no_terminal(start: Start) -> None:
    process = start("printf '\\033[2Jx\\n'; head -c 5000 /dev/zero | tr '\\0' y; exec sleep 60")
    assert wait_until(lambda: process.last_words().endswith("…"), [process], 60)
    first, _, last = process.last_words().removeprefix(": ").partition(" | ")
    assert first == "\ufffd[2Jx"
    assert set(last) == {"y", "…"} and len(last) == 300
