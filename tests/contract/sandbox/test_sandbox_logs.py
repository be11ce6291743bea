"""What functions say on standard error is kept where it was asked for, and within its bound."""

import contextlib
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import SLOW, Refused, Sandbox, decoys, udf, wait_until, wire

LINE = b"A line of a function's log.\n"
WITHOUT = ("gvisor-shared", "kvm", "runc", "wasm")


@pytest.fixture
def logging(mode: str) -> str:
    """A mode that keeps logs."""
    if mode in WITHOUT:
        pytest.skip(f"mode {mode} keeps no log")
    return mode


def said(sandbox: Sandbox, lines: int) -> None:
    assert sandbox.call("udf", wire.number_field(1, lines)) == {1: lines}


def test_what_functions_say_is_in_the_file(
    logging: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    sandbox = serve(logging, "--logs", str(logs))
    sandbox.load("quiet", udf("log"), "--workers", "1")
    sandbox.load("udf", udf("log"), "--log", "--workers", "2")
    for _ in range(2 if logging in SLOW else 10):
        said(sandbox, 100)
    sandbox.call("quiet", wire.number_field(1, 10))
    assert sandbox.stats("quiet")["log_bytes"] == 0
    # Unloading waits for what is still in a pipe.
    sandbox.unload("udf")
    assert [path.name for path in logs.iterdir()] == ["udf.log"]
    text = (logs / "udf.log").read_bytes()
    assert text.count(LINE) == (200 if logging in SLOW else 1000)
    assert (logs / "udf.log").stat().st_mode & 0o777 == 0o600


def test_a_log_keeps_its_bound(logging: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    sandbox = serve(logging, "--logs", str(tmp_path))
    sandbox.load("udf", udf("log"), "--log", "--log-bytes", "8192", "--workers", "1")
    said(sandbox, 1000)
    sandbox.unload("udf")
    sizes = {path.name: path.stat().st_size for path in tmp_path.glob("udf.log*")}
    assert set(sizes) == {"udf.log", "udf.log.old"}
    assert 0 < sizes["udf.log"] <= 4096 and 0 < sizes["udf.log.old"] <= 4096
    both = (tmp_path / "udf.log.old").read_bytes() + (tmp_path / "udf.log").read_bytes()
    assert (LINE * 1000).endswith(both)


def test_who_never_stops_is_stopped_by_its_limits_and_the_file_stays_bounded(
    logging: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(logging, "--logs", str(tmp_path))
    sandbox.load("udf", udf("attack"), "--log", "--log-bytes", "8192", "--workers", "1")
    kinds: list[str] = []
    with decoys(tmp_path) as made:

        def babble() -> None:
            try:
                sandbox.call("udf", made.request("babble"), deadline_ms=1500)
            except Refused as refused:
                kinds.append(refused.kind)

        caller = threading.Thread(target=babble)
        caller.start()
        sizes: set[int] = set()
        while caller.is_alive():
            # There is none for a moment when the older half goes.
            with contextlib.suppress(FileNotFoundError):
                sizes.add((tmp_path / "udf.log").stat().st_size)
        caller.join()
        assert kinds == ["deadline"]
        assert max(sizes) <= 4096
        assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"


def test_no_worker_reads_cuts_or_marks_what_another_said(
    logging: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(logging, "--logs", str(tmp_path))
    sandbox.load("udf", udf("log"), "--log", "--workers", "1")
    said(sandbox, 10)
    sandbox.load("attack", udf("attack"), "--log", "--workers", "1")
    with decoys(tmp_path) as made:
        for _ in range(2):
            assert sandbox.call("attack", made.request("cut_log"))[1] == b"blocked"
        # Marks on a stream: those of a pipe end with it, in every mode.
        sandbox.call("attack", made.request("plant"))
        found = sandbox.call("attack", made.request("seek"))
        assert b"stream" not in found[2] or logging == "none", found
    sandbox.unload("attack")
    wait_until(
        lambda: (tmp_path / "attack.log").read_bytes() == b"said\nsaid\n",
        lambda: repr((tmp_path / "attack.log").read_bytes()),
    )
    sandbox.unload("udf")
    assert (tmp_path / "udf.log").read_bytes() == LINE * 10


def test_logs_that_cannot_be_kept_are_refused(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    refused = serve("none").cli("load", "--log", "udf", str(udf("log")), text=True)
    assert "start the sandbox with --logs FOLDER" in refused.stderr
    sandbox = serve("none", "--logs", str(tmp_path))
    for name, why in (("a/b", "a name that can be a file's"), ("udf", "log_bytes: found 5")):
        options = ("--log", "--log-bytes", "5", name, str(udf("log")))
        assert why in sandbox.cli("load", *options, text=True).stderr
    gone = serve("none", "--logs", str(tmp_path / "absent"))
    assert "absent/udf.log" in gone.cli("load", "--log", "udf", str(udf("log")), text=True).stderr


@pytest.mark.parametrize("mode", WITHOUT)
def test_modes_without_logs_say_so(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    if mode == "kvm" and not Path("/dev/kvm").exists():
        pytest.skip("no /dev/kvm")
    sandbox = serve(mode, "--logs", str(tmp_path))
    done = sandbox.cli("load", "--log", "udf", str(udf("log")), text=True)
    assert done.returncode == 1
    assert "cannot keep the standard error of its functions" in done.stderr
