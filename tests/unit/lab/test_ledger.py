import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tare.lab.errors import TareError
from tare.lab.machine.cgroup import MOUNT, detect
from tare.lab.machine.ledger import SHARED_MEMORY, Ledger, sweep, sweep_all
from tare.lab.machine.proc import ended, session_pids, start_time

OWNER = """
import subprocess, sys, time
from pathlib import Path
from tare.lab.machine import cgroup
from tare.lab.machine.ledger import Ledger
file, tag, leave = Path(sys.argv[1]), sys.argv[2], sys.argv[3:] == ["leave"]
hierarchy = cgroup.detect()
ledger = Ledger(file, tag, hierarchy.run(tag), guarded=True)
role = subprocess.Popen(["sleep", "60"], start_new_session=True, stdout=subprocess.DEVNULL)
ledger.add_session(role.pid)
group = hierarchy.role(tag, "sut")
if group:
    group.create([0])
Path(f"/dev/shm/{tag}.trial").touch()
if leave:
    ledger.leave()
print(role.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture
def tag() -> Iterator[str]:
    name = f"tare-ledger-{os.getpid()}"
    yield name
    for path in SHARED_MEMORY.glob(f"{name}*"):
        path.unlink()
    if (group := detect().run(name)) is not None:
        group.remove()


@pytest.fixture
def sleeper() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as process:
        yield process
        process.kill()


def soon(holds: Callable[[], bool]) -> bool:
    give_up = time.monotonic() + 20
    while not holds() and time.monotonic() < give_up:
        time.sleep(0.01)
    return holds()


def owner(file: Path, tag: str, *more: str) -> "tuple[subprocess.Popen[str], int]":
    """A process that owns a ledger, and the role it has started."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(file), tag, *more], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()


def test_the_guardian_sweeps_when_its_owner_is_killed(tmp_path: Path, tag: str) -> None:
    file = tmp_path / "ledger"
    process, role = owner(file, tag)
    group = detect().run(tag)
    assert not sweep(file), "its owner lives"
    kill(process)
    assert soon(lambda: not file.exists())
    assert ended(role)
    assert not (SHARED_MEMORY / f"{tag}.trial").exists()
    assert group is None or not any(folder.exists() for folder in group.folders.values())


def test_a_ledger_that_was_just_begun_is_swept_too(tmp_path: Path) -> None:
    file, script = tmp_path / "ledger", tmp_path / "killed.py"
    script.write_text(
        "import os, sys\n"
        "from pathlib import Path\n"
        "from tare.lab.machine.ledger import Ledger\n"
        "Ledger._write = lambda *_: os.kill(os.getpid(), 9)\n"
        "Ledger(Path(sys.argv[1]), 'tare-none', None, guarded=True)\n"
    )
    done = subprocess.run([sys.executable, script, file], check=False)
    assert done.returncode == -signal.SIGKILL
    assert soon(lambda: not file.exists())


def test_what_is_left_on_purpose_outlives_its_owner(tmp_path: Path, tag: str) -> None:
    file = tmp_path / "ledger"
    process, role = owner(file, tag, "leave")
    kill(process)
    assert file.exists() and not ended(role)
    assert sweep(file)
    assert soon(lambda: ended(role)) and not file.exists()


def test_closing_sweeps_and_removes(
    tmp_path: Path, tag: str, sleeper: "subprocess.Popen[bytes]"
) -> None:
    ledger = Ledger(tmp_path / "ledger", tag, None)
    ledger.add_session(sleeper.pid)
    ledger.close()
    assert sleeper.wait() == -signal.SIGKILL
    assert not (tmp_path / "ledger").exists()


def test_a_group_that_a_role_made_beside_its_own_is_removed(
    tmp_path: Path, tag: str, sleeper: "subprocess.Popen[bytes]"
) -> None:
    unified = [MOUNT, MOUNT / "unified"]
    tops = [top for top in unified if (top / "cgroup.controllers").exists()]
    if not tops or not os.access(tops[0], os.W_OK):
        pytest.skip("no control groups of version 2 to write to")
    group = tops[0] / f"tare-tool.{sleeper.pid}.0"
    group.mkdir()
    (group / "cgroup.procs").write_text(str(sleeper.pid))
    ledger = Ledger(tmp_path / "ledger", tag, None)
    ledger.add_session(sleeper.pid)
    ledger.close()
    assert not group.exists()


