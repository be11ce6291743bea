"""One interface of hosts: this machine, and one behind an agent (here in another process)."""

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import HostLost, MachineFault, RoleError, TareError
from tare.lab.machine import cgroup, host
from tare.lab.machine.hosts import remote
from tare.lab.machine.hosts.host import Host, Launch
from tare.lab.machine.hosts.local import Local
from tare.lab.machine.hosts.looking import look
from tare.lab.machine.hosts.remote import Remote
from tare.lab.machine.ledger import Ledger
from tare.lab.machine.limits import UNLIMITED
from tare.lab.machine.process import wait_until
from tare.model.hosts import RoleHost
from tare.probes.probe import Seen
from tare.probes.reading import Counter, Gauge

PLACE = RoleHost.model_validate({"address": "127.0.0.1", "namespace": "none"})
CPUS = host.Cpus([0], [0], [0], [0])
PATIENCE_S = 30.0


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Local]:
    with closing(Ledger(tmp_path / "ledger.jsonl", "tare-unit", None)) as ledger:
        found = Local(CPUS, cgroup.Hierarchy("none", {}), "tare-unit", ledger)
        yield found
        found.close()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Remote]:
    monkeypatch.setattr(remote, "_spec", lambda _: "popen")
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))
    found = Remote("one", PLACE, "tare.lab.run.hosts.entry")
    found.connect()
    found.open(settings(tmp_path))
    yield found
    found.close()
    assert not (tmp_path / "runs" / "host-one").exists()


def settings(folder: Path) -> dict[str, Any]:
    tag = f"tare-unit-{folder.stat().st_ino:x}"
    return {"tag": tag, "priority": "high", "shared": None, "cpus": [], "wanted": (1, 0, 0)}


@pytest.fixture(params=["local", "agent"])
def place(request: pytest.FixtureRequest) -> Host:
    found: Host = request.getfixturevalue(request.param)
    return found


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "site"
    (folder / "role").mkdir(parents=True)
    return folder


def launch(site: Path, script: str, *, piped: bool = False) -> Launch:
    return Launch(
        role="role",
        argv=["/bin/sh", "-c", script],
        env={"PATH": "/usr/bin:/bin"},
        log=site / "role" / "role.log",
        group="role",
        priority=None,
        cpus=[0],
        caps=UNLIMITED,
        piped=piped,
    )


def test_a_role_runs_in_its_folder_with_its_files(place: Host, site: Path) -> None:
    place.write(site, "role/file", "content")
    process = place.start(site, launch(site, "pwd; cat file; sleep 60"))
    folder = str(place.folder(site) / "role")
    assert wait_until(lambda: "content" in process.log.read_text(), [process], PATIENCE_S)
    assert process.log.read_text().splitlines()[0] == folder
    assert place.read(site, "role/file") == b"content"
    assert place.exists(f"{folder}/file")
    assert process.wait(0.0) is None
    assert process.stop(signal.SIGTERM, PATIENCE_S)
    place.end(site, "tare-unit.none")


def test_a_role_may_remove_its_own_log(place: Host, site: Path) -> None:
    process = place.start(site, launch(site, "rm -f role.log ../role.log; touch up; sleep 60"))
    up = str(place.folder(site) / "role" / "up")
    assert wait_until(lambda: place.exists(up), [process], PATIENCE_S)
    process.ensure_alive()
    assert process.stop(signal.SIGTERM, PATIENCE_S)


def test_an_end_is_told_with_the_last_words(place: Host, site: Path) -> None:
    process = place.start(site, launch(site, "echo why; exit 3"))
    assert process.wait(PATIENCE_S) == 3
    with pytest.raises(RoleError, match=r"role role ended with exit code 3: why"):
        process.ensure_alive()
    process.kill()


