"""What only mode `kvm` promises: unmodified programs, monitors that are used again, and nobody in
ring 0."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import Refused, Sandbox, loaded, named_like_workers, program, udf, wire

SOURCE = loaded.folder / "udf"

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not Path("/dev/kvm").exists(), reason="it takes root and /dev/kvm"
)

# What a call finds in its registers and in memory that it has written before, and what it leaves.
TRACES = """
#include "tare_udf.h"
static uint8_t written[100000];
static void serve(tare_host *host, tare_bytes request) {
    static const uint8_t full[32] = {[0 ... 31] = 0x5a};
    uint8_t found[40] = {0};
    (void)request;
    __asm__ volatile("movdqu %%xmm14, %0" : "=m"(*(char(*)[16])found));
    __asm__ volatile("stmxcsr %0" : "=m"(*(char(*)[4])(found + 16)));
    __asm__ volatile("fnstcw %0" : "=m"(*(char(*)[2])(found + 20)));
    for (size_t byte = 0; byte < sizeof written; byte++)
        found[22] |= written[byte];
    memset(written, 1, sizeof written);
    uint8_t *heap = malloc(500000);
    for (size_t byte = 0; byte < 500000; byte++)
        found[23] |= heap[byte];
    memset(heap, 1, 500000);
    __asm__ volatile("ldmxcsr %0" : : "m"((uint32_t){0x9f80}));
    __asm__ volatile("fldcw %0" : : "m"((uint16_t){0x27f}));
    __asm__ volatile("movdqu %0, %%xmm14" : : "m"(full) : "xmm14");
    tare_answer(host, (tare_bytes){found, sizeof found});
}
TARE_UDF(serve)
"""


def built(folder: Path, text: str, *compiler: str) -> Path:
    """A function of one's own."""
    source = folder / "own.c"
    source.write_text(text)
    made = folder / "own"
    subprocess.run(
        [*compiler, "-O2", "-I", str(SOURCE / "include"), "-o", str(made), str(source)], check=True
    )
    return made


@pytest.mark.parametrize(
    "compiler",
    [("musl-gcc", "-static"), ("gcc", "-static"), ("gcc", "-static-pie")],
    ids=" ".join,
)
def test_unmodified_static_programs_run(
    compiler: tuple[str, ...], serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, (SOURCE / "sort.c").read_text(), *compiler)
    sandbox = serve("kvm", "--workers", "1", "--load", f"own={file}", "--load", f"known={udf('sort')}")
    request = wire.number_field(1, 20_000)
    answers = {sandbox.call_raw(name, request) for name in ("own", "known") * 3}
    assert len(answers) == 1


def test_a_monitor_is_used_again_and_nothing_of_a_call_is_left(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, TRACES, "musl-gcc", "-static")
    workers = named_like_workers()
    sandbox = serve("kvm", "--workers", "1", "--load", f"own={file}")
    monitors = named_like_workers() - workers
    answers = {sandbox.call_raw("own", b"") for _ in range(20)}
    assert len(answers) == 1
    assert answers.pop()[22:24] == b"\0\0"
    assert named_like_workers() - workers == monitors


def test_a_monitor_outlives_the_functions_that_go_wrong_in_it(
    serve: Callable[..., Sandbox],
) -> None:
    workers = named_like_workers()
    sandbox = serve("kvm", "--workers", "1", "--deadline-ms", "200", "--load", f"udf={udf('attack')}")
    monitors = named_like_workers() - workers
    for attack, kind in (("hang", "deadline"), ("endless_loop", "deadline"), ("crash", "died")) * 3:
        with pytest.raises(Refused) as refused:
            sandbox.call("udf", wire.bytes_field(1, attack.encode()))
        assert refused.value.kind == kind
        assert sandbox.call("udf")[1] == b"unknown"
    assert named_like_workers() - workers == monitors


def test_without_kvm_it_says_so(tmp_path: Path) -> None:
    serve = f"exec {program()} serve --mode kvm --socket {tmp_path / 's'}"
    argv = ["unshare", "--mount", "sh", "-euc", f"mount --bind /dev/null /dev/kvm; {serve}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "mode kvm does not work here" in done.stderr
    assert "/dev/kvm is no KVM" in done.stderr
    assert not (tmp_path / "s").exists()
