"""Blocks on several benches, through the command line: dealt, lost, made again, and kept from
strangers.
"""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from laboratory import PATIENCE_S, Laboratory, end, wait_for
from namespaces import Spread

from tare.lab.errors import ManifestError, TareError
from tare.lab.paths import ROOT
from tare.lab.run.benches import file, keys
from tare.lab.run.benches.worker import made
from tare.model.benches import BlockAsked
from tare.model.trial import Plan
from tare.stats.blocks import planned_trials

pytestmark = [pytest.mark.system, pytest.mark.timeout(900)]
RUN = ("run", "toy", "--variants", "slow", "--seed", "5", "--blocks")
PLACES = ("left", "right")


@pytest.fixture
def benches(tmp_path: Path) -> Path:
    """A file of two benches, with their keys."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    path = tmp_path / "benches.toml"
    places = "".join(f'[benches.{name}]\naddress = "127.0.0.1"\n' for name in PLACES)
    path.write_text(f'schema = 1\n[coordinator]\naddress = "127.0.0.1"\nport = {port}\n{places}')
    keys.make(file.read(path))
    return path


@contextmanager
def worker(lab: Laboratory, name: str, benches: Path) -> "Iterator[subprocess.Popen[str]]":
    command = lab.start("hosts", "worker", name, str(benches))
    try:
        yield command
    finally:
        if command.poll() is None:
            code, text = end(command, signal.SIGTERM)
            assert code == 130, text
        command.wait()


def with_hosts(benches: Path, hosts: Mapping[str, Path]) -> Path:
    """Write a file of the same benches, with hosts of their own for some. These have other names
    than those of other benches, since all are on this machine.
    """
    text = benches.read_text()
    for name, each in hosts.items():
        within = f"benches.{name}.spread"
        own = each.read_text().replace("server", f"{name}-server", 1)
        own = re.sub(r"^\[hosts\.", f"[{within}.hosts.{name}-", own, flags=re.MULTILINE)
        text += f"\n[{within}]\n" + own.replace("[network]", f"[{within}.network]")
    found = benches.with_name("spread.toml")
    found.write_text(text)
    return found


def lose_server(spread: Spread) -> None:
    """Take a host away for good, as soon as an agent works on it: between blocks none does."""
    agents: list[int] = []

    def is_there() -> bool:
        with suppress(ValueError, OSError, subprocess.CalledProcessError):
            agents.append(spread.agent("server"))
        return bool(agents)

    wait_for(is_there)
    subprocess.run(["ip", "netns", "delete", spread.namespace("server")], check=True)
    os.kill(agents[0], signal.SIGKILL)


def assert_in_order(lab: Laboratory, blocks: int) -> None:
    """The plan's blocks in their order, each made whole on one bench."""
    valid = [trial for trial in lab.trials() if trial.status == "valid"]
    assert [trial.id.removesuffix(f"-a{trial.attempt}") for trial in valid] == [
        planned.id for block in range(blocks) for planned in planned_trials(lab.plan(), block)
    ]
    for block in range(blocks):
        (bench,) = {trial.bench for trial in valid if trial.block == block}
        assert bench in PLACES
    for trial in valid:
        assert (lab.run_folder() / "histograms" / f"{trial.id}.json").exists()
        assert (lab.run_folder() / "logs" / trial.id / "sut.log").exists()


def waits(lab: Laboratory, blocks: int) -> None:
    per_block = 3
    wait_for(lab.has_trials(per_block * blocks), lambda: lab.trials(), patience_s=4 * PATIENCE_S)


def test_a_bench_and_the_coordinator_may_die(lab: Laboratory, benches: Path) -> None:
    with worker(lab, "left", benches), worker(lab, "right", benches) as right:
        command = lab.start(*RUN, "6", "--benches", str(benches))
        waits(lab, 1)
        right.kill()
        right.wait()
        waits(lab, 2)
        command.kill()
        command.communicate()
        before = (lab.run_folder() / "trials.jsonl").read_bytes()
        done = lab.tare("resume", "last", "--benches", str(benches), code=0)
    assert "Blocks by bench: left " in done
    assert (lab.run_folder() / "trials.jsonl").read_bytes().startswith(before)
    assert_in_order(lab, 6)
    found = lab.results()
    assert found["complete"] and sum(found["benches"]["blocks"].values()) == 6
    environment = lab.run_folder() / "environment.json"
    assert '"left"' in environment.read_text() and '"fingerprint"' in environment.read_text()


def test_benches_are_compared(lab: Laboratory, benches: Path) -> None:
    with worker(lab, "left", benches):
        told = lab.tare("hosts", "check", str(benches), "--wait", "5", code=1)
        assert "right: not there" in told and "left: " in told
        assert f"start it there with: tare hosts worker right {benches}" in told
        with worker(lab, "right", benches):
            told = lab.tare("hosts", "check", str(benches), "--wait", str(2 * PATIENCE_S))
    assert "not there" not in told


