"""The wheel as users install it: in an empty home and an empty folder."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
SERVER = """
import http.server, sys

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""

pytestmark = [pytest.mark.system, pytest.mark.thorough, pytest.mark.timeout(1800)]


class Home:
    """A home in which tare is installed, and nothing else."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.work = folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        kept = Path.home()
        own = ("TARE_", "XDG_", "VIRTUAL_ENV", "PYTHONPATH", "UV_TOOL")
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(own)
        } | {
            "HOME": str(self.home),
            # Tools of the machine, not of tare.
            "CARGO_HOME": os.environ.get("CARGO_HOME", str(kept / ".cargo")),
            "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(kept / ".rustup")),
        }

    def run(self, *argv: str | Path, code: int = 0) -> "subprocess.CompletedProcess[str]":
        done = subprocess.run(
            argv, cwd=self.work, env=self.environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done


def _state(folder: Path) -> dict[str, str]:
    """The files of a folder and their contents, without what Python compiles."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("wheel")
    made = Home(folder)
    # By way of the source distribution: a wheel of a clone has the same files.
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
    shutil.unpack_archive(archive, folder / "sources", filter="data")
    (sources,) = (folder / "sources").iterdir()
    (wheel,) = WheelBuilder(str(sources)).build(directory=str(folder), versions=["standard"])
    made.run(sys.executable, "-m", "venv", made.home / "tool")
    made.run(made.home / "tool/bin/pip", "install", "--quiet", wheel)
    (made.work / "server.py").write_text(SERVER)
    return made


def test_it_measures_in_an_empty_home(home: Home) -> None:
    tare = home.home / "tool/bin/tare"
    (package,) = home.home.glob("tool/lib/*/site-packages/tare")
    before = _state(package)
    assert "filters" in home.run(tare, "list").stdout
    first = home.run(tare, "load", "--version")
    assert "building load" in first.stderr and str(home.home / ".cache") in first.stderr
    assert first.stdout.startswith("tare-load ")
    again = home.run(tare, "load", "--version")
    assert "building" not in again.stderr
    server = f"python3 {home.work / 'server.py'} {{port}}"
    found = home.run(tare, "duel", server, server, "--duels", "2", "--allow", "header:Date")
    assert "CPU per request" in found.stdout, found.stdout
    (run,) = (home.home / ".local/share/tare/runs").iterdir()
    assert (run / "report.html").is_file()
    assert _state(package) == before, "nothing is written where it is installed"
    assert [path.name for path in home.work.iterdir()] == ["server.py"]
