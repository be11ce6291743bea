"""Duels over the other protocols of the load generator: the right answers, and the wrong ones."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commands import GOOD, tare

from tare import api
from tare.lab.errors import TareError
from tare.lab.project import build

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SPEAKER = Path(__file__).with_name("speaker.py")
SHORT = ("--duels", "1", "--duration", "0.3", "--rate", "100", "-c", "2")
CALL = ("-p", "grpc", "--get", "/pkg.Service/One", "--body", "you")
PROTOCOLS = {
    "grpc": CALL,
    "ws": ("--url", "ws://127.0.0.1:{port}/chat", "-s", "40"),
    "echo": ("--url", "tcp://127.0.0.1:{port}"),
    "proto": ("-p", "proto", "--body", "you"),
}
WEB = """
daemon off;
pid FOLDER/nginx.pid;
error_log stderr;
events {}
http {
    access_log off;
    client_body_temp_path body;
    server {
        listen LISTEN;
        http2 on;
        ssl_certificate CERTIFICATE/certificate.pem;
        ssl_certificate_key CERTIFICATE/key.pem;
        location / { return 200 "TEXT over $server_protocol"; }
    }
}
"""


def speaker(protocol: str, mode: str = "") -> str:
    return f"{sys.executable} {SPEAKER} {protocol} {{port}} {mode}"


@pytest.fixture(scope="module")
def nginx(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Returns the command of an nginx that listens so, and answers with the text."""
    program = build.component("nginx", print) / "sbin" / "nginx"
    certificate = build.component("certificate", print)

    def command(listen: str, text: str) -> str:
        file = tmp_path_factory.mktemp("nginx") / "nginx.conf"
        named = WEB.replace("LISTEN", listen).replace("TEXT", text)
        file.write_text(named.replace("CERTIFICATE", str(certificate)))
        own = f"sed 's|PORT|{{port}}|; s|FOLDER|{{folder}}|' {file} > {{folder}}/nginx.conf"
        return f"{own}; exec {program} -p {{folder}} -c {{folder}}/nginx.conf"

    return command


def measured(folder: Path) -> str:
    """The protocol of the run, whose servers were measured."""
    (file,) = folder.glob("runs/*/results.json")
    (scenario,) = json.loads(file.read_text())["scenarios"]
    assert scenario["variants"]["new"]["status"] == "measured"
    return str(scenario["parameters"]["protocol"])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_equal_servers_of_each_protocol_are_compared(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, protocol: str
) -> None:
    server = speaker(protocol)
    code, text = duel(server, server, *PROTOCOLS[protocol], *SHORT)
    assert code == 0, text
    assert measured(tmp_path) == protocol


@pytest.mark.together
@pytest.mark.parametrize(
    ("protocol", "mode", "words"),
    [
        ("grpc", "wrong", "bodies of 8 and 12 bytes\n  -"),
        ("grpc", "status", "header grpc-message: '' and 'no such thing'\n"),
        ("ws", "wrong", "new: a message does not come back: 40 bytes were sent, others came back"),
        ("ws", "text", "a text message came back for a binary one"),
        ("echo", "wrong", "64 bytes were sent, others came back\n  from byte 63 on:\n  -"),
        ("proto", "wrong", "bodies of 7 and 11 bytes\n  -got you\n  +more of you"),
    ],
)
def test_a_wrong_answer_is_shown_before_anything_is_timed(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, protocol: str, mode: str, words: str
) -> None:
    code, text = duel(speaker(protocol), speaker(protocol, mode), *PROTOCOLS[protocol], *SHORT)
    assert code == 1 and words in text, text
    assert not list(tmp_path.glob("runs/*")), "nothing was measured"


def test_a_difference_that_is_meant_is_allowed_whatever_the_protocol(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    servers = (speaker("proto"), speaker("proto", "wrong"))
    code, text = duel(*servers, *PROTOCOLS["proto"], *SHORT, "--allow", "body")
    assert code == 0, text
    assert measured(tmp_path) == "proto"


def test_a_gate_and_python_take_the_same_protocols(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = speaker("echo")
    done = tare(tmp_path, "gate", server, server, *PROTOCOLS["echo"], *SHORT)
    assert done.returncode == 0 and "cannot-tell: new: " in done.stdout, done.stderr
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "python"))
    short: dict[str, Any] = {"duels": 1, "duration": 0.3, "rate": 100, "connections": 2}
    run = api.duel(speaker("proto"), speaker("proto"), protocol="proto", body="you", **short)
    assert run.results.scenarios[0].parameters["protocol"] == "proto"
    with pytest.raises(TareError, match="a message does not come back"):
        api.duel(server, speaker("echo", "wrong"), url="tcp://127.0.0.1:{port}", **short)


@pytest.mark.together
def test_a_server_of_another_protocol_is_told(duel: Callable[..., tuple[int, str]]) -> None:
    for server, options, words in (
        (speaker("grpc"), (), "old: no answer to GET /: not an HTTP/1.1 head"),
        (GOOD, PROTOCOLS["ws"], "the server does not switch to WebSocket"),
        (GOOD, CALL, "old: no answer to GET /pkg.Service/One: "),
    ):
        code, text = duel(server, server, *options, *SHORT)
        assert code == 1 and words in text, text


@pytest.mark.parametrize(
    ("protocol", "listen", "version"),
    [
        ("h2", "127.0.0.1:PORT", "HTTP/2.0"),
        ("h3", "127.0.0.1:PORT quic", "HTTP/3.0"),
    ],
)
def test_answers_are_compared_over_the_protocol_that_is_timed(
    duel: Callable[..., tuple[int, str]],
    nginx: Callable[..., str],
    tmp_path: Path,
    protocol: str,
    listen: str,
    version: str,
) -> None:
    one, other = nginx(listen, "one"), nginx(listen, "other")
    code, text = duel(one, other, "-p", protocol, *SHORT)
    assert code == 1 and f"-one over {version}\n  +other over {version}" in text, text
    code, text = duel(one, one, "-p", protocol, *SHORT)
    assert code == 0, text
    assert measured(tmp_path) == protocol


@pytest.mark.together
def test_what_makes_no_sense_with_a_protocol_is_refused(
    duel: Callable[..., tuple[int, str]],
) -> None:
    for arguments, words in (
        (("-p", "grpc", "-X", "PUT"), "--method: grpc always calls with POST; leave it out"),
        (("-p", "ws", "--body", "x"), "--body: ws sends messages of --size that come back"),
        (("-p", "echo", "--get", "/a"), "--get: echo is no HTTP; leave it out"),
        (("-p", "proto", "-H", "A: b"), "--header: proto is no HTTP; leave it out"),
        (("-p", "proto", "--body", "x", "-s", "3"), "expected one of them"),
        (("--url", "tcp://127.0.0.1:{port}/a"), "found a path, expected tcp://HOST:PORT"),
        (("--url", "tcp://127.0.0.1:{port}", "-p", "h1"), "found tcp:// for h1, expected http://"),
        (("--url", "http://127.0.0.1:{port}/", "-p", "h3"), "found http:// for h3, expected https"),
    ):
        code, text = duel(GOOD, GOOD, *arguments)
        assert code == 2 and words in text, text