def test_benches_have_hosts_of_their_own(lab: Laboratory, benches: Path, tmp_path: Path) -> None:
    hosts = {name: Spread.made(tmp_path, number) for number, name in enumerate(PLACES)}
    with pytest.raises(ManifestError, match=r"the benches right have no \[spread\]"):
        file.read(with_hosts(benches, {"left": hosts["left"].file}))
    both = with_hosts(benches, {name: each.file for name, each in hosts.items()})
    told = lab.tare(*RUN, "2", "--benches", str(both), "--why", code=2)
    assert "--benches: bench left: toy/cost cannot be spread over hosts: --why looks" in told
    with worker(lab, "left", both) as left, worker(lab, "right", both):
        told = lab.tare("hosts", "check", str(both), "--wait", str(2 * PATIENCE_S))
        assert told.count("round trip to") == 6, told
        # So many that the left one has a block under way when the first is done.
        command = lab.start(*RUN, "7", "--benches", str(both))
        waits(lab, 1)
        lose_server(hosts["left"])
        _, told = left.communicate(timeout=8 * PATIENCE_S)
        assert left.returncode == 1 and "sent this bench away: host left-server: no agent" in told
        code, text = end(command, signal.SIGINT)
        assert code == 130, text
        told = lab.tare("resume", "last", code=2)
        assert "are on hosts of its benches; give --benches FILE" in told
        told = lab.tare("resume", "last", "--benches", str(benches), code=1)
        assert "and these benches have no [spread]" in told
        lab.tare("resume", "last", "--benches", str(both))
    assert_in_order(lab, 7)
    environment = json.loads((lab.run_folder() / "environment.json").read_text())
    for name in {str(trial.bench) for trial in lab.trials()}:
        own = environment["benches"][name].get("hosts", environment["hosts"])
        server = own[f"{name}-server"]
        assert server["address"] == hosts[name].address("server") and server["roles"] == ["sut"]
    for each in hosts.values():
        wait_for(lambda each=each: not each.left(), each.left)


def test_a_run_without_benches_ends_with_a_remedy(lab: Laboratory, benches: Path) -> None:
    text = benches.read_text().replace("[benches.left]", "wait_s = 1.0\n[benches.left]")
    benches.write_text(text)
    told = lab.tare(*RUN, "2", "--benches", str(benches), code=1)
    assert "no bench was there for 1 s; start one with: tare hosts worker NAME FILE" in told
    assert len(list(lab.runs.iterdir())) == 1
    told = lab.tare(*RUN, "2", "--benches", str(benches) + "x", code=1)
    assert f"{benches}x: No such file" in told and len(list(lab.runs.iterdir())) == 1
    told = lab.tare(*RUN, "2", "--benches", str(benches), "--server", __file__, code=2)
    assert "--benches: your own files, variants and servers are on this machine only" in told


def test_strangers_get_nothing(lab: Laboratory, benches: Path, tmp_path: Path) -> None:
    at = file.read(benches).coordinator
    own = Path(file.read(benches).keys)
    (other := tmp_path / "other").mkdir()
    stranger = file.read(benches).model_copy(update={"keys": str(other)})
    keys.make(stranger)
    command = lab.start(*RUN, "2", "--benches", str(benches))

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((at.address, at.port)) == 0

    try:
        wait_for(listens)
        for authority, key in ((own, None), (own, other), (other, other)):
            with pytest.raises(OSError):
                answered(at.address, at.port, authority, key)
        with socket.create_connection((at.address, at.port), 10) as plain:
            plain.sendall(b"\x01" + b"\xff" * 4096)
            assert heard(plain) == b""
        listening = lab_listeners(command.pid)
        assert listening == {(at.address, at.port)}, "nothing else of it listens"
    finally:
        code, text = end(command, signal.SIGINT)
    assert code == 130, text
    assert not lab.trials()
    others = tmp_path / "others.toml"
    others.write_text(benches.read_text().replace("schema = 1", 'schema = 1\nkeys = "other"'))
    run = lab.start(*RUN, "2", "--benches", str(benches))
    try:
        told = lab.tare("hosts", "worker", "left", str(others), code=1)
        assert "is no coordinator with the same authority" in told
    finally:
        end(run, signal.SIGINT)


def answered(address: str, port: int, authority: Path, key: Path | None) -> bytes:
    """What the coordinator says to one with these keys. Raises OSError if it lets nobody in."""
    context = ssl.create_default_context(cafile=str(authority / keys.CERTIFICATE))
    context.check_hostname = False
    if key is not None:
        context.load_cert_chain(str(key / "left.pem"))
    with (
        socket.create_connection((address, port), 10) as plain,
        context.wrap_socket(plain) as encrypted,
    ):
        encrypted.sendall(b"\0" * 64)
        if not (found := encrypted.recv(1)):
            raise ConnectionError("closed")
        return found


def heard(plain: socket.socket) -> bytes:
    try:
        found = plain.recv(1)
    except ConnectionError:
        return b""
    # A TLS alert in plain text (record type 21) is a refusal.
    return b"" if found == b"\x15" else found


def lab_listeners(pid: int) -> set[tuple[str, int]]:
    """Where a process listens over TCP."""
    import psutil

    found = psutil.Process(pid).net_connections("tcp")
    return {(each.laddr.ip, each.laddr.port) for each in found if each.status == "LISTEN"}


def test_a_bench_with_other_sources_makes_nothing(tmp_path: Path) -> None:
    plan = Plan.model_validate_json(next(ROOT.glob("record/echo-rate/plan.json")).read_text())
    asked = BlockAsked(plan=plan, block=0, known=[], sources="others")
    with pytest.raises(TareError, match="are not the coordinator's; bring both to the same commit"):
        made(asked, tmp_path / "block", "left", lambda: True)
    assert not (tmp_path / "block" / "block.log").exists()
