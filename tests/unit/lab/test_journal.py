import re
from pathlib import Path

import pytest

from tare.lab.machine.journal import Journal

STAMP = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z "


def lines(file: Path) -> list[str]:
    return [re.sub(STAMP, "", line) for line in file.read_text().splitlines()]


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "events.log")


def test_each_line_is_stamped_and_named(tmp_path: Path, journal: Journal) -> None:
    journal.write("sut", "one\ntwo")
    text = (tmp_path / "events.log").read_text()
    assert len(re.findall(STAMP, text, re.MULTILINE)) == 2
    assert lines(tmp_path / "events.log") == ["sut: one", "sut: two"]


def test_followed_logs_are_copied_by_whole_lines(tmp_path: Path, journal: Journal) -> None:
    log = tmp_path / "sut.log"
    log.write_bytes(b"half a ")
    journal.follow("sut", log)
    journal.poll()
    assert lines(tmp_path / "events.log") == []
    with log.open("ab") as stream:
        stream.write("line: ü\nand m".encode())
    journal.poll()
    assert lines(tmp_path / "events.log") == ["sut: half a line: ü"]
    with log.open("ab") as stream:
        stream.write(b"ore \xff")
    journal.unfollow(tmp_path)
    assert lines(tmp_path / "events.log")[1:] == ["sut: and more \N{REPLACEMENT CHARACTER}"]
    log.write_text("later\n" * 99)
    journal.poll()
    assert len(lines(tmp_path / "events.log")) == 2


def test_a_log_of_several_processes_is_copied_once(tmp_path: Path, journal: Journal) -> None:
    log = tmp_path / "load.log"
    for word in ("one", "two"):
        journal.follow("load", log)
        with log.open("a") as stream:
            stream.write(f"{word}\n")
        journal.poll()
    assert lines(tmp_path / "events.log") == ["load: one", "load: two"]


def test_the_other_side_of_a_duel_is_followed_to_its_own_end(
    tmp_path: Path, journal: Journal
) -> None:
    logs = [tmp_path / side / "sut.log" for side in ("one", "other")]
    for log in logs:
        log.parent.mkdir()
        journal.follow(log.parent.name, log)
    journal.unfollow(logs[0].parent)
    for log in logs:
        log.write_text("bye\n")
    journal.unfollow(logs[1].parent)
    assert lines(tmp_path / "events.log") == ["other: bye"]


def test_a_log_that_its_role_removed_is_no_error(tmp_path: Path, journal: Journal) -> None:
    journal.follow("sut", tmp_path / "gone.log")
    journal.unfollow(tmp_path)
    assert lines(tmp_path / "events.log") == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_disk_costs_lines_that_are_counted(tmp_path: Path) -> None:
    journal = Journal(Path("/dev/full"))
    journal.write("sut", "lost\nlost too")
    journal._stream = (tmp_path / "events.log").open("ab", buffering=0)
    journal.write("sut", "kept")
    journal.write("sut", "also")
    journal.close()
    assert lines(tmp_path / "events.log") == [
        "sut: (2 lines before this could not be stored)",
        "sut: kept",
        "sut: also",
    ]
