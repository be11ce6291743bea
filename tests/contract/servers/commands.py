"""Commands on the small server of these tests, as a user calls them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

SERVER = Path(__file__).with_name("server.py")
GOOD = f"{sys.executable} {SERVER} {{port}}"
PATIENCE_S = 300
ATTEMPTS = 5

Done = subprocess.CompletedProcess[str]


def tare(folder: Path, *arguments: str) -> Done:
    """Call a command in the folder, with its runs there; its errors are told in sentences. Call it
    again if other work of the machine disturbed its duels: their gate is right, and not the matter.
    """
    done = _call(folder, *arguments)
    for _ in range(1, ATTEMPTS):
        if done.returncode != 1 or "undisturbed, wanted" not in done.stderr:
            break
        shutil.rmtree(folder / "runs")
        done = _call(folder, *arguments)
    return done


def _call(folder: Path, *arguments: str) -> Done:
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
