"""What only mode `kvm` promises: unmodified programs, monitors that are used again, and nobody in
ring 0."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import Refused, Sandbox, built, loaded, named_like_workers, program, udf, wire

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

# Uses memory as {1: what} says, of {2: bytes}; only what it may is answered.
RIGHTS = """
#include <sys/mman.h>
#include "tare_udf.h"
int main(int, char **);
static int sum(volatile char *deep) {
    char more[4096];
    more[0] = *deep;
    return sum(more) + more[0];
}
static void serve(tare_host *host, tare_bytes request) {
    uint64_t what = tare_number(request, 1, 0), size = tare_number(request, 2, 4096);
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory, 0xc3 /* ret */, size);
    volatile char *middle = memory + size / 2;
    if (what == 1) mprotect(memory, size, PROT_READ);
    if (what == 1) *middle = 1;
    if (what == 2) munmap(memory, size);
    if (what == 2) (void)*middle;
    if (what == 3) ((void (*)(void))middle)();
    if (what == 4) *(volatile char *)(uintptr_t)main = 1;
    if (what == 5) sum(memory);
    if (what == 6) (void)*(volatile char *)8;
    if (what == 7) __asm__ volatile("hlt");
    if (what == 8) __asm__ volatile("int $0x80");
    if (what == 9) __asm__ volatile("out %al, $0x80");
    if (what == 10) ((void (*)(void))0x7fffffff0000)();
    if (what == 11) mprotect(memory, size, PROT_READ);
    if (what == 11) mprotect(memory, size, PROT_READ | PROT_WRITE);
    if (what == 12) mprotect(memory, size, PROT_READ | PROT_EXEC);
    if (what == 12) ((void (*)(void))middle)();
    if (what != 12) *middle = 1;
    tare_answer(host, tare_text("done"));
}
TARE_UDF(serve)
"""


# Uses every second page of what is zero, of data, and of constants; or answers {1, 2, 3: whether
# the time that a page takes tells that an earlier call used it}.
RESIDENCY = """
#include "tare_udf.h"
#define PAGES 64
static volatile uint8_t written[(PAGES + 1) * 4096], known[(PAGES + 1) * 4096] = {1};
static const volatile uint8_t constant[(PAGES + 1) * 4096] = {1};
static uint64_t now(void) {
    uint32_t low, high;
    __asm__ volatile("lfence; rdtsc; lfence" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}
static int compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}
static uint64_t median(uint64_t *times) {
    qsort(times, PAGES / 2, sizeof *times, compare);
    return times[PAGES / 4];
}
#define FIRST(area) ((uintptr_t)(area) + 4095 & ~(uintptr_t)4095)
/* Whether those of even number are much faster or slower than the others. */
static int told(uintptr_t first, int write, int probe) {
    uint64_t times[2][PAGES / 2];
    for (int page = 0; page < PAGES; page++) {
        volatile uint8_t *byte = (volatile uint8_t *)(first + page * 4096);
        if (!probe && page % 2)
            continue;
        uint64_t before = now();
        uint8_t value = *byte;
        if (write)
            *byte = value + 1;
        times[page % 2][page / 2] = now() - before;
    }
    if (!probe)
        return 0;
    uint64_t even = median(times[0]), odd = median(times[1]);
    return even > 16 * odd || odd > 16 * even;
}
static void serve(tare_host *host, tare_bytes request) {
    int probe = tare_number(request, 1, 0) > 0;
    tare_message response = {0, 0, 0};
    tare_put_number(&response, 1, told(FIRST(written), 1, probe));
    tare_put_number(&response, 2, told(FIRST(known), 1, probe));
    tare_put_number(&response, 3, told(FIRST(constant), 0, probe));
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}
TARE_UDF(serve)
"""

# Answers its CPU time in milliseconds, after it has used {1: so much} more.
CLOCK = """
#include <time.h>
#include "tare_udf.h"
static uint64_t used(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}
static void serve(tare_host *host, tare_bytes request) {
    uint64_t first = used(), more = tare_number(request, 1, 0);
    while (used() < first + more)
        ;
    tare_message response = {0, 0, 0};
    tare_put_number(&response, 1, first);
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}
TARE_UDF(serve)
"""


@pytest.mark.parametrize(
    "compiler",
    [("musl-gcc", "-static"), ("gcc", "-static"), ("gcc", "-static-pie")],
    ids=" ".join,
)
def test_unmodified_static_programs_run(
    compiler: tuple[str, ...], serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, (SOURCE / "sort.c").read_text(), *compiler)
    sandbox = serve(
        "kvm", "--workers", "1", "--load", f"own={file}", "--load", f"known={udf('sort')}"
    )
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


def test_cpu_clocks_tell_nothing_of_earlier_calls(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, CLOCK, "musl-gcc", "-static")
    sandbox = serve("kvm", "--workers", "1", "--load", f"own={file}")
    first = sandbox.call("own")[1]
    assert sandbox.call("own", wire.number_field(1, first + 500))[1] < first + 500
    assert sandbox.call("own")[1] < first + 500


def test_no_page_tells_that_an_earlier_call_used_it(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, RESIDENCY, "musl-gcc", "-static")
    sandbox = serve("kvm", "--workers", "1", "--load", f"own={file}")
    sandbox.call("own")
    assert sandbox.call("own", wire.number_field(1, 1)) == {1: 0, 2: 0, 3: 0}


def test_a_monitor_outlives_the_functions_that_go_wrong_in_it(
    serve: Callable[..., Sandbox],
) -> None:
    workers = named_like_workers()
    sandbox = serve("kvm", "--workers", "1", "--load", f"udf={udf('attack')}")
    monitors = named_like_workers() - workers
    for attack, kind in (("hang", "deadline"), ("endless_loop", "deadline"), ("crash", "died")) * 3:
        with pytest.raises(Refused) as refused:
            soon = 200 if kind == "deadline" else 0
            sandbox.call("udf", wire.bytes_field(1, attack.encode()), deadline_ms=soon)
        assert refused.value.kind == kind
        assert sandbox.call("udf")[1] == b"unknown"
    assert named_like_workers() - workers == monitors


@pytest.mark.parametrize("size", [4096, 9 << 20])
def test_memory_is_as_the_function_maps_it(
    size: int, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, RIGHTS, "musl-gcc", "-static", "-fno-optimize-sibling-calls")
    sandbox = serve("kvm", "--workers", "1", "--load", f"own={file}")
    for what in (*range(13), *range(13)):
        request = wire.number_field(1, what) + wire.number_field(2, size)
        if what in (0, 11, 12):
            assert sandbox.call_raw("own", request) == b"done", what
            continue
        with pytest.raises(Refused, match="signal") as refused:
            sandbox.call_raw("own", request)
        assert refused.value.kind == "died", what


def test_kvm_needs_a_process_of_its_own(serve: Callable[..., Sandbox]) -> None:
    sandbox = serve("kvm")
    done = sandbox.cli("load", "--processes", "1", "udf", str(udf("hello")), text=True)
    assert done.returncode == 1
    assert "allow 2 processes" in done.stderr
    sandbox.load("udf", udf("hello"), "--processes", "2")


def test_without_kvm_it_says_so(tmp_path: Path) -> None:
    serve = f"exec {program()} serve --mode kvm --socket {tmp_path / 's'}"
    argv = ["unshare", "--mount", "sh", "-euc", f"mount --bind /dev/null /dev/kvm; {serve}"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1
    assert "mode kvm does not work here" in done.stderr
    assert "/dev/kvm is no KVM" in done.stderr
    assert not (tmp_path / "s").exists()
