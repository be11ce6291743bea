"""`tare gate` as CI calls it: what fails, what passes, and in which words."""

import json
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from commands import GOOD, SERVER, tare

pytestmark = [pytest.mark.contract, pytest.mark.alone]
BRIEF = ("--rate", "300", "-c", "2", "--duration", "0.4")
SHORT = (*BRIEF, "--within", "2m")


def gate(folder: Path, *arguments: str) -> tuple[int, str, str]:
    done = tare(folder, "gate", *arguments)
    return done.returncode, done.stdout, done.stderr


def decided(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """A gate without an alarm of the control, which one run in twenty may have without a cause."""
    for attempt in range(5):
        code, out, err = gate(folder, *arguments, "--seed", str(attempt))
        if "A/A control differs" not in out:
            break
    return code, out, err


def test_a_server_that_is_surely_worse_fails_the_gate(tmp_path: Path) -> None:
    code, out, err = decided(tmp_path, GOOD, f"{GOOD} slow", *SHORT, "--format", "json")
    assert code == 3, out + err
    found = json.loads(out)
    assert found["failed"] and {each["limit_pct"] for each in found["rulings"]} == {2.0}
    both = {"ordinary_cpu_us_per_request", "cpu_us_per_request"}
    failed = {each["outcome"] for each in found["rulings"] if each["decision"] == "fail"}
    assert failed and failed <= both == {each["outcome"] for each in found["rulings"]}


def test_a_change_that_costs_less_than_the_limit_passes(tmp_path: Path) -> None:
    limit = ("--fail-on", "cpu_us_per_request > 900%")
    code, out, err = decided(tmp_path, GOOD, GOOD, *SHORT, *limit, "--format", "markdown")
    assert code == 0 and out.startswith("| | server") and "| ✅ | new |" in out, out + err


def test_what_cannot_be_told_does_not_fail(tmp_path: Path) -> None:
    code, out, err = decided(tmp_path, GOOD, GOOD, *BRIEF, "--duels", "1")
    assert code == 0 and "cannot-tell: new: " in out, out + err


def test_what_the_log_of_a_broken_server_holds_breaks_no_page(tmp_path: Path) -> None:
    text = "]]> 100 % <a> \x1b[2J \x01"
    broken = f"{sys.executable} -c \"import sys; sys.exit('{text}')\" {{port}}"
    code, out, err = gate(tmp_path, GOOD, broken, *BRIEF, "--format", "junit")
    assert code == 1 and "new does not start" in err, out + err
    (found,) = ElementTree.fromstring(out).findall("testsuite/testcase/error")
    assert "new does not start" in str(found.get("message")) and "]]> 100 % <a>" in str(found.text)


def test_an_error_is_said_even_if_the_output_is_full(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tare", "gate", "exit 4; {port}", GOOD, "--format", "json"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
    assert done.returncode == 1 and done.stderr.startswith("tare: old does not start"), done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


def test_a_gate_against_a_ref_builds_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
        subprocess.run(["git", *who, *arguments], cwd=tmp_path, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    (tmp_path / "mode").write_text("")
    git("add", "mode")
    git("commit", "--quiet", "-m", "One")
    (tmp_path / "mode").write_text("slow")
    refs = ("--against", "main", "--build", "cp mode built")
    start = f"{sys.executable} {SERVER} {{port}} $(cat built)"
    code, out, err = gate(tmp_path, *refs, start, *BRIEF, "--duels", "2")
    assert code == 0, out + err
    assert "the work tree has changes, which are part of the new side" in err
    (file,) = tmp_path.glob("runs/*/results.json")
    (scenario,) = json.loads(file.read_text())["scenarios"]
    cost = {
        name: each["outcomes"]["cpu_us_per_request"]["median"]
        for name, each in scenario["variants"].items()
    }
    assert cost["new"] > cost["old"] > 0


@pytest.mark.together
def test_bad_usage_is_told(tmp_path: Path) -> None:
    for arguments, words in (
        ((GOOD, GOOD, "--fail-on", "cpu 2"), "expected OUTCOME > N%"),
        (
            (GOOD, GOOD, "--fail-on", "cpu > 2%", "--fail-on", "cpu > 3%"),
            "found two limits of cpu, expected one",
        ),
        ((GOOD, "--against", "main"), "expected both, or none of them"),
        ((GOOD, GOOD, "--against", "main", "--build", "true"), "expected one for both refs"),
        (("--against", "main", "--build", "true", GOOD), "not a git repository"),
    ):
        code, _, err = gate(tmp_path, *arguments)
        assert code in (1, 2) and words in err, err
    code, _, err = gate(tmp_path, GOOD, GOOD, *SHORT, "--fail-on", "speed > 1%")
    assert code == 2
    assert "found 'speed', expected one of ordinary_cpu_us_per_request, cpu_us_per_request" in err
