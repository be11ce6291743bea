"""CONTRIBUTING's "a new variant in ten minutes", followed to the letter in a copy."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.contract, pytest.mark.timeout(1200)]


def steps() -> list[str]:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.split("## A new variant in ten minutes")[1].split("\n## ")[0]
    return re.findall(r"```sh\n(.*?)```", section, re.DOTALL)


def copy_of_the_project(target: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def follow(step: str, project: Path, runs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-e", "-c", step],
        cwd=project,
        env=os.environ | {"TARE_RUNS": str(runs)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_following_it_gives_a_variant_that_is_measured(tmp_path):
    project, runs = tmp_path / "project", tmp_path / "runs"
    copy_of_the_project(project)
    *preparing, check, run = steps()
    for step in [*preparing, check]:
        done = follow(step, project, runs)
        assert done.returncode == 0, f"{step}\n{done.stdout}\n{done.stderr}"
    assert "filters/example-location" in done.stdout and " ok " in done.stdout
    # On a busy machine perhaps no trial counts; then the exit code is 1, and the status says so.
    done = follow(run, project, runs)
    (results,) = runs.glob("*/results.json")
    statuses = {
        scenario["variants"]["example-location"]["status"]
        for scenario in json.loads(results.read_text())["scenarios"]
    }
    assert statuses <= {"measured", "invalid"}, done.stdout + done.stderr
