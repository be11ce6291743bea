"""The examples of docs/TOUR.md, followed to the letter in a copy of the project."""

import json
import os
import re
import subprocess
import sys

import pytest
from test_contributing import copy_of_the_project

from tare.lab.paths import ROOT

pytestmark = pytest.mark.contract
FILES_AT_MOST = {"A proxy, in one folder": 1, "A gate, in three files": 3, "A probe with": 3}


def sections():
    """Title → its shell blocks, of the examples."""
    text = (ROOT / "docs" / "TOUR.md").read_text()
    parts = re.split(r"^## ", text, flags=re.M)[1:]
    found = {
        part.splitlines()[0]: re.findall(r"^```sh\n(.*?)^```", part, re.M | re.S) for part in parts
    }
    return {title: blocks for title, blocks in found.items() if blocks}


def changed(project):
    """Places that a commit would touch; a new folder is one."""
    done = subprocess.run(
        ["git", "status", "--porcelain"], cwd=project, capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def commit(project):
    for step in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        own = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", *own, *step], cwd=project, check=True, capture_output=True)


def test_its_examples_work_and_touch_few_files(tmp_path):
    project, runs = tmp_path / "project", tmp_path / "runs"
    copy_of_the_project(project)
    commit(project)
    environment = os.environ | {
        "TARE_RUNS": str(runs), "TARE_ROOT": str(project), "PYTHONPATH": str(project / "src"),
    }  # fmt: skip
    told = ""
    for title, blocks in sections().items():
        for block in blocks:
            step = block.replace("./tare ", f"{sys.executable} -m tare ")
            done = subprocess.run(
                ["sh", "-e", "-c", step], cwd=project, env=environment, capture_output=True,
                text=True, check=False,
            )  # fmt: skip
            told += done.stdout
            # On a busy machine perhaps no trial counts; then the exit code is 1.
            assert done.returncode == 0 or " run " in block, f"{step}\n{done.stdout}{done.stderr}"
        most = next(most for begin, most in FILES_AT_MOST.items() if title.startswith(begin))
        assert 0 < len(changed(project)) <= most, changed(project)
        commit(project)
    assert re.search(r"^proxies/nginx-unbuffered +ok ", told, re.M)
    assert "Threads of the server" in told
    (file,) = runs.glob("*/trials.jsonl")
    trials = [json.loads(line) for line in file.read_text().splitlines()]
    assert trials and all(
        any(gate["name"] == "memory" and gate["ok"] for gate in trial["gates"]) for trial in trials
    )
    assert all(trial["outcomes"]["threads"] >= 2 for trial in trials), "master and worker"


def test_the_tour_is_short():
    assert len((ROOT / "docs" / "TOUR.md").read_text().splitlines()) <= 190
