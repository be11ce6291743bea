"""A user's own file and variant in a run that is stopped, resumed, and begun with what is wrong."""

import shutil
import signal
from pathlib import Path

import pytest
from laboratory import PROJECT, Laboratory, end, wait_for

pytestmark = pytest.mark.system
SERVER = PROJECT / "experiments" / "toy" / "server.py"


def test_a_run_goes_on_with_the_file_that_it_was_begun_with(lab: Laboratory) -> None:
    own = lab.home / "my-server.py"
    shutil.copy(SERVER, own)
    command = lab.start("run", "toy", "--server", str(own), "--variants", "slow", "--blocks", "4")
    wait_for(lab.has_trials())
    assert end(command, signal.SIGTERM)[0] == 130
    own.write_text("raise SystemExit('not this one')\n")
    lab.tare("resume", "last")
    plan, results = lab.plan(), lab.results()
    assert plan.parts["server"].variants == ["plain", "slow"]
    assert results["complete"] and results["scenarios"][0]["name"].endswith("server=my-server.py")
    versions = {trial.version for trial in lab.trials()}
    assert len(versions) == 1 and f"my-server.py {plan.parts['server'].digest}" in str(versions)
    assert lab.results()["environment"]["parts"]["server"]["sha256"] == plan.parts["server"].sha256

    # Without the copy it takes the file, if that is the same.
    shutil.rmtree(lab.home / "cache" / "parts")
    (lab.run_folder() / "trials.jsonl").write_text("")
    told = lab.tare("resume", "last", code=1)
    assert "my-server.py has changed since the run was planned; begin a new run" in told


def test_a_file_that_will_not_do_ends_the_run_before_it_begins(lab: Laboratory) -> None:
    own = lab.home / "my-server.py"
    for text, words in (
        ("raise SystemExit('not this one')\n", "not this one"),
        (SERVER.read_text().replace('b"ok\\n"', 'b"no\\n"'), "expected b'ok"),
        ("", "it is empty; begin with a copy of server.py"),
    ):
        own.write_text(text)
        told = lab.tare("run", "toy", "--server", str(own), "--variants", "slow", code=1)
        assert words in told and "my-server.py" in told
    assert not lab.runs.exists()
    assert not lab.processes()


def test_a_run_remembers_the_folder_of_variants(lab: Laboratory) -> None:
    folder = lab.home / "own"
    lab.tare("new", "toy/mine", "--from", "slow", "--into", str(folder))
    chosen = ("--variants", "mine", "--baseline", "slow", "--variants-dir", str(folder))
    command = lab.start("run", "toy", *chosen, "--blocks", "4")
    wait_for(lab.has_trials())
    assert end(command, signal.SIGTERM)[0] == 130
    manifest = folder / "toy" / "mine" / "variant.toml"
    text = manifest.read_text()
    manifest.write_text(text + "\n# changed\n")
    assert "has changed since the run" in lab.tare("resume", "last", code=1)
    manifest.rename(folder / "away")
    assert "there is no variant of toy 'mine'" in lab.tare("resume", "last", code=2)
    manifest.write_text(text)
    lab.tare("resume", "last")
    assert lab.plan().variants == ["slow", "mine"] and lab.results()["baseline"] == "slow"
    assert lab.results()["complete"]


def test_a_check_takes_a_file_too(lab: Laboratory, tmp_path: Path) -> None:
    told = lab.tare("check", "toy/plain", "--server", str(tmp_path / "none.py"), code=1)
    assert "there is no such file" in told
