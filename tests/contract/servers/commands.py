"""Commands on the small server of these tests, as a user calls them."""

import os
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")
GOOD = f"{sys.executable} {SERVER} {{port}}"
PATIENCE_S = 300


def tare(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Call a command in the folder, with its runs there; its errors are told in sentences."""
    done = subprocess.run(
        [sys.executable, "-m", "tare", *arguments],
        env=os.environ | {"TARE_RUNS": str(folder / "runs"), "PWD": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done
