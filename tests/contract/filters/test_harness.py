"""The harness counts exactly, notices a filter that is wrong, and says what is the matter."""

import json
import subprocess

import pytest
from stepping import result, run

pytestmark = pytest.mark.contract
SPEC = {
    "schema": 1, "prefix": "/aaaa", "lengths": [1, 5, 64], "warmup_s": 0.0, "duration_s": 0.01,
}  # fmt: skip
LIBRARY = """
#include <stdint.h>
#include <string.h>
static uint64_t counts[2];
int module_initialize(const char *prefix) { return strlen(prefix) > 100; }
void module_get_counters(uint64_t *a, uint64_t *r) { *a = counts[0]; *r = counts[1]; }
"""
RIGHT = (
    LIBRARY
    + """
int module_url_filter_n(const char *url, unsigned long length) {
    int accept = length >= 5 && memcmp(url, "/aaaa", 5) == 0;
    counts[!accept]++;
    return accept;
}
"""
)
# As one for the original interface; a path must end where SPEC says.
TERMINATED = (
    LIBRARY
    + """
int module_url_filter(const char *url) {
    size_t length = strlen(url);
    int accept = (length == 5 || length == 64) && memcmp(url, "/aaaa", 5) == 0;
    counts[!accept]++;
    return accept;
}
"""
)
# 100 instructions that do nothing, three to set up, one that copies eight bytes, and the return.
KNOWN = (
    LIBRARY
    + """
__attribute__((visibility("hidden"))) char from[8], to[8];
__attribute__((naked)) int module_url_filter_n(const char *url, unsigned long length) {
    __asm__(".rept 100; nop; .endr; lea from(%rip), %rsi; lea to(%rip), %rdi;"
            "mov $8, %ecx; rep movsb; ret");
}
"""
)


@pytest.fixture
def library(tmp_path):
    def compile_(source: str) -> str:
        made = tmp_path / f"lib{len(list(tmp_path.glob('lib*.so')))}.so"
        command = ["cc", "-O2", "-shared", "-fPIC", "-Wall", "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=source.encode(), check=True)
        return str(made)

    return compile_


def test_instructions_are_counted_one_by_one(library, tmp_path):
    found = result(run(SPEC | {"library": library(KNOWN)}, tmp_path))["outcomes"]
    counts = {name: count for name, count in found.items() if name.startswith("instructions")}
    # And the call itself.
    assert set(counts.values()) == {1 + 100 + 3 + 1 + 1, None}
    assert counts["instructions_accept_1"] is None, "a path shorter than the prefix"


def test_without_a_library_a_function_that_does_nothing_is_called(tmp_path):
    found = result(run(SPEC | {"library": None}, tmp_path))
    assert found["errors"] == {"answer": 0, "counter": 0, "unequal": 0}
    assert 2 <= found["outcomes"]["instructions_accept_64"] <= 6
    assert 0 < found["outcomes"]["ns_min_accept_64"] <= found["outcomes"]["ns_median_accept_64"]


def test_every_call_is_accounted_for(library, tmp_path):
    done = run(SPEC | {"library": library(RIGHT)}, tmp_path)
    found = result(done)
    assert found["errors"] == {"answer": 0, "counter": 0, "unequal": 0}
    assert min(found["total"].values()) > 1000
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events == ["measure", "measured", "result"]


@pytest.mark.parametrize(
    ("good", "bad", "kind"),
    [
        ("return accept;", "return !accept;", "answer"),
        ("counts[!accept]++;", "counts[0]++;", "counter"),
        ("counts[!accept]++;", "if (++counts[!accept] % 1000 == 0) counts[0]++;", "counter"),
    ],
)
def test_a_filter_that_is_wrong_is_noticed(library, tmp_path, good, bad, kind):
    errors = result(run(SPEC | {"library": library(RIGHT.replace(good, bad))}, tmp_path))["errors"]
    assert errors[kind] > 0


def test_a_call_that_is_not_the_same_each_time_is_noticed(library, tmp_path):
    moody = RIGHT.replace("return accept;", "for (long n = counts[0] % 7; n; n--) __asm__(\"nop\");"
                          "return accept;")  # fmt: skip
    assert result(run(SPEC | {"library": library(moody)}, tmp_path))["errors"]["unequal"] > 0


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"library": "/nowhere.so"}, 1, "the filter library /nowhere.so does not load"),
        ({"prefix": "/" * 101}, 1, "module_initialize returned 1, expected 0"),
        ({"lenghts": [1]}, 2, "unknown field `lenghts`"),
        ({"schema": 2}, 2, "schema: found 2, expected 1"),
    ],
)
def test_what_cannot_be_measured_is_said(library, tmp_path, changes, code, message):
    done = run(SPEC | {"library": library(RIGHT)} | changes, tmp_path)
    assert done.returncode == code and message in done.stderr and "panicked" not in done.stderr


def test_a_library_for_terminated_paths_alone_is_measured(library, tmp_path):
    found = result(run(SPEC | {"library": library(TERMINATED)}, tmp_path))
    assert found["errors"] == dict.fromkeys(found["errors"], 0)
    assert found["outcomes"]["instructions_accept_5"] > 0


def test_a_library_without_a_function_is_refused(library, tmp_path):
    lacking = LIBRARY.replace("module_get_counters", "get_counters") + "int module_url_filter;"
    done = run(SPEC | {"library": library(lacking)}, tmp_path)
    assert done.returncode == 1 and "lacks a function of filter_abi.h" in done.stderr


def test_a_filter_that_ends_the_process_is_said(library, tmp_path):
    ending = RIGHT.replace("return accept;", "__builtin_trap();")
    done = run(SPEC | {"library": library(ending)}, tmp_path)
    assert done.returncode == 1 and "SIGILL" in done.stderr
