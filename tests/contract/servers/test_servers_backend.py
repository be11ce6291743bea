"""Duels of proxies that a user brings, before an origin of tare's own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commandline import PATIENCE_S, call
from commands import GOOD, nginx_conf, tare

from tare.lab import paths
from tare.lab.project import build

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "100", "-c", "2")
CONFIG = nginx_conf("""
listen {host}:{port};
location / {
    proxy_pass http://{backend};
    proxy_set_header Host ${host};
    MORE
}
""")


@pytest.fixture(scope="module")
def nginx() -> str:
    """The command of an nginx with a configuration that its user wrote."""
    program = build.component("nginx", print) / "sbin" / "nginx"
    return f"{program} -p {{folder}} -e stderr -c {{file:conf/NAME.conf}}"


@pytest.fixture
def duel(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Calls the command beside two configurations, with its runs in a folder."""
    (tmp_path / "conf").mkdir()
    for name, more in (("old", ""), ("new", "add_header X-Via tare;")):
        (tmp_path / "conf" / f"{name}.conf").write_text(CONFIG.replace("MORE", more))

    def call(*arguments: str) -> tuple[int, str]:
        done = tare(tmp_path, "duel", *arguments)
        return done.returncode, done.stdout + done.stderr

    return call


def left(folder: Path) -> list[str]:
    """Processes whose command names the folder of the runs, or of tare's cache."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in command:
            found.append(command)
    return found


@pytest.mark.together
def test_two_proxies_are_compared_before_an_origin_each(
    duel: Callable[..., tuple[int, str]], nginx: str, tmp_path: Path
) -> None:
    old, new = nginx.replace("NAME", "old"), nginx.replace("NAME", "new")
    code, text = duel(old, new, "--backend", *SHORT)
    assert code == 1 and "header x-via: none and 'tare'" in text, text
    done = call(tmp_path, "duel", old, new, "--backend", *SHORT, "--allow", "header:x-via")
    # Whether other work disturbed its rounds is not the matter.
    assert done.returncode == 0 or "undisturbed, wanted" in done.stderr, done.stderr
    assert left(tmp_path) == []
    (file,) = tmp_path.glob("runs/*/trials.jsonl")
    trials = [json.loads(line) for line in file.read_text().splitlines()]
    assert {"backend", "sut"} <= trials[0]["roles"].keys()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_outlives_a_duel_that_is_stopped(
    duel: Callable[..., tuple[int, str]], nginx: str, tmp_path: Path, number: signal.Signals
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "built").symlink_to(paths.cache() / "built")
    own = {"TARE_RUNS": str(tmp_path / "runs"), "TARE_CACHE": str(cache), "PWD": str(tmp_path)}
    server = nginx.replace("NAME", "old")
    process = subprocess.Popen(
        [sys.executable, "-m", "tare", "duel", server, server, "--backend", "--within", "10m"],
        env=os.environ | own,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        # Both proxies stand, and both origins.
        wait_until(lambda: sum("master process" in each for each in left(tmp_path)) >= 4)
        process.send_signal(number)
        process.wait(PATIENCE_S)
        wait_until(lambda: left(tmp_path) == [])
    finally:
        process.kill()
        process.wait()


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.together
def test_a_backend_that_no_server_knows_of_is_refused(
    duel: Callable[..., tuple[int, str]],
) -> None:
    for arguments, words in (
        ((GOOD, GOOD, "--backend"), "--backend: found no {backend} in a command"),
        ((GOOD, f"{GOOD} {{backend}}"), "{backend}: expected --backend beside it"),
        (("http://127.0.0.1:1/", "http://127.0.0.1:2/", "--backend"), "the servers run already"),
    ):
        code, text = duel(*arguments)
        assert code == 2 and words in text, text


@pytest.mark.together
def test_a_file_that_is_not_there_is_named(duel: Callable[..., tuple[int, str]]) -> None:
    code, text = duel(GOOD, f"{GOOD} {{file:nowhere}}", *SHORT)
    assert code == 1 and "new does not start: " in text and "nowhere: No such file" in text, text
