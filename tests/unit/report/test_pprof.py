"""Profiles of pprof: its own program reads them, and no time is lost to whole numbers."""

import gzip
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from test_causes import run

from tare.report import export, pprof, results

GO = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
MAIN, SERVE, LOG = ("main", "server"), ("serve", "server"), ("log;e", "libé.so")
Samples = dict[tuple[pprof.Function, ...], tuple[int, float]]
LABELS = {"side": "variant", "variant": "new"}

needs_go = pytest.mark.skipif(GO is None, reason="go tool pprof is not installed")


def pprofs(tmp_path: Path, *options: str | Path) -> str:
    """Return what pprof says of its files."""
    assert GO is not None
    done = subprocess.run(
        [GO, "tool", "pprof", "-symbolize=none", "-unit=ns", *options],
        env=os.environ | {"PPROF_TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_file_is_encoded_as_protocol_buffers_are() -> None:
    written = gzip.decompress(pprof.profile({(MAIN,): (1, 300.4)}, {}))
    assert written.startswith(b"\x0a\x04\x08\x01\x10\x02"), "sample_type: texts 1 and 2"
    assert b"\x12\x08\x0a\x01\x01\x12\x03\x01\xac\x02" in written, "location 1, 1 and 300 ns"
    assert b"\x32\x00\x32\x07samples\x32\x05count" in written, "the first text is empty"
    assert b"\x32\x06server" in written


@needs_go
def test_pprof_reads_functions_labels_and_values(tmp_path: Path) -> None:
    file = tmp_path / "found.pb.gz"
    samples: Samples = {
        (MAIN, SERVE): (3, 30.0),
        (MAIN, SERVE, LOG): (70, 700.0),
        (("…", ""), LOG): (1, 10.0),
    }
    file.write_bytes(pprof.profile(samples, LABELS))
    raw = pprofs(tmp_path, "-raw", file)
    assert "samples/count cpu_per_request/nanoseconds[dflt]" in raw
    assert "side:[variant]" in raw
    assert "variant:[new]" in raw
    assert "libé.so" in raw
    top = {line.split()[-1]: line.split() for line in pprofs(tmp_path, "-top", file).splitlines()}
    assert (top["log;e"][0], top["log;e"][3]) == ("710ns", "710ns")
    assert (top["serve"][0], top["serve"][3]) == ("30ns", "730ns")
    assert (top["main"][0], top["main"][3]) == ("0", "730ns")


@needs_go
def test_whole_numbers_keep_the_time_of_many_small_stacks(tmp_path: Path) -> None:
    file = tmp_path / "found.pb.gz"
    samples: Samples = {(MAIN, (f"leaf {number}", "server")): (1, 0.3) for number in range(1000)}
    file.write_bytes(pprof.profile(samples, LABELS))
    (line,) = [each for each in pprofs(tmp_path, "-top", file).splitlines() if "main" in each]
    assert "300ns" in line


@needs_go
def test_a_run_s_sides_are_compared_by_pprof(tmp_path: Path) -> None:
    folder = run(tmp_path, more=40)
    files = list(export.write("pprof", folder, results.make(folder), tmp_path / "out"))
    assert [file.name for file in files] == [
        "default-dear-baseline.pb.gz",
        "default-dear-variant.pb.gz",
    ]
    top = pprofs(tmp_path, "-top", "-diff_base", *files)
    (write,) = [line.split() for line in top.splitlines() if line.endswith("write")]
    spent = float(write[0].removesuffix("ns"))
    assert spent == pytest.approx(20_000, rel=0.3), "40 samples of 500 us over 1000 requests"
