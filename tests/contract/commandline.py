"""The command line as a user calls it, with runs and instances of the test's own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tare.lab import paths

PATIENCE_S = 600

Done = subprocess.CompletedProcess[str]


def call(folder: Path, *arguments: str, **environment: str) -> Done:
    """Call a command in the folder, with its runs there; its errors are told in sentences."""
    own = {"TARE_RUNS": str(folder / "runs"), "PWD": str(folder)}
    done = subprocess.run(
        [sys.executable, "-m", "tare", *arguments],
        env=os.environ | own | environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert "Traceback" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done


def tare(folder: Path, *arguments: str, code: int = 0, **environment: str) -> str:
    """Return what a command that ends with `code` prints on both streams; it is called in `folder`.

    What is built is taken from the user's cache, and stays there.
    """
    cache = folder / "cache"
    if not cache.exists():
        (paths.cache() / "built").mkdir(parents=True, exist_ok=True)
        cache.mkdir()
        (cache / "built").symlink_to(paths.cache() / "built")
    done = call(folder, *arguments, **{"TARE_CACHE": str(cache)} | environment)
    told = done.stdout + done.stderr
    assert done.returncode == code, f"exit code {done.returncode}: {told}"
    return told


def measured(folder: Path, *arguments: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return plan.json and results.json of a run whose trials may be invalid, and not failed: on a
    busy machine perhaps none counts.
    """
    try:
        tare(folder, "run", *arguments)
    except AssertionError as error:
        assert "does not count" in str(error), error
    (run,) = (folder / "runs").iterdir()
    plan, results = (json.loads((run / f"{name}.json").read_text()) for name in ("plan", "results"))
    for scenario in results["scenarios"]:
        for name, variant in scenario["variants"].items():
            assert variant["status"] in ("measured", "invalid"), (name, variant["reason"])
            assert variant["trials_failed"] == 0, (name, variant["reason"])
    return plan, results