def test_a_pipe_brings_all_output_and_its_end(place: Host, site: Path) -> None:
    process = place.start(site, launch(site, "seq 100000; echo err >&2", piped=True))
    parts = []
    while chunk := process.output(PATIENCE_S):
        parts.append(chunk)
    assert chunk == b""
    assert b"".join(parts).split() == [str(each).encode() for each in range(1, 100001)]
    assert process.wait(PATIENCE_S) == 0
    process.kill()
    assert process.log.read_text() == "err\n"


def test_ports_are_held_until_the_end(place: Host, site: Path) -> None:
    ports = place.hold(site, ["front", "back"])
    assert sorted(ports) == ["back", "front"]
    assert len({*ports.values()}) == 2
    assert not place.taken(ports["front"])
    assert not place.answers("tcp", ports["front"], place.address)
    place.end(site, "tare-unit.none")


def test_what_is_not_there_is_told_alike(place: Host, site: Path) -> None:
    with pytest.raises(FileNotFoundError):
        place.read(site, "role/none")
    with pytest.raises(RoleError, match="cannot start"):
        what = launch(site, "")
        place.start(site, Launch(**{**vars(what), "argv": ["/no/such/program"]}))


def test_probes_read_what_a_host_started(place: Host, site: Path) -> None:
    process = place.start(site, launch(site, "sleep 60"))
    seen = look([place], {"a/role": (place, process)}, 1.0, last=False)
    assert isinstance(seen.roles["a/role"]["cpu_us"], Counter)
    assert isinstance(seen.machine["foreign_share"], Counter)
    last = look([place], {"a/role": (place, process)}, 1.0, last=True)
    assert isinstance(last.roles["a/role"]["memory_bytes"], Gauge)
    process.kill()


def test_a_lost_host_is_told_and_reached_again(agent: Remote, site: Path, tmp_path: Path) -> None:
    agent.opened = lambda: agent.open(settings(tmp_path))
    process = agent.start(site, launch(site, "sleep 600"))
    assert agent._gateway is not None
    agent._gateway._io.kill()
    with pytest.raises(HostLost, match=r"host one \(namespace none\) was lost"):
        wait_until(lambda: False, [process], PATIENCE_S)
    assert issubclass(HostLost, MachineFault)
    assert process.stop(signal.SIGTERM, 1.0)
    agent.restore()
    assert agent.start(site, launch(site, "exit 0")).wait(PATIENCE_S) == 0


def test_a_host_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(TareError, match=r"host two: no agent could be started by namespace none"):
        Remote("two", PLACE, "tare.lab.run.hosts.entry").connect()


class Placed:
    """A host that has read its probes already."""

    def __init__(self, machine: str, cpus: list[int], seen: Seen) -> None:
        self.machine, self.cpus, self.seen = machine, host.Cpus(cpus, cpus, cpus, cpus), seen

    def look(self, *_: Any, **__: Any) -> Any:
        return lambda: self.seen


def reading(role: str, cpu_s: float, foreign_s: float) -> Seen:
    share = {"foreign_share": Counter(foreign_s, of=10.0, least=0.0)}
    return Seen({role: {"cpu_us": Counter(cpu_s * 1e6)}}, share)


@pytest.mark.parametrize(
    ("machine", "cpus", "expected"),
    [
        # 5 s of the other's role, and 1 s of strangers, are seen by both.
        ("same", [0, 1], 2.0 / 20.0),
        ("other", [0, 1], 12.0 / 20.0),
        ("same", [2, 3], 12.0 / 20.0),
    ],
)
def test_a_neighbour_on_the_same_cpus_is_not_foreign(
    machine: str, cpus: list[int], expected: float
) -> None:
    hosts: list[Any] = [
        Placed("same", [0, 1], reading("a", 5.0, 6.0)),
        Placed(machine, cpus, reading("b", 5.0, 6.0)),
    ]
    found = look(hosts, {}, 1.0, last=False)
    assert set(found.roles) == {"a", "b"}
    share = found.machine["foreign_share"]
    assert isinstance(share, Counter)
    assert share.since(Counter(0.0, 0.0), 1.0) == pytest.approx(expected)
