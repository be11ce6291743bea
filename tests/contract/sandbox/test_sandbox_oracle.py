"""Programs of system calls get the same results in `kvm`, which serves them itself, as natively."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from sandboxes import Sandbox, built, wire

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(
        os.geteuid() != 0 or not Path("/dev/kvm").exists(), reason="it takes root and /dev/kvm"
    ),
]
PROGRAMS = 2000

# Makes {2: so many} calls on pages of its own, chosen by {1: a seed}. Answers, for each, a letter,
# the result (an error as its negative number, an address from the first page on), and the bytes of
# all pages that can be read at the end.
SOURCE = """
#define _GNU_SOURCE
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include "tare_udf.h"
enum { PAGE = 4096, PAGES = 24, MORE = 8, STEPS = 200, FUTEX_WAIT_PRIVATE = 128 };
static uint64_t state;
static char *base, *heap;
static uint64_t results[STEPS];
static uint8_t letters[STEPS];
static uint32_t below(uint32_t most) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32) % most;
}
static int64_t result(long value) { return value == -1 ? -errno : value; }
static int64_t place(long value) { return value == -1 ? -errno : value - (long)base; }
/* Nothing changes where it can be read: it is {0, 0} or {0, 1} there, at most a moment. */
static long is_readable(char *at) { return syscall(SYS_nanosleep, at, 0); }
static int64_t step(uint8_t letter) {
    enum { both = PROT_READ | PROT_WRITE };
    static const int rights[] = {PROT_NONE, PROT_READ, both, both};
    static const int advices[] = {MADV_NORMAL, MADV_RANDOM, MADV_DONTNEED, MADV_DONTNEED, 77};
    char *at = base + below(PAGES) * PAGE, *odd = at + (below(8) == 0);
    size_t length = below(16) == 0 ? 0 : below(5 * PAGE);
    int own = rights[below(4)], anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    switch (letter) {
    case 'a': return place(syscall(SYS_mmap, odd, length, own, anonymous | MAP_FIXED, -1, 0));
    case 'b':
        anonymous |= MAP_FIXED_NOREPLACE;
        return place(syscall(SYS_mmap, at, length, own, anonymous, -1, 0));
    case 'c': return result(syscall(SYS_munmap, odd, length));
    case 'd': return result(syscall(SYS_mprotect, odd, length, own));
    case 'e': return result(syscall(SYS_madvise, odd, length, advices[below(5)]));
    case 'f': return result(syscall(SYS_clock_getres, CLOCK_MONOTONIC, at + 16 * below(PAGE / 16)));
    case 'g': return result(is_readable(at + 16 * below(PAGE / 16)));
    case 'h': return result(syscall(SYS_futex, at + 4 * below(PAGE / 4), FUTEX_WAIT_PRIVATE, 7, 0));
    case 'i': return place(syscall(SYS_mremap, odd, PAGE, below(5 * PAGE), 0));
    default: return syscall(SYS_brk, heap + below(8 * PAGE)) - (long)heap;
    }
}
static void serve(tare_host *host, tare_bytes request) {
    uint64_t count = tare_number(request, 2, 0), digest = 0, steps = count < STEPS ? count : STEPS;
    state = tare_number(request, 1, 1) * 0x9e3779b97f4a7c15u | 1;
    const int anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
    base = mmap(0, (PAGES + MORE) * PAGE, PROT_READ | PROT_WRITE, anonymous, -1, 0);
    /* From a page's first byte on. */
    heap = (char *)((syscall(SYS_brk, 0) + PAGE - 1) & -PAGE);
    for (uint64_t index = 0; index < steps; index++) {
        letters[index] = 'a' + (uint8_t)below(10);
        results[index] = (uint64_t)step(letters[index]);
    }
    for (int page = 0; page < PAGES + MORE; page++) {
        char *at = base + page * PAGE;
        int there = is_readable(at) == 0;
        digest = digest * 31 + there;
        for (int word = 0; there && word < PAGE / 8; word++)
            digest = digest * 31 + ((uint64_t *)at)[word];
    }
    syscall(SYS_brk, heap);
    tare_message response = {0, 0, 0};
    tare_put_bytes(&response, 1, (tare_bytes){letters, steps});
    tare_put_bytes(&response, 2, (tare_bytes){(uint8_t *)results, steps * 8});
    tare_put_number(&response, 3, digest);
    tare_answer(host, (tare_bytes){response.bytes, response.length});
}
TARE_UDF(serve)
"""
STEPS = 60


def test_programs_of_calls_get_what_they_get_natively(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    file = built(tmp_path, SOURCE, "musl-gcc", "-static")
    native, guest = (
        serve(mode, "--workers", "2", "--load", f"own={file}") for mode in ("none", "kvm")
    )
    for seed in range(1, PROGRAMS + 1):
        request = wire.number_field(1, seed) + wire.number_field(2, STEPS)
        expected, found = native.call("own", request), guest.call("own", request)
        assert found[1] == expected[1]
        for step in range(STEPS):
            wanted, got = (
                int.from_bytes(each[2][8 * step : 8 * step + 8], "little", signed=True)
                for each in (expected, found)
            )
            assert got == wanted, f"seed {seed}, step {step} ({chr(found[1][step])})"
        assert found[3] == expected[3], f"seed {seed}: other bytes"
