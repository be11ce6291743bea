"""Duels over the requests of an access log."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import GOOD

pytestmark = [pytest.mark.contract, pytest.mark.alone]
SHORT = ("--duels", "1", "--duration", "0.3", "-c", "2")


@pytest.fixture
def log(tmp_path: Path) -> str:
    """A log of 300 requests in two seconds, and one line that is none."""
    lines = []
    for number in range(300):
        path = "/b" if number % 3 == 0 else "/a"
        lines.append(json.dumps({"ts": 1e9 + number / 150, "uri": path, "status": 302}) + "\n")
    file = tmp_path / "access.log"
    file.write_text("".join(lines) + "no request\n")
    return str(file)


def measured(folder: Path) -> dict[str, float]:
    """The parameters of the run, whose servers were measured."""
    (file,) = folder.glob("runs/*/results.json")
    (scenario,) = json.loads(file.read_text())["scenarios"]
    assert scenario["variants"]["new"]["status"] == "measured"
    return dict(scenario["parameters"])


def test_a_log_is_replayed_at_its_own_rate(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, log: str
) -> None:
    # The log says 302, and the servers answer 200: what they are asked at first counts.
    code, text = duel(f"{GOOD} paths", f"{GOOD} paths", "--replay", log, "--speed", "2", *SHORT)
    assert code == 0, text
    assert 290 < measured(tmp_path)["rate"] < 310
    (copy,) = tmp_path.glob("runs/*/replayed.log")
    assert copy.read_text() == Path(log).read_text()
    for file in tmp_path.glob("runs/*/trials.jsonl"):
        for line in file.read_text().splitlines():
            assert json.loads(line)["instrument"]["replay"]["entries"] == 300


def test_a_log_may_be_replayed_as_fast_as_the_servers_answer(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, log: str
) -> None:
    code, text = duel(GOOD, GOOD, "--replay", log, "--log-format", "json", "--saturated", *SHORT)
    assert code == 0, text
    assert "rate" not in measured(tmp_path)


@pytest.mark.together
def test_all_different_requests_of_a_log_are_compared(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, log: str
) -> None:
    code, text = duel(f"{GOOD} paths", f"{GOOD} paths-b", "--replay", log, *SHORT)
    assert code == 1 and "old and new: GET /b: bodies of 15 and 6 bytes" in text, text
    assert "GET /a:" not in text and not list(tmp_path.glob("runs/*")), text


@pytest.mark.together
def test_what_makes_no_sense_with_a_log_is_told(
    duel: Callable[..., tuple[int, str]], tmp_path: Path, log: str
) -> None:
    many = tmp_path / "many.log"
    many.write_text("".join(f'{{"ts": {10**9 + at}, "uri": "/{at}"}}\n' for at in range(1001)))
    for arguments, code, words in (
        (("--replay", log, "--rate", "5"), 2, "--rate: the log of --replay has its own"),
        (("--replay", log, "--get", "/a"), 2, "--get: the log of --replay has its own"),
        (("--replay", log, "--speed", "2", "--saturated"), 2, "expected one of them"),
        (("--replay", log, "-p", "grpc"), 2, "--replay: grpc has no access log; leave it out"),
        (("--speed", "2"), 2, "expected --replay beside them"),
        (("--replay", __file__), 1, "tare: the load generator cannot send this: replay.file: "),
        (("--replay", str(many)), 1, "1001 different requests; write at most 1000"),
        (("--replay", log, "--speed", "1000"), 1, "expected a lower --speed, or --saturated"),
    ):
        done, text = duel(GOOD, GOOD, *arguments, *SHORT)
        assert done == code and words in text, text
