"""The protected domain: what is refused before it serves, and what faults from outside."""

import os
import re
import subprocess
from pathlib import Path

import emulated
import pytest
from harness import Failed, loaded, variants
from test_workers import all_workers, reload

from tare.lab import paths
from tare.lab.project import requirements

pytestmark = pytest.mark.contract
PROBE = Path(__file__).with_name("erim_probe.c")
LACKING = requirements.missing(variants["erim"].requires)
NO_KEYS = """
#include <errno.h>
int pkey_alloc(unsigned flags, unsigned rights)
{
    (void) flags;
    (void) rights;
    errno = ENOSPC;
    return -1;
}
"""
STRAY = {
    "an instruction": ('__asm__ volatile("wrpkru" : : "a"(0), "c"(0), "d"(0));', "0f 01 ef"),
    "in a number": ('__asm__ volatile("mov $0x00ef010f, %%eax" : : : "eax");', "0f 01 ef"),
    "over two instructions": (
        '__asm__ volatile("mov $0x0f000000, %%eax\\n\\tadd %%ebp, %%edi" : : : "eax", "edi");',
        "0f 01 ef",
    ),
    "over two pages": (
        '__asm__ volatile("jmp 1f\\n\\t.balign 4096\\n\\t.skip 4094\\n\\t"'
        '".byte 0x0f, 0x01, 0xef\\n1:");',
        "0f 01 ef",
    ),
    "XRSTOR": ('char area[4096]; __asm__ volatile("xrstor %0" : : "m"(area));', "0f ae"),
}
HARMLESS = '__asm__ volatile("lfence\\n\\tmfence\\n\\trdpkru" : : "c"(0) : "eax", "edx");'


def build(folder: Path, extra: str = "") -> Path:
    """The library, with one more function in it."""
    source = folder / "extra.c"
    source.write_text(f"__attribute__((used)) void extra(void) {{ {extra} }}\n")
    environment = {"TARE_OUT": str(folder), "TARE_ROOT": str(paths.ROOT)}
    subprocess.run(
        ["sh", "build.sh"],
        cwd=loaded.variant_folder("erim"),
        env=os.environ | environment | {"FILTER_EXTRA": str(source)},
        check=True,
    )
    return folder / "url_filter.so"


def start_with(site, library: Path):
    started = site("dynamic-c")
    started.env["DYNAMIC_LOAD_LIB_PATH"] = str(library)
    return started


@pytest.mark.parametrize("kind", STRAY)
def test_a_stray_sequence_is_refused(site, tmp_path, kind):
    code, found = STRAY[kind]
    with pytest.raises(Failed, match=f"erim: bytes {found} .* could change the rights"):
        start_with(site, build(tmp_path, code)).start()


def test_without_a_key_nothing_runs(site, tmp_path):
    preload = tmp_path / "no_keys.so"
    command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(preload)]
    subprocess.run(command, input=NO_KEYS.encode(), check=True)
    started = start_with(site, build(tmp_path, HARMLESS))
    started.env["LD_PRELOAD"] = str(preload)
    with pytest.raises(Failed, match=r"erim: this machine gives no memory protection key .*ospke"):
        started.start()


@pytest.fixture(scope="module")
def probed(tmp_path_factory, request) -> str:
    """What every attempt on the domain came to, on this machine or on an emulated one."""
    folder = tmp_path_factory.mktemp("erim")
    library, probe = build(folder), folder / "probe"
    flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-mno-red-zone", "-pthread"]
    subprocess.run(["cc", *flags, str(PROBE), "-o", str(probe)], check=True)
    if LACKING:
        if not request.config.getoption("--thorough"):
            pytest.skip("no CPU with protection keys; ./tare test --all emulates one")
        if why := emulated.missing():
            pytest.skip(f"no CPU with protection keys and {why}")
        script = "/probe /url_filter.so; echo the probe ended with $?"
        return emulated.run(script, {"probe": probe, "url_filter.so": library}, folder)
    return subprocess.run([probe, library], capture_output=True, text=True, check=True).stdout


def check(printed: str) -> None:
    """Every attempt failed, and in the way that it should."""
    lines = printed.splitlines()
    assert lines.count("accepts: 1, rejects: 0") == 2
    assert "regions: 3, gates: 6" in lines
    assert lines.count("read: SEGV_PKUERR") == lines.count("write: SEGV_PKUERR") == 9
    for how in ("a signal handler", "another thread"):
        assert f"read in {how}: SEGV_PKUERR" in lines
    for what in ("read by the kernel", "write by the kernel", "initialize in a worker",
                 "filter the domain"):  # fmt: skip
        assert f"{what}: refused" in lines
    for gate in range(6):
        assert f"jump to gate {gate} with all rights: SIGILL" in lines
        # Two a gate: in, from where its function runs and closes again, and out. The second gate's
        # function finds no state where the jump has none to offer.
        came_to = {0: "SEGV_PKUERR", 2: "other fault", 4: "SEGV_PKUERR"}.get(gate, "SIGILL")
        assert f"jump to gate {gate} with the domain's: {came_to}" in lines
    assert "SUCCEEDED" not in printed


@pytest.mark.timeout(1200)
def test_nobody_outside_can_use_the_domain(probed):
    check(probed)


def test_every_worker_has_the_memory_in_the_domain(site, hooks):
    started = site("erim", workers=2).start()
    reload(started)
    hooks.oracle(started)
    for worker in all_workers(started):
        text = Path(f"/proc/{worker}/smaps").read_text()
        (found,) = re.findall(rf"/dev/shm/{started.tag}\n.*?ProtectionKey: +(\d+)", text, re.S)
        assert int(found) > 0
