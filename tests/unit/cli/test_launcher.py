"""The launcher: what it installs, once, and never under a command that runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tare.lab.paths import ROOT

LAUNCHER = Path(__file__).parents[3] / "tare"
_UV = """#!/bin/sh
[ "$1" = --version ] && { echo "uv VERSION"; exit; }
echo "$*" >> "$LOG"
sleep 0.2
mkdir -p .venv/bin
printf '#!/bin/sh\\n' > .venv/bin/python
chmod +x .venv/bin/python
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose uv only notes what it is told."""
    shutil.copy(LAUNCHER, tmp_path / "tare")
    found = re.search(r"^UV_VERSION=(\S+)", LAUNCHER.read_text(), re.MULTILINE)
    assert found is not None
    (tmp_path / "uv.lock").write_text("1")
    (tmp_path / "bin").mkdir()
    uv = tmp_path / "bin" / "uv"
    uv.write_text(_UV.replace("VERSION", found[1]))
    uv.chmod(0o755)
    return tmp_path


def start(project: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    environment = os.environ | {
        "PATH": f"{project / 'bin'}:{os.environ['PATH']}",
        "TARE_CACHE": str(project / "cache"),
        "LOG": str(project / "log"),
    }
    return subprocess.Popen([project / "tare", *arguments], env=environment)


def synced(project: Path, *arguments: str) -> list[str]:
    """What uv was told while a command ran."""
    log = project / "log"
    before = len(log.read_text().splitlines()) if log.exists() else 0
    assert start(project, *arguments).wait() == 0
    return log.read_text().splitlines()[before:]


def test_the_environment_only_grows(project: Path) -> None:
    (first,) = synced(project, "list")
    assert "--no-dev" in first and "--inexact" in first and "--python" in first
    assert synced(project, "run", "x") == []
    (more,) = synced(project, "run", "x", "--benches", "benches.toml")
    assert "--extra benches" in more and "--dev" not in more
    assert synced(project, "hosts", "worker", "left", "benches.toml") == []
    (more,) = synced(project, "test")
    assert "--dev" in more and "--all-extras" in more
    assert "--python" not in more, "uv would make the environment anew"
    for command in (["list"], ["export", "--format", "parquet"], ["hosts"], ["test"]):
        assert synced(project, *command) == []
    (project / "uv.lock").write_text("2")
    assert len(synced(project, "list")) == 1


def test_two_commands_at_once_prepare_it_once(project: Path) -> None:
    commands = [start(project, "list") for _ in range(3)]
    assert [command.wait() for command in commands] == [0, 0, 0]
    assert len((project / "log").read_text().splitlines()) == 1


def test_no_file_of_the_current_folder_stands_in_for_a_module(tmp_path: Path) -> None:
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    shutil.copy(LAUNCHER, tmp_path / "tare")
    (tmp_path / "uv.lock").write_text("1")
    (tmp_path / ".venv" / ".tare-base").write_text("1")
    python = tmp_path / ".venv" / "bin" / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    own = tmp_path / "own"
    own.mkdir()
    for name in ("click", "queue", "tare"):
        (own / f"{name}.py").write_text(f"raise SystemExit('{name} of the current folder')\n")
    environment = os.environ | {
        "TARE_CACHE": str(tmp_path / "cache"),
        "PYTHONPATH": str(ROOT / "src"),
        "TARE_ROOT": str(ROOT),
    }
    done = subprocess.run(
        [tmp_path / "tare", "run", "--help"],
        cwd=own, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Usage: tare run" in done.stdout
