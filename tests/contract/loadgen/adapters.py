"""The adapters of the peers, as modules and as programs."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tare.lab.project import build, catalog, requirements

loaded = catalog.load("loadgen")
PEERS = [
    name for name in loaded.variants if (loaded.variant_folder(name) / "instrument.py").is_file()
]
SLOW_TO_BUILD = {"oha", "rewrk", "k6"}


def adapter(peer: str) -> ModuleType:
    """Its instrument.py, imported."""
    if str(loaded.folder) not in sys.path:
        sys.path.append(str(loaded.folder))  # where they find peer.py
    file = loaded.variant_folder(peer) / "instrument.py"
    spec = importlib.util.spec_from_file_location(f"loadgen_{peer}", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def why_not(peer: str) -> str | None:
    """Why the peer cannot be run here and now: it is neither installed nor built for a test."""
    for slow in SLOW_TO_BUILD & set(loaded.variants[peer].components):
        if not build.is_built(slow):
            return f"building {slow} takes minutes; ./tare check loadgen/{peer} does it"
    lacking = requirements.missing(loaded.variants[peer].requires)
    return f"missing: {', '.join(str(item.debian) for item in lacking)}" if lacking else None


def needed(peer: str) -> None:
    """Skip, with the reason, a peer that is not there."""
    if reason := why_not(peer):
        pytest.skip(reason)


def program(peer: str) -> str:
    """Where the peer's own program is."""
    if peer in SLOW_TO_BUILD:
        return str(build.component(peer, print) / "bin" / peer)
    return str(loaded.variants[peer].instrument.spec["program"])


def spec(peer: str, url: str, **fields: Any) -> dict[str, Any]:
    """What the laboratory would write for a short run."""
    return {
        "program": program(peer),
        "protocol": "h1",
        "url": url,
        "connections": 3,
        "depth": 1,
        "threads": 1,
        "warmup_s": 0.3,
        "duration_s": 0.5,
        **fields,
    }


def run(peer: str, given: dict[str, Any], folder: Path) -> tuple[int, list[dict[str, Any]], str]:
    """Exit code, events and standard error of an adapter that is given such a spec."""
    file = folder / "spec.json"
    file.write_text(json.dumps(given))
    done = subprocess.run(
        [sys.executable, loaded.variant_folder(peer) / "instrument.py", "--spec", file],
        env=os.environ | {"PYTHONPATH": str(loaded.folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr
