"""`tare duel` as a user calls it: verdicts on real processes, sentences for all that is bad."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from commandline import call
from commands import GOOD, tare

from tare import api
from tare.lab.errors import TareError
from tare.lab.machine.proc import ended

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "2", "--duration", "0.3", "--rate", "300", "-c", "2")


@pytest.fixture
def duel(tmp_path: Path) -> Callable[..., tuple[int, str]]:
    """Calls the command with its runs in a folder; nothing may outlive it."""

    def call(*arguments: str) -> tuple[int, str]:
        done = tare(tmp_path, "duel", *arguments)
        assert living(tmp_path) == []
        return done.returncode, done.stdout + done.stderr

    return call


def living(folder: Path) -> list[str]:
    """Processes that were started in the folder, as a user's servers are where the user stands."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cwd").readlink() == folder and not ended(int(process.name)):
                command = (process / "cmdline").read_bytes()
                found.append(f"{process.name} {command.decode(errors='replace')}")
        except OSError:
            continue
    return found


def results(folder: Path) -> dict[str, Any]:
    (file,) = folder.glob("runs/*/results.json")
    return dict(json.loads(file.read_text()))


def test_two_servers_get_a_verdict(duel: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    rate = ("--rate", "300", "-c", "2", "--duration", "0.4", "--within", "3m")
    code, text = duel(GOOD, f"{GOOD} slow", *rate)
    (scenario,) = results(tmp_path)["scenarios"]
    assert scenario["parameters"]["rate"] == 300
    cost = scenario["variants"]["new"]["outcomes"]["cpu_us_per_request"]
    assert cost["verdict"] == "costs" and cost["ci_pct"][0] > 20, text
    # One run in twenty may have an alarm without a cause, and then says so.
    alarm = any(each["verdict"] in ("costs", "saves") for each in scenario["noise_floor"].values())
    assert code == (1 if alarm else 0), text
    first = (
        "Do not believe this run: "
        if alarm
        else "new against old: server CPU per request in ordinary rounds is "
    )
    assert first in text


def test_servers_that_take_long_get_longer_turns(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, text = duel(
        f"{GOOD} late", f"{GOOD} late", "--duels", "4", "--duration", "0.3", "-c", "2"
    )
    assert code == 0, text
    (stored,) = tmp_path.glob("runs/*/servers.json")
    assert json.loads(stored.read_text())["load"]["slices"]["length_ms"] >= 20
    (scenario,) = results(tmp_path)["scenarios"]
    assert scenario["variants"]["new"]["outcomes"]["latency_p50_us"]["median"] >= 10_000


def test_servers_may_be_named_and_saturated(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    names = ("--name", "ours", "--name", "theirs", "--saturated")
    code, text = duel(GOOD, GOOD, *names, "--duels", "1", "--duration", "0.3", "-c", "2")
    assert code == 0, text
    found = results(tmp_path)
    assert found["environment"]["titles"] == {"ours": GOOD, "theirs": GOOD}
    (scenario,) = found["scenarios"]
    assert {"ours", "theirs"} < scenario["variants"].keys()
    assert "requests_per_second" in scenario["variants"]["theirs"]["outcomes"]


@pytest.mark.together
@pytest.mark.parametrize(
    ("second", "words"),
    [
        ("false {port}", "new does not start: servers/new: role sut ended with exit code 1"),
        ("echo so sorry {port}; exit 7", "ended with exit code 7: so sorry"),
        ("no-such-program {port}", "no-such-program: not found"),
        (f"{GOOD} status", "old and new: status 200 and 500"),
        (f"{GOOD} body", "bodies of 6 and 6 bytes\n  -hello\n  +other"),
        (f"{GOOD} header", "header x-more: none and '1'"),
    ],
)
def test_what_cannot_be_compared_is_told_before_anything_is_timed(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, second: str, words: str
) -> None:
    code, text = duel(GOOD, second, *SHORT)
    assert code == 1 and words in text, text
    assert not list(tmp_path.glob("runs/*")), "nothing was measured"


def test_a_difference_that_is_meant_is_allowed_by_name(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, text = duel(GOOD, f"{GOOD} header", *SHORT, "--allow", "header:x-more")
    assert code == 0, text
    assert results(tmp_path)["complete"]


def test_all_requests_of_a_file_are_compared_and_then_sent(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    (tmp_path / "urls").write_text('/a\nDELETE /b\n{"url": "/longer", "weight": 3}\n')
    mix = ("--requests", str(tmp_path / "urls"))
    code, text = duel(f"{GOOD} paths", f"{GOOD} paths-b", *mix, *SHORT)
    assert code == 1 and "old and new: DELETE /b: bodies of 18 and 6 bytes" in text, text
    assert "GET /a:" not in text and not list(tmp_path.glob("runs/*")), text
    # Answers of three lengths, each as expected, or its trial would not count.
    code, text = duel(f"{GOOD} paths", f"{GOOD} paths", *mix, "--duels", "1", *SHORT[2:])
    assert code == 0, text
    assert results(tmp_path)["scenarios"][0]["variants"]["new"]["status"] == "measured"


def test_the_first_look_is_where_runs_are_and_open_to_other_users(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    # A server that gives up root must get there in the first look as in a trial.
    noted = f"(cd {{folder}}/../.. && pwd && stat -c %a .) >> {tmp_path}/noted"
    code, text = duel(GOOD, GOOD, "--duels", "1", *SHORT[2:], "--setup", noted)
    assert code == 0, text
    lines = (tmp_path / "noted").read_text().split()
    assert all(place.startswith(f"{tmp_path}/runs/") for place in lines[::2]), lines
    assert {*lines[1::2]} == {"755"}, lines


@pytest.mark.together
def test_a_setup_that_fails_is_told(duel: Callable[..., tuple[int, str]]) -> None:
    code, text = duel(GOOD, GOOD, *SHORT, "--setup", "test -e {folder}/db || exit 7")
    assert code == 1 and "old does not start: " in text, text
    assert "the setup command ended with exit code 7" in text


def test_a_server_that_listens_elsewhere_is_named(
    duel: Callable[..., tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = f"USUAL={{port}} {GOOD.replace('{port}', '0')}"
    code, text = duel(GOOD, elsewhere, *SHORT, "--ready-within", "1s")
    assert code == 1
    assert "new does not start: servers/new: role sut was not ready within 1 s (port " in text
    assert re.search(r" \(port \d+ of 127\.0\.0\.1; it listens on port \d+ of 127\.0\.0\.1\)", text)


def test_a_server_that_crashes_under_load_is_named_with_its_last_words(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, text = duel(GOOD, f"{GOOD} crash", *SHORT)
    assert code == 1
    assert "ended with exit code 3: out of luck" in text


@pytest.mark.parametrize("order", [("", "fails"), ("fails", "")])
def test_a_server_that_fails_under_load_is_named_and_not_the_other(
    duel: Callable[..., tuple[int, str]], order: tuple[str, str]
) -> None:
    code, text = duel(*(f"{GOOD} {mode}" for mode in order), *SHORT)
    failing = "old" if order[0] else "new"
    assert code == 1
    (line,) = [line for line in text.splitlines() if "no right answers under load" in line]
    assert re.fullmatch(rf"tare: {failing}: no right answers under load \(status \d+\)", line)


@pytest.mark.parametrize("mode", ["leaks", "loud", "counts"])
def test_odd_servers_are_measured_all_the_same(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, mode: str
) -> None:
    code, text = duel(f"{GOOD} {mode}", f"{GOOD} {mode}", *SHORT)
    assert code == 0, text
    if mode == "counts":
        assert "the body changes from request to request, so it is not compared" in text
    assert results(tmp_path)["complete"]


@pytest.mark.together
def test_a_server_that_ignores_sigterm_is_killed_and_named(tmp_path: Path) -> None:
    done = call(tmp_path, "duel", GOOD, f"{GOOD} stubborn", "--duels", "1", *SHORT[2:])
    assert done.returncode == 1 and living(tmp_path) == []
    told = done.stdout + done.stderr
    why = "role sut did not end on SIGTERM within 5 s and was killed"
    assert why in told
    (file,) = tmp_path.glob("runs/*/trials.jsonl")
    trials = {trial["label"]: trial for trial in map(json.loads, file.read_text().splitlines())}
    assert trials["new"]["reason"] == why
    assert trials["old@new"]["reason"] == f"its opponent new is failed: {why}"


def test_the_rate_is_found_with_whatever_status_is_right(
    duel: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    short = ("--duels", "1", "--duration", "0.3", "-c", "2")
    code, text = duel(f"{GOOD} status", f"{GOOD} status", *short)
    assert code == 0, text
    (scenario,) = results(tmp_path)["scenarios"]
    assert scenario["parameters"]["rate"] > 0


def test_a_rate_that_no_server_can_hold_is_refused(duel: Callable[..., tuple[int, str]]) -> None:
    code, text = duel(GOOD, GOOD, "--rate", "5000000", "-c", "2")
    assert code == 1 and "--rate 5000000: the slower server answers about" in text, text


@pytest.mark.together
def test_usage_is_explained(duel: Callable[..., tuple[int, str]]) -> None:
    for arguments, words in (
        ((GOOD,), "found one command, expected two or more"),
        ((GOOD, GOOD, "--rate", "5", "--saturated"), "expected one of them"),
        ((GOOD, GOOD, "--duels", "5", "--within", "1m"), "--duels and --within: expected one"),
        ((GOOD, GOOD, "--in-order"), "expected --requests beside it"),
        ((GOOD, GOOD, "--requests", __file__, "--get", "/"), "expected one of them"),
        ((GOOD, GOOD, "-H", "nothing"), "'nothing': expected NAME:VALUE"),
        ((GOOD, GOOD, "--url", "ftp://x/"), "expected http://, https://, ws://"),
        ((GOOD, GOOD, "--name", "Upper"), "found 'Upper'"),
    ):
        code, text = duel(*arguments)
        assert code == 2 and words in text, text


def test_a_duel_from_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))
    run = api.duel(GOOD, GOOD, duels=1, duration=0.3, rate=300, connections=2)
    assert run.answers and run.results.experiment == "servers"
    assert {row["label"] for row in run.rows("trials")} >= {"new", "control", "old@new"}
    with pytest.raises(TareError, match="no-such-program: not found"):
        api.duel(GOOD, "no-such-program {port}", duels=1)
