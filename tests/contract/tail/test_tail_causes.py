"""The slowest requests of a server whose slowness has a known cause, through the command line."""

import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import call
from series import CAUSES, LOAD

from tare.lab.machine import cgroup, host, limits
from tare.lab.machine.limits import Caps

pytestmark = [
    pytest.mark.contract,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may look at processes"),
    pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler"),
]
HERE = Path(__file__).parent
ATTEMPTS = 5
LEAST_NS = 20_000
"""Each cause takes milliseconds of some requests: so much on average of a quarter of them."""


def compiled(name: str, folder: Path) -> Path:
    program = folder / name
    source = HERE / f"{name}.c"
    subprocess.run(["cc", "-O2", "-pthread", "-o", program, source], check=True)
    return program


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled("slow", tmp_path_factory.mktemp("slow"))


def extra(part: dict[str, Any]) -> float:
    return float(part["slow_ns"] - part["ordinary_ns"])


def extra_of(folder: Path, *arguments: str, wanted: str, who: str = "") -> float:
    """By how much the cause makes slow requests slower, in ns.

    A quarter of all requests is looked at, so that the rest of a busy machine hides no cause.
    """
    done = call(folder, "tail", *arguments, *LOAD, "--slowest", "0.25", "--json")
    assert done.returncode == 0, done.stderr
    (found,) = json.loads(done.stdout)
    parts = found["tail"]["parts"]
    for kind in ("slow_ns", "ordinary_ns"):
        assert sum(part[kind] for part in parts) == pytest.approx(found["tail"][kind])
    first, second, *_ = found["sentences"]
    assert first.startswith("The slowest requests exceed ordinary ones by ")
    assert "requests took" in second
    return sum(extra(part) for part in parts if (part["cause"], part["who"]) == (wanted, who))


@pytest.mark.parametrize("cause", CAUSES)
def test_a_known_cause_is_found(slow: Path, tmp_path: Path, cause: str) -> None:
    assert extra_of(tmp_path, f"{slow} {{port}} {cause}", wanted=cause) > LEAST_NS


def test_streams_of_a_connection_are_told_apart(tmp_path: Path) -> None:
    program = compiled("slow_h2", tmp_path)
    streams = ("-p", "h2", "--url", "http://127.0.0.1:{port}/", "-m", "8")
    slept = extra_of(tmp_path, f"{program} {{port}} sleep", *streams, wanted="sleep")
    assert slept > LEAST_NS
    assert extra_of(tmp_path, f"{program} {{port}} none", *streams, wanted="sleep") == 0


def serving(command: list[str], port: int) -> subprocess.Popen[bytes]:
    started = subprocess.Popen(command)
    for _ in range(2000):
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return started
        time.sleep(0.01)
    started.kill()
    raise AssertionError("it does not listen")


@pytest.fixture
def port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


@pytest.mark.skipif(cgroup.detect().kind == "none", reason="no control groups here")
def test_a_quota_is_told_from_a_busy_cpu(slow: Path, tmp_path: Path, port: int) -> None:
    tag = f"tare-test-tail-{os.getpid()}"
    group = cgroup.detect().role(tag, "slow")
    assert group is not None
    group.create([host.assign(host.by_core(), server=1, client=1).server[0]])
    limits.impose(Caps(cpus=0.02), group)
    enter = "; ".join(f"echo $$ > {entrance}" for entrance in group.entrances())
    started = serving(["sh", "-c", f"{enter}; exec {slow} {port} none"], port)
    try:
        assert extra_of(tmp_path, f"http://127.0.0.1:{port}/", wanted="held") > LEAST_NS
    finally:
        started.kill()
        started.wait()
        group.remove()
        whole = cgroup.detect().run(tag)
        assert whole is not None
        whole.remove()


def bursts(cpu: int, told: Any) -> None:
    """Take a CPU from all others for 20 ms, six times a second, under a name of its own."""
    Path("/proc/self/comm").write_text("neighbour")
    os.sched_setaffinity(0, {cpu})
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    except PermissionError:
        os.nice(-20)
    told.set()
    while True:
        end = time.monotonic() + 0.02
        while time.monotonic() < end:
            pass
        time.sleep(0.15)


