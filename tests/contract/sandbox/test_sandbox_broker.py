"""Who talks to strangers has no rights, and who has rights talks to no stranger."""

import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from holdings import files
from sandboxes import (
    FIRST_USER,
    Refused,
    Sandbox,
    decoys,
    groups,
    named_like_workers,
    udf,
    wait_until,
)

pytestmark = pytest.mark.contract
MODE = pytest.mark.parametrize("mode", ["namespaces"], indirect=True)


def status(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


def sockets(name: str) -> set[str]:
    """Sockets of that name and the ends of connections to it, as descriptors show them."""
    lines = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:]]
    return {f"socket:[{line[6]}]" for line in lines if line[7:] == [name]}


def broker(sandbox: Sandbox) -> int:
    found = sandbox.broker()
    assert found is not None
    return found


def test_a_broker_has_no_right(mode: str, serve: Callable[..., Sandbox]) -> None:
    if mode == "wasm":
        assert serve(mode).broker() is None, "nothing of it needs rights"
        pytest.skip("mode wasm has no broker")
    pid = broker(serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}"))
    for thread in Path(f"/proc/{pid}/task").iterdir():
        found = status(int(thread.name))
        for numbers in ("Uid", "Gid"):
            assert len(set(found[numbers])) == 1 and int(found[numbers][0]) >= FIRST_USER
        assert found["Groups"] == []
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(found[name][0], 16) == 0, name
        assert (found["NoNewPrivs"], found["Seccomp"]) == (["1"], ["2"])


@MODE
def test_only_the_broker_has_clients(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    launcher, own = sandbox.process.pid, broker(sandbox)
    # As it was called before clients could see it.
    name = str(Path(sandbox.socket).with_suffix(".new"))
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(sandbox.socket)
        wait_until(lambda: len(sockets(name) & set(files(own))) == 2, lambda: str(files(own)))
        assert not sockets(name) & set(files(launcher))
    # A file that the broker may still use is one that it was given, and none is a folder.
    places = [place for place in files(own) if place.startswith("/") and "/dev/" not in place]
    assert [place for place in places if not place.startswith("/memfd:")] == [str(sandbox.log)] * 2


@MODE
def test_a_killed_broker_takes_all_with_it(mode: str, serve: Callable[..., Sandbox]) -> None:
    workers = named_like_workers()
    sandbox = serve(mode, "--workers", "3", "--load", f"udf={udf('hello')}")
    os.kill(broker(sandbox), signal.SIGKILL)
    assert sandbox.process.wait(30) == 1
    assert "was ended by signal 9" in sandbox.log.read_text()
    assert named_like_workers() <= workers
    assert groups(sandbox.process.pid) == []
    assert not Path(sandbox.socket).exists()


@MODE
def test_a_killed_launcher_takes_the_broker_with_it(
    mode: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(mode, "--workers", "3", "--load", f"udf={udf('hello')}")
    own = broker(sandbox)
    sandbox.kill()
    wait_until(lambda: not Path(f"/proc/{own}").exists(), lambda: "the broker is left")


@MODE
def test_signals_for_all_processes_end_calls_first(
    mode: str, serve: Callable[..., Sandbox]
) -> None:
    """As a terminal or systemd sends them: to the broker, too."""
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('hello')}")
    for signalled in (signal.SIGTERM, signal.SIGINT):
        os.kill(broker(sandbox), signalled)
    assert sandbox.call("udf")
    assert sandbox.stop() == 0


BAD = {
    "crash": "died",
    "leave": "died",
    "half_response": "died",
    "varint_overflow": "protocol",
    "huge_response": "protocol",
    "after_close": "protocol",
    "hang": "deadline",
}
HOSTILE = (
    "read_file", "write_anywhere", "inherited_files", "inet", "abstract_socket", "other_process",
    "process_list", "pass_descriptor", "become_root", "fork_bomb",
)  # fmt: skip


@pytest.mark.parametrize("mode", ["gvisor", "gvisor-shared"], indirect=True)
def test_a_broker_serves_what_gvisor_runs(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    """It has the workers' sockets alone, whose other ends the kernel in user space has."""
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox, own_limits = serve(mode), ("--deadline-ms", "60000", "--request-bytes", "1000000")
    sandbox.load("udf", udf("attack"), "--workers", "2", *own_limits)
    own = broker(sandbox)

    def refused(name: str, request: bytes, deadline_ms: int = 0) -> str:
        with pytest.raises(Refused) as caught:
            sandbox.call(name, request, deadline_ms)
        return caught.value.kind

    with decoys(folder) as made:
        for attack in HOSTILE:
            assert sandbox.call("udf", made.request(attack))[1] == b"blocked", attack
        for attack, kind in BAD.items():
            soon = 1500 if kind == "deadline" else 0
            assert refused("udf", made.request(attack), soon) == kind, attack
        assert refused("udf", bytes(1_000_001)) == "request_too_long"
        assert refused("absent", b"") == "unloaded"
        assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"
    assert broker(sandbox) == own
    places = [place for place in files(own) if place.startswith("/") and "/dev/" not in place]
    assert [place for place in places if not place.startswith("/memfd:")] == [str(sandbox.log)] * 2
    sandbox.unload("udf")
    assert sandbox.stop() == 0
    assert groups(sandbox.process.pid) == []