def test_a_number_that_is_somebody_elses_by_now_is_not_killed(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    start = start_time(sleeper.pid)
    assert start is not None
    assert session_pids(sleeper.pid, start) == [sleeper.pid]
    assert session_pids(sleeper.pid, start + 1) == []
    ledger = Ledger(tmp_path / "ledger", "tare-none", None)
    with (tmp_path / "ledger").open("a") as stream:
        stream.write(json.dumps({"session": sleeper.pid, "start": start - 1}) + "\n")
    ledger.close()
    assert sleeper.poll() is None


def test_numbers_of_another_boot_are_not_killed(
    tmp_path: Path, sleeper: "subprocess.Popen[bytes]"
) -> None:
    entries = [
        {"tag": "tare-none", "boot": "another", "owner": sleeper.pid, "start": 1},
        {"session": sleeper.pid, "start": start_time(sleeper.pid)},
    ]
    file = tmp_path / "ledger"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    assert sweep(file)
    assert sleeper.poll() is None and not file.exists()


def test_a_ledger_has_one_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _: None)
    ledger = Ledger(tmp_path / "ledger", "tare-none", None)
    with pytest.raises(TareError, match=f"{tmp_path} is in use by another process"):
        Ledger(tmp_path / "ledger", "tare-none", None)
    sweep_all([tmp_path / "ledger", tmp_path / "absent"])
    assert (tmp_path / "ledger").exists()
    ledger.close()


def test_sweeping_waits_for_a_guardian_at_work(tmp_path: Path) -> None:
    file = tmp_path / "ledger"
    file.write_text(json.dumps({"tag": "tare-none", "boot": "b", "owner": 2**22 + 1, "start": 1}))
    guardian = subprocess.Popen(
        [sys.executable, "-c", "import fcntl, sys, time; f = open(sys.argv[1]);"
         "fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(0.2)", str(file)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    assert guardian.stdout is not None
    guardian.stdout.readline()
    assert sweep(file)
    assert guardian.wait() == 0 and not file.exists()


def test_a_name_taken_anew_is_locked_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that looks for dead ones may remove a ledger between its opening and its lock."""
    file, flock, removals = tmp_path / "ledger", fcntl.flock, iter([True])

    def remove_first(descriptor: int, flags: int) -> None:
        if next(removals, False):
            file.unlink()
        flock(descriptor, flags)

    monkeypatch.setattr(fcntl, "flock", remove_first)
    ledger = Ledger(file, "tare-none", None)
    assert '"tag": "tare-none"' in file.read_text()
    ledger.close()


@pytest.mark.parametrize("torn", ['{"session": 1', '{"sess', "\x00\x00"])
def test_a_torn_line_costs_only_itself(
    tmp_path: Path, torn: str, sleeper: "subprocess.Popen[bytes]"
) -> None:
    ledger = Ledger(tmp_path / "ledger", "tare-none", None)
    with (tmp_path / "ledger").open("a") as stream:
        stream.write(torn)
    ledger.add_session(sleeper.pid)
    ledger.close()
    assert sleeper.wait() == -signal.SIGKILL


def test_what_is_noted_in_part_is_not_taken_for_noted(
    tmp_path: Path, tag: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that gets full within a line takes a part of it, which is no error of write(2)."""
    ledger, write = Ledger(tmp_path / "ledger", tag, None), os.write
    with monkeypatch.context() as full:
        full.setattr(os, "write", lambda file, line: write(file, line[:10]))
        with pytest.raises(OSError, match="No space left on device"):
            ledger.add_session(os.getpid())
    ledger.close()


def test_shared_memory_that_is_made_until_the_end_is_removed(tmp_path: Path, tag: str) -> None:
    memory = SHARED_MEMORY / f"{tag}.trial"
    again = ["sh", "-c", f"while :; do : >{memory}; done"]
    with subprocess.Popen(again, start_new_session=True) as process:
        ledger = Ledger(tmp_path / "ledger", tag, None)
        ledger.add_session(process.pid)
        assert soon(memory.exists)
        ledger.close()
    assert not memory.exists()


def test_shared_memory_of_a_longer_name_is_not_ones_own(tmp_path: Path, tag: str) -> None:
    mine, other = SHARED_MEMORY / f"{tag}.site", SHARED_MEMORY / f"{tag}-2.site"
    mine.touch()
    other.touch()
    Ledger(tmp_path / "ledger", tag, None).close()
    assert other.exists() and not mine.exists()


def test_an_ended_process_is_told_from_a_living_one() -> None:
    child = subprocess.Popen(["true"])
    assert soon(lambda: ended(child.pid))  # a zombie: nobody has waited for it
    child.wait()
    assert ended(child.pid) and start_time(child.pid) is None
    assert not ended(os.getpid())