@pytest.fixture
def neighbour() -> Iterator[Callable[[int], None]]:
    started: list[Any] = []

    def start(cpu: int) -> None:
        context = multiprocessing.get_context("spawn")
        told = context.Event()
        process = context.Process(target=bursts, args=(cpu, told))
        process.start()
        started.append(process)
        assert told.wait(30)

    yield start
    for process in started:
        process.kill()
        process.join()


def test_a_neighbour_is_named(
    slow: Path, tmp_path: Path, port: int, neighbour: Callable[[int], None]
) -> None:
    cpu = host.assign(host.by_core(), server=1, client=1).server[0]
    started = serving(["taskset", "-c", str(cpu), str(slow), str(port), "none"], port)
    try:
        neighbour(cpu)
        url = f"http://127.0.0.1:{port}/"
        assert extra_of(tmp_path, url, wanted="run_queue", who="neighbour") > LEAST_NS
    finally:
        started.kill()
        started.wait()


@pytest.mark.together
@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("./slow {port}",), 2, "expected --rate: how slow the slowest are depends on it"),
        (("./slow {port}", "--rate", "9", "-p", "h3"), 2, "--protocol: expected h1 or h2"),
        (("false {port}", "--rate", "100"), 1, "server does not start: "),
        (("http://127.0.0.1:1/", "--rate", "100"), 1, "no process listens on port 1 "),
    ],
)
def test_what_cannot_be_is_told(
    tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    done = call(tmp_path, "tail", *arguments)
    assert done.returncode == code and words in done.stderr, done.stderr


def test_too_few_requests_say_so(slow: Path, tmp_path: Path) -> None:
    few = ("--rate", "10", "--duration", "0.3")
    done = call(tmp_path, "tail", f"{slow} {{port}} none", *few)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Too few requests to tell slow ones from others")


@pytest.mark.together
@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--saturated",), "--tail and --saturated: expected a rate"),
        (("-p", "ws", "--url", "ws://127.0.0.1:{port}/"), "--protocol: expected h1 or h2"),
        (("-p", "h2", "--url", "https://127.0.0.1:{port}/"), "--url: expected http:// beside h2"),
        (("-m", "4"), "--depth: expected 1 beside h1"),
    ],
)
def test_a_duel_whose_tail_cannot_be_looked_at_is_refused(
    tmp_path: Path, option: tuple[str, ...], words: str
) -> None:
    done = call(tmp_path, "duel", "false {port}", "false {port}", "--tail", *option)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_the_duels_of_a_study_are_looked_at_too(tmp_path: Path) -> None:
    short = ("--blocks", "1", "--duration", "0.5", "-p", "warmup_s=0.1")
    where = ("calibration/cpu", "--scenarios", "added=20pct", "--tail")
    done = call(tmp_path, "run", *where, *short)
    looked = sorted(path.stem for path in tmp_path.glob("runs/*/tails/*.json"))
    assert looked == ["b00-s0-control", "b00-s0-more"], done.stderr
    assert "--tail: it takes 6 duels whose slowest requests were looked at" in done.stderr


def test_the_tail_of_requests_that_come_by_no_clock_is_not_looked_at(tmp_path: Path) -> None:
    short = ("--blocks", "1", "--duration", "0.2", "-p", "warmup_s=0.1")
    where = ("filters/requests", "--variants", "c-module", "--tail")
    done = call(tmp_path, "run", *where, *short)
    assert "loop: expected open: how slow the slowest are depends on the rate" in done.stderr
    assert not list(tmp_path.glob("runs/*/tails/*.json"))


@pytest.mark.thorough
def test_the_cause_of_a_longer_tail_is_named_in_a_duel(slow: Path, tmp_path: Path) -> None:
    servers = [f"{slow} {{port}} {cause}" for cause in ("none", "sleep")]
    for _ in range(ATTEMPTS):
        done = call(
            tmp_path, "duel", *servers, "--tail", "--duels", "9", *LOAD[:4], "--duration", "1",
            "--json",
        )  # fmt: skip
        (scenario,) = json.loads(done.stdout)["scenarios"]
        tails = [tail for tail in scenario["tails"] if tail["label"] == "new"]
        if tails:  # six duels that no other work disturbed
            break
    (tail,) = tails
    assert tail["windows"] >= 6
    (sleep,) = [part for part in tail["parts"] if part["cause"] == "sleep"]
    assert sleep["clear"] and sleep["difference_ns"] > 1e6 and sleep["baseline_ns"] == 0
