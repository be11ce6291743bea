"""Duels of servers that listen on Unix sockets, as a user calls them."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commands import SERVER, nginx_conf, tare

from tare.lab.project import build

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "200", "-c", "2")
GOOD = f"{sys.executable} {SERVER} {{folder}}/sock"
URL = "http://unix:{folder}/sock:/"
NGINX = nginx_conf('listen unix:{folder}/a.sock; http2 on; location /a { return 200 "hello"; }')


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder whose path leaves room for that of a socket."""
    folder = Path(tempfile.mkdtemp(prefix="t-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder)


def duel(folder: Path, *arguments: str) -> tuple[int, str]:
    done = tare(folder, "duel", *arguments)
    return done.returncode, done.stdout + done.stderr


def outcomes(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/results.json")
    (scenario,) = json.loads(file.read_text())["scenarios"]
    return {name: each["outcomes"] for name, each in scenario["variants"].items()}


def test_servers_on_sockets_are_measured(short: Path) -> None:
    code, text = duel(short, GOOD, f"{GOOD} slow", "--url", URL, *SHORT)
    assert code == 0, text
    found = outcomes(short)
    for name in ("old", "new"):
        assert found[name]["cpu_us_per_request"]["median"] > 0, text
        assert found[name]["latency_p50_us"]["median"] > 0, text
    code, text = duel(short, GOOD, f"{GOOD} body", "--url", URL, *SHORT)
    assert code == 1 and "bodies of 6 and 6 bytes" in text, text


@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_nginx_on_a_socket_is_measured(short: Path, protocol: str) -> None:
    (short / "nginx.conf").write_text(NGINX)
    program = build.component("nginx", print) / "sbin" / "nginx"
    command = f"{program} -p {{folder}} -e stderr -c {{file:nginx.conf}}"
    url = "http://unix:{folder}/a.sock:/a"
    code, text = duel(short, command, command, "--url", url, "-p", protocol, *SHORT)
    assert code == 0, text
    assert outcomes(short)["new"]["cpu_us_per_request"]["median"] > 0, text


def test_messages_over_a_socket_are_compared(short: Path) -> None:
    text = (
        "import socket, sys, threading\n"
        "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(64)\n"
        "def serve(c):\n"
        "    while data := c.recv(65536):\n"
        "        c.sendall(data)\n"
        "while True:\n"
        "    threading.Thread(target=serve, args=(s.accept()[0],), daemon=True).start()\n"
    )
    echo = f"{sys.executable} -c '{text}' {{folder}}/sock"
    code, told = duel(short, echo, echo, "--url", "unix:{folder}/sock", "-s", "64", *SHORT)
    assert code == 0, told


@pytest.mark.together
def test_what_makes_no_sense_with_a_socket_is_told(short: Path) -> None:
    late = f"sleep 30; {GOOD}"
    for commands, arguments, code, words in (
        ((GOOD, GOOD), ("--url", "http://unix:/tmp/a:/"), 2, "expected {folder}/NAME"),
        ((GOOD, GOOD), ("--url", "https://unix:{folder}/a:/", "-p", "h3"), 2, "h3 has no Unix"),
        (("./a", GOOD), ("--url", URL), 2, "found './a', expected {folder} in it"),
        ((GOOD, late), ("--url", URL, "--ready-within", "5"), 1, "new/sut/sock)"),
        ((GOOD, GOOD), ("--url", f"http://unix:{{folder}}/{'x' * 108}:/"), 1, "are too many for"),
        (("http://unix:/a:/", "http://unix:/b:/"), (), 2, "found by its port"),
    ):
        found, text = duel(short, *commands, *arguments, *SHORT)
        assert found == code and words in text, text
    done = tare(short, "tail", GOOD, "--url", URL, "--rate", "100")
    assert done.returncode == 2 and "expected a port" in done.stderr, done.stderr
