"""Commands in a locale that is not UTF-8."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tare.cli.encodings import _like
from tare.lab.paths import ROOT

RECORD = ROOT / "record" / "cache-stall"
ENVIRONMENTS = [
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"},
]


def asked(environment: dict[str, str], *arguments: object) -> str:
    given = {key: text for key, text in os.environ.items() if not key.startswith(("PYTHON", "LC_"))}
    path = {"PYTHONPATH": str(ROOT / "src"), "TARE_ROOT": str(ROOT)}
    command = [sys.executable, "-m", "tare", *map(str, arguments)]
    done = subprocess.run(
        command, env=given | path | environment, capture_output=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("ascii")


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_report_is_the_same_and_prints_something_like_it(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(RECORD, folder)
    (folder / "report.html").unlink()
    assert "Hot p99 latency, us (" in asked(environment, "report", folder, "--all")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Hot p99 latency, µs" in page
    results = json.loads(asked(environment, "report", folder, "--json"))
    assert results == json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert "µs" in json.dumps(results, ensure_ascii=False)


def test_what_has_nothing_like_it_is_escaped_and_bytes_of_names_stay() -> None:
    def like(text: str) -> tuple[str | bytes, int]:
        return _like(UnicodeEncodeError("ascii", text, 1, 2, "no"))

    assert like("a€") == ("\\u20ac", 2)
    assert like("a\udcff") == (b"\xff", 2)
