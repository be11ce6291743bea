"""The audit log has what was done and what was stopped, whoever wants it otherwise."""

import contextlib
import hashlib
import json
import os
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sandboxes import Refused, Sandbox, as_it_runs, udf, wait_until, wire

MODE = pytest.mark.parametrize("mode", ["namespaces"], indirect=True)
QUOTED = 'x","event":"load","ok":true,"y":"'
ENDS_OF_LINES = "\r\x0b\x0c\x1c\x85\u2028\u2029\x7f"
FORGED = 'x\n{"seq":1,"time":"","event":"load","name":"forged","ok":true}\n'


def records(file: Path) -> list[dict[str, Any]]:
    """Every line of the file, each of which is a record in ASCII."""
    text = file.read_bytes().decode("ascii") if file.exists() else ""
    whole, _, _ = text.rpartition("\n")
    # As a program would that knows more ends of lines than this.
    return [json.loads(line) for line in whole.splitlines()]


def events(file: Path, event: str) -> list[dict[str, Any]]:
    return [record for record in records(file) if record["event"] == event]


def there(file: Path, event: str, count: int) -> list[dict[str, Any]]:
    """So many records of a kind, once they are written."""
    wait_until(lambda: len(events(file, event)) >= count, lambda: f"no {event}: {records(file)}")
    return events(file, event)


def attack(name: str) -> bytes:
    return bytes(wire.bytes_field(1, name.encode()))


@pytest.mark.parametrize("mode", ["namespaces", "wasm"], indirect=True)
def test_loads_calls_and_kills_are_there(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = tmp_path / "audit"
    sandbox = serve(mode, "--audit", str(file))
    sandbox.load("udf", udf("attack"), "--workers", "1", "--deadline-ms", "20000")
    sandbox.call("udf", attack("hello"))
    # While it waits for a worker a call meets its deadline, too, and nobody is killed.
    wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "not refilled")
    with pytest.raises(Refused, match="deadline"):
        sandbox.call("udf", attack("hang"), deadline_ms=500)
    with pytest.raises(Refused):
        sandbox.call("none")
    sandbox.unload("udf")
    there(file, "unload", 1)
    assert sandbox.stop() == 0
    [start, *_, end] = records(file)
    assert (start["event"], start["mode"]) == ("start", mode)
    assert start["daemon"] == sandbox.process.pid
    assert (end["event"], end["dropped"], end["unwritten"]) == ("end", 0, 0)
    assert [record["seq"] for record in records(file)] == list(range(1, len(records(file)) + 1))
    [load] = events(file, "load")
    binary = Path(as_it_runs(mode, str(udf("attack")))).read_bytes()
    assert (load["name"], load["ok"], load["bytes"]) == ("udf", True, len(binary))
    assert load["sha256"] == hashlib.sha256(binary).hexdigest()
    good, late, unknown = events(file, "call")
    assert (good["ok"], good["pid"], good["uid"]) == (True, os.getpid(), os.geteuid())
    assert good["request_bytes"] == len(attack("hello")) and good["response_bytes"] > 0
    assert (late["ok"], late["kind"]) == (False, "deadline")
    assert (unknown["name"], unknown["kind"]) == ("none", "unloaded")
    [kill] = events(file, "kill")
    assert (kill["name"], kill["reason"]) == ("udf", "deadline")
    assert kill["limit"] == {"deadline_ms": 500}


@MODE
def test_a_kill_has_the_limit_that_was_hit(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = tmp_path / "audit"
    sandbox = serve(mode, "--audit", str(file))
    limits = ("--workers", "1", "--memory-mb", "16", "--cpu-s", "1", "--deadline-ms", "60000")
    sandbox.load("udf", udf("attack"), *limits)
    for name, limit in [
        ("memory_bomb", {"memory_bytes": 16 << 20}),
        ("endless_loop", {"cpu_s": 1}),
    ]:
        before = len(events(file, "kill"))
        with pytest.raises(Refused):
            sandbox.call("udf", attack(name))
        assert there(file, "kill", before + 1)[-1]["limit"] == limit


@MODE
def test_no_name_forges_a_record(mode: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    file = tmp_path / "audit"
    sandbox = serve(mode, "--audit", str(file))
    names = [FORGED, QUOTED, ENDS_OF_LINES, "ä" * 9999]
    for name in names:
        with pytest.raises(Refused):
            sandbox.call(name)
        done = sandbox.cli("load", "--", name, "/dev/null", text=True)
        assert done.returncode != 0
    loads, calls = there(file, "load", 4), there(file, "call", 4)
    for name, load, call in zip(names, loads, calls, strict=True):
        expected = name if len(name) <= 256 else name[:256] + "…"
        assert (load["name"], load["ok"]) == (expected, False)
        assert (call["name"], call["ok"]) == (expected, False)


@MODE
def test_what_is_no_request_is_there_and_ends_the_connection_alone(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = tmp_path / "audit"
    sandbox = serve(mode, "--audit", str(file))
    invalid = wire.bytes_field(2, wire.bytes_field(1, b"\xff\n{\xc0"))
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        line.sendall(wire.varint(len(invalid)) + invalid)
        assert line.recv(1) == b""
    [found] = there(file, "invalid", 1)
    assert found["pid"] == os.getpid()
    sandbox.load("hello", udf("hello"), "--workers", "1")
    sandbox.call("hello")
    there(file, "call", 1)


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A folder of 32 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=32k", "tmpfs", str(folder)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a file system of its own takes the right to mount one")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@MODE
def test_a_full_disk_costs_records_and_no_call(
    mode: str, full: Path, serve: Callable[..., Sandbox]
) -> None:
    file = full / "audit"
    sandbox = serve(mode, "--audit", str(file))
    sandbox.load("hello", udf("hello"), "--workers", "2")
    sandbox.call("hello")
    there(file, "call", 1)
    ballast = full / "ballast"
    with ballast.open("wb", buffering=0) as stream, contextlib.suppress(OSError):
        while stream.write(b"x" * 512):
            pass
    for _ in range(100):
        sandbox.call("hello")
    assert sandbox.stats("hello")["ok"] >= 101
    # Whole records, as far as there was room, and what was lost once there is some.
    assert len(records(file)) < 100
    ballast.unlink()
    [*_, lost] = there(file, "lost", 1)
    assert lost["unwritten"] > 0
    sandbox.call("hello")
    numbers = [record["seq"] for record in records(file)]
    assert numbers == sorted(numbers)


@MODE
def test_a_file_that_is_taken_away_costs_no_call(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    sandbox = serve(mode, "--audit", str(folder / "audit"))
    sandbox.load("hello", udf("hello"), "--workers", "1")
    (folder / "audit").unlink()
    folder.rmdir()
    for _ in range(10):
        sandbox.call("hello")
    assert sandbox.stop() == 0


@MODE
def test_both_bounds_hold(mode: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    file = tmp_path / "audit"
    sandbox = serve(mode, "--audit", str(file), "--audit-mb", "1", "--audit-rate", "3")
    for _ in range(200):
        with pytest.raises(Refused):
            sandbox.call("x" * 10_000)
    assert sandbox.stop() == 0
    calls, end = events(file, "call"), records(file)[-1]
    assert end["event"] == "end" and end["dropped"] + len(calls) == 200
    assert end["seq"] == len(records(file)) + end["dropped"]
    assert sum(path.stat().st_size for path in tmp_path.glob("audit*")) <= 1 << 20


@MODE
def test_what_cannot_be_a_log_is_refused(mode: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"--audit \S+null: it is no regular file"):
        Sandbox(mode, tmp_path, "--audit", "/dev/null")
