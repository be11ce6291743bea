"""Runs the filters' harness by hand, and knows the counts that are committed."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from harness import Site, variants

from tare.lab import build, render

EXPECTED = Path(__file__).with_name("instructions.txt")
WRITE = "TARE_WRITE_COUNTS"
# libc has its string functions once for each kind of CPU; this leaves the one that all have.
PLAIN_LIBC = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}" for name in ("AVX2", "AVX512F", "AVX512VL", "AVX512BW", "SSE4_1", "SSE4_2", "SSSE3",
                            "MOVBE", "ERMS", "FSRM", "RTM")
)  # fmt: skip
# Not known-cost, which is as long as the clock says.
STEPPED = [name for name, each in variants.items()
           if "harness" in each.supports["view"] and not each.hidden]  # fmt: skip


def run(spec: dict[str, Any], folder: Path, **env: str) -> "subprocess.CompletedProcess[str]":
    """The harness with a spec."""
    file = folder / "harness.json"
    file.write_text(json.dumps(spec))
    program = build.component("filter-harness", print) / "bin/filter-harness"
    return subprocess.run(
        [program, "--spec", file],
        env=os.environ | env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def result(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    """The last line of a harness that ended well."""
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.splitlines()[-1]))


def spec_of(site: Site, **changes: Any) -> dict[str, Any]:
    """What the laboratory would give the harness, but shorter."""
    names = site.names | {"cpus": {"server": [min(os.sched_getaffinity(0))]}}
    names |= {"warmup_s": 0.05, "duration_s": 0.01}
    spec = render.value(site.manifest.instruments["harness"].spec, names, site.variant)
    return dict(spec) | changes


def tools() -> str:
    """The compilers and the libc whose code is stepped through, but for those that are pinned."""
    found = []
    for argv in (
        ["cc", "--version"],
        ["clang", "--version"],
        ["rustc", "-V"],
        ["ldd", "--version"],
    ):
        text = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
        version = re.search(r"\d+\.\d+(\.\d+)?", text.splitlines()[0])
        assert version is not None
        found.append(f"{argv[0]} {version[0]}")
    return ", ".join(found)


def committed() -> tuple[str, dict[str, dict[str, int]]]:
    """The tools that the committed counts are of, and variant → path → instructions."""
    lines = EXPECTED.read_text().splitlines()
    made_by = next(line for line in lines if line.startswith("# with ")).removeprefix("# with ")
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    head, *body = rows
    return made_by, {
        name: dict(zip(head[1:], map(int, counts), strict=True)) for name, *counts in body
    }


def write(counts: dict[str, dict[str, int]]) -> None:
    """Replaces the committed counts, but for those that this machine cannot make."""
    if EXPECTED.exists() and committed()[0] == tools():
        counts = committed()[1] | counts
    paths = list(next(iter(counts.values())))
    rows = [["variant", *paths]]
    rows += [[name, *(str(counts[name][path]) for path in paths)] for name in sorted(counts)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    table = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
             for row in rows]  # fmt: skip
    head = [
        "# Instructions of a call, by the filters' harness, with libc's functions for any x86-64.",
        f"# {WRITE}=1 ./tare test --only python -- tests/contract/filters/test_instructions.py",
        f"# with {tools()}",
    ]
    EXPECTED.write_text("\n".join([*head, *table]) + "\n")
