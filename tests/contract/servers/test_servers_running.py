"""Duels of servers that run already, as a user calls them."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from commands import GOOD, SERVER, tare

from tare.cli.main import tare as group
from tare.lab.errors import TareError

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "300", "-c", "2")


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """Starts servers, and returns their URLs; all must live to the end."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*mode: str) -> str:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        started.append(subprocess.Popen([sys.executable, str(SERVER), str(port), *mode]))
        for _ in range(2000):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    return f"http://127.0.0.1:{port}/"
            time.sleep(0.01)
        raise AssertionError("it does not listen")

    yield start
    ends = [process.poll() for process in started]
    for process in started:
        process.kill()
        process.wait()
    assert ends == [None] * len(ends), "tare stopped a server that it had not started"


def test_running_servers_are_measured_and_left_alone(
    serve: Callable[..., str], tmp_path: Path
) -> None:
    done = tare(tmp_path, "duel", serve(), serve("slow"), *SHORT)
    assert done.returncode == 0, done.stderr
    assert "nothing keeps other processes off their CPUs" in done.stderr
    assert "Each server was started once, before this run" in done.stdout
    (file,) = tmp_path.glob("runs/*/results.json")
    (scenario,) = json.loads(file.read_text())["scenarios"]
    outcomes = {name: each["outcomes"] for name, each in scenario["variants"].items()}
    cost = outcomes["new"]["cpu_us_per_request"]["median"]
    assert cost > outcomes["old"]["cpu_us_per_request"]["median"] > 0
    # One process cannot be split between the sides of its A/A control.
    assert scenario["noise_floor"]["cpu_us_per_request"]["blocks"] == 0
    assert scenario["noise_floor"]["latency_p50_us"]["blocks"] == 1


@pytest.mark.together
def test_what_cannot_be_measured_is_told(
    serve: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))
    url, other, elsewhere = serve(), serve("body"), "http://192.0.2.1/"
    for command, arguments, words in (
        ("duel", (url, GOOD), "expected only one kind"),
        ("duel", (url, url), "two URLs lead to one process"),
        ("duel", (url, elsewhere), "192.0.2.1 is no address of this machine"),
        ("duel", (url, "http://127.0.0.1:1/"), "no process listens on port 1 of 127.0.0.1"),
        ("duel", (url, f"{other}deeper"), "differ in more than host and port"),
        ("duel", (url, "http://127.0.0.1:x/"), "http://127.0.0.1:x/: Port could not be cast"),
        ("duel", (url, other, "--setup", "true"), "--setup: the servers run already"),
        ("duel", (url, other, "--env", "A=1"), "--env: the servers run already"),
        ("duel", (url, other), "bodies of 6 and 6 bytes"),
        ("gate", (url, other), "a gate would be unreliable; use tare duel"),
    ):
        with pytest.raises((click.UsageError, TareError)) as refused:
            group.main([command, *arguments], standalone_mode=False)
        assert words in str(refused.value)
    assert not list(tmp_path.glob("runs/*")), "nothing was measured"
