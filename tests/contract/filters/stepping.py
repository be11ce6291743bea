"""Runs the filters' harness by hand, and knows the counts that are committed."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from benches import why_not
from harness import Site, variants

from tare.lab.project import build, catalog, render

Counts = dict[str, dict[str, int]]  # variant → path → instructions
EXPECTED = Path(__file__).with_name("instructions.txt")
WRITE = "TARE_WRITE_COUNTS"
# libc has its string functions once for each kind of CPU; this leaves the one that all have.
PLAIN_LIBC = "glibc.cpu.hwcaps=" + ",".join(
    f"-{name}" for name in ("AVX2", "AVX512F", "AVX512VL", "AVX512BW", "SSE4_1", "SSE4_2", "SSSE3",
                            "MOVBE", "ERMS", "FSRM", "RTM")
)  # fmt: skip
# Not known-cost, which is as long as the clock says.
STEPPED = [name for name, each in variants.items()
           if why_not("filters/library", name) is None and not each.hidden]  # fmt: skip


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
    manifest = catalog.load("filters", "library").variants[site.variant]
    spec = render.value(manifest.instrument.spec, names, site.variant)
    return dict(spec) | changes


def tools() -> str:
    """The compilers and the libc whose code is stepped through, but for those that are pinned, and
    the kind of CPU, by which libc and compilers at run time choose.
    """
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
    cpu = Path("/proc/cpuinfo").read_text()
    vendor = re.search(r"^vendor_id\s*: (\S+)", cpu, re.M)
    # libc takes other functions where transactions may be cut short by what AVX leaves behind.
    transactions = " with rtm" if re.search(r"^flags\s*:.* rtm\b", cpu, re.M) else ""
    return ", ".join([*found, (vendor[1] if vendor else "no vendor") + transactions])


def committed() -> dict[str, Counts]:
    """The committed counts, by what made them."""
    found: dict[str, Counts] = {}
    sections = re.split(r"^# with ", EXPECTED.read_text(), flags=re.M)[1:]
    for section in sections:
        made_by, head, *body = section.splitlines()
        paths = head.split()[1:]
        rows = [line.split() for line in body if line]
        found[made_by] = {
            name: dict(zip(paths, map(int, counts), strict=True)) for name, *counts in rows
        }
    return found


def write(counts: Counts) -> None:
    """Replaces the committed counts of such a machine, but for those that this one cannot make."""
    found = committed()
    found[tools()] = found.get(tools(), {}) | counts
    lines = [
        "# Instructions of a call, by the filters' harness, with libc's functions for any x86-64.",
        f"# {WRITE}=1 ./tare test --only python -- tests/contract/filters/test_instructions.py",
    ]
    for made_by, own in sorted(found.items()):
        paths = list(next(iter(own.values())))
        rows = [["variant", *paths]]
        rows += [[name, *(str(own[name][path]) for path in paths)] for name in sorted(own)]
        widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        lines += ["", f"# with {made_by}", *table]
    EXPECTED.write_text("\n".join(lines) + "\n")
