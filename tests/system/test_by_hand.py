"""One variant by hand: check, up, status, stats, watch, logs, restart, down."""

import json
import os
import signal
import time
import urllib.request
from pathlib import Path

import pytest
from laboratory import PROJECT, Laboratory, end, wait_for

pytestmark = pytest.mark.system


def get(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
        return bytes(answer.read())


def test_a_variant_by_hand(lab: Laboratory) -> None:
    try:
        up = json.loads(lab.tare("up", "toy/slow", "-p", "spin=1", "--json"))
        port = up["port"]["http"]
        assert get(port) == b"ok\n"
        assert up["try_lines"] == [f"curl -i http://127.0.0.1:{port}/"]
        assert "is up already" in lab.tare("up", "toy/slow", code=1)

        (status,) = json.loads(lab.tare("status", "--json"))
        assert status["name"] == "toy/slow" and status["roles"]["sut"]["running"]

        stats = json.loads(lab.tare("stats", "--json", "--interval", "0.2"))
        assert stats["counters"]["requests"] >= 2
        assert set(stats["roles"]) == {"sut"} and stats["roles"]["sut"]["memory_bytes"] > 0
        assert lab.tare("watch", "--count", "2").count("toy/slow: ") == 2

        again = json.loads(lab.tare("restart", "--json"))
        assert again["overrides"] == {"spin": 1}
        assert again["roles"]["sut"]["pid"] != up["roles"]["sut"]["pid"]
        assert lab.tare("logs") == ""
    finally:
        assert lab.tare("down") == "toy/slow is down\n"
    assert lab.tare("status") == "nothing is up\n"
    assert not lab.processes()


def test_logs_are_kept_until_the_variant_is_up_again(lab: Laboratory) -> None:
    try:
        up = json.loads(lab.tare("up", "toy/plain", "--json"))
        with Path(up["roles"]["sut"]["log"]).open("a") as log:
            log.write("a word\n")
        assert lab.tare("logs") == "sut: a word\n"
        lab.tare("down", "toy/plain")
        assert lab.tare("logs", "toy/plain") == "sut: a word\n"
        assert lab.tare("logs", "toy/plain", "--role", "sut", "-f") == "sut: a word\n"
        assert lab.tare("status") == "nothing is up\n"
        lab.tare("up", "toy/plain")
        assert lab.tare("logs", "toy/plain") == ""
    finally:
        lab.tare("down")


def test_a_role_that_ended_is_told_of_and_taken_down(lab: Laboratory) -> None:
    up = json.loads(lab.tare("up", "toy/plain", "--json"))
    os.kill(up["roles"]["sut"]["pid"], signal.SIGKILL)
    assert "ENDED, see: tare logs toy/plain" in lab.tare("status", code=1)
    for command in ("stats", "watch"):
        told = lab.tare(command, code=1)
        assert "toy/plain: role sut has ended, though nobody took it down, having " in told
        assert "tare logs toy/plain shows more, tare restart toy/plain starts it again" in told
    assert lab.tare("down") == "toy/plain is down\n"


def test_a_restart_that_cannot_be_leaves_the_server_up(lab: Laboratory, tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text((PROJECT / "experiments" / "toy" / "server.py").read_text())
    try:
        up = json.loads(lab.tare("up", "toy/plain", "--server", str(own), "--json"))
        own.unlink()
        assert str(own) in lab.tare("restart", code=1)
        assert get(up["port"]["http"]) == b"ok\n"
        own.write_text("raise SystemExit('not today')\n")
        told = lab.tare("restart", code=1)
        assert "toy/plain was taken down and did not come up again: " in told
        assert lab.tare("status") == "nothing is up\n"
    finally:
        lab.tare("down")


def test_watching_ends_when_the_variant_is_down(lab: Laboratory) -> None:
    lab.tare("up", "toy/plain")
    command = lab.start("watch", "--count", "60")
    assert command.stdout and command.stdout.readline().startswith("toy/plain: ")
    lab.tare("down")
    _, err = command.communicate(timeout=20)
    assert (err, command.returncode) == ("tare: toy/plain is down\n", 0)


def test_of_two_that_start_a_variant_one_is_refused(lab: Laboratory) -> None:
    try:
        both = [lab.start("up", "toy/plain") for _ in range(2)]
        told = [command.communicate(timeout=60) for command in both]
        assert sorted(command.returncode for command in both) == [0, 1], told
        codes = [command.returncode for command in both]
        refused = told[codes.index(1)][1]
        assert "another process starts or stops toy/plain just now" in refused or (
            "toy/plain is up already" in refused
        )
        (status,) = json.loads(lab.tare("status", "--json"))
        assert status["roles"]["sut"]["running"]
    finally:
        lab.tare("down")
    assert not lab.processes()


def test_logs_are_followed_until_the_variant_is_down(lab: Laboratory) -> None:
    up = json.loads(lab.tare("up", "toy/plain", "--json"))
    with Path(up["roles"]["sut"]["log"]).open("a") as log:
        log.write("a wo")
        log.flush()
        command = lab.start("logs", "-f")
        time.sleep(1)
        log.write("rd\n")
    time.sleep(1)
    lab.tare("down")
    out, err = command.communicate(timeout=20)
    assert (out, command.returncode) == ("sut: a word\n", 0), err
    assert err == "tare: toy/plain is down\n"


def test_logs_are_followed_until_a_role_ends_by_itself(lab: Laboratory) -> None:
    up = json.loads(lab.tare("up", "toy/plain", "--json"))
    command = lab.start("logs", "-f")
    time.sleep(1)
    with Path(up["roles"]["sut"]["log"]).open("a") as log:
        log.write("a last wo")
    os.kill(up["roles"]["sut"]["pid"], signal.SIGKILL)
    out, err = command.communicate(timeout=20)
    assert (out, command.returncode) == ("sut: a last wo\n", 1), err
    assert err.startswith("tare: toy/plain: role sut has ended, though nobody took it down: a last")
    assert "Traceback" not in err
    lab.tare("down")


def test_a_line_that_has_no_end_is_shown_when_the_user_stops_following(lab: Laboratory) -> None:
    up = json.loads(lab.tare("up", "toy/plain", "--json"))
    with Path(up["roles"]["sut"]["log"]).open("a") as log:
        log.write("first\nasks: ")
    command = lab.start("logs", "-f")
    assert command.stdout is not None and command.stdout.readline() == "sut: first\n"
    command.send_signal(signal.SIGINT)
    out, err = command.communicate(timeout=20)
    assert (out, command.returncode) == ("sut: asks: \n", 130), err
    lab.tare("down")


def test_what_a_server_prints_as_it_is_taken_down_is_followed(
    lab: Laboratory, tmp_path: Path
) -> None:
    own = tmp_path / "mine.py"
    server = (PROJECT / "experiments" / "toy" / "server.py").read_text()
    says = "signal.signal(signal.SIGTERM, lambda *_: sys.exit('good bye'))"
    own.write_text(server.replace("\n\nmain()\n", f"\n\n{says}\nmain()\n"))
    lab.tare("up", "toy/plain", "--server", str(own))
    command = lab.start("logs", "-f")
    time.sleep(1)
    lab.tare("down")
    out, err = command.communicate(timeout=20)
    assert (out, err, command.returncode) == ("sut: good bye\n", "tare: toy/plain is down\n", 0)


@pytest.mark.parametrize("variant", ["wrong-answers", "does-not-start", "unavailable"])
def test_what_cannot_come_up_says_why_and_leaves_nothing(lab: Laboratory, variant: str) -> None:
    assert f"toy/{variant}" in lab.tare("up", f"toy/{variant}", code=1)
    wait_for(lambda: not lab.processes(), lab.processes)
    assert lab.tare("status") == "nothing is up\n"


def test_an_up_that_is_killed_leaves_nothing(lab: Laboratory) -> None:
    command = lab.start("up", "toy/never-ready")
    wait_for(lambda: any("server.py" in line for line in lab.processes()))
    command.kill()
    command.communicate()
    wait_for(lambda: not lab.processes(), lab.processes)


def test_check_names_what_is_wrong_with_each_variant(lab: Laboratory) -> None:
    assert lab.tare("check", "toy/plain").split()[:2] == ["toy/plain", "ok"]
    assert not list((lab.home / "cache").glob("check-*"))
    assert "not ready" in lab.tare("check", "toy/never-ready", code=1)
    # What failed is left to be looked at.
    assert list((lab.home / "cache").glob("check-*/never-ready/sut/sut.log"))
    assert "expected b'ok\\n'" in lab.tare("check", "toy/wrong-answers", code=1)
    assert lab.tare("check", "toy/unavailable").split()[1] == "unavailable"


def test_a_check_that_is_stopped_stops(lab: Laboratory) -> None:
    command = lab.start("check", "toy/slow-build")
    wait_for(lambda: any("sleep" in line for line in lab.processes()))
    code, text = end(command, signal.SIGTERM)
    assert (code, text) == (130, "tare: building toy-slow-build …\ntare: stopped by SIGTERM\n")
    wait_for(lambda: not lab.processes(), lab.processes)
