"""A user's own filter in the place of a variant's, on the command line."""

import hashlib
import json
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest
from commandline import measured, tare
from harness import loaded

pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]
ORIGINAL = Path(__file__).with_name("original_filter.c")
SHORT = ("--blocks", "1", "--duration", "0.3")
GIF = """
#include <stdint.h>
#include <string.h>
static uint64_t yes, no;
int module_initialize(const char *prefix) { return 0; }
int module_url_filter(const char *url) {
    size_t length = strlen(url);
    int accept = length >= 4 && memcmp(url + length - 4, ".gif", 4) == 0;
    *(accept ? &yes : &no) += 1;
    return accept;
}
void module_get_counters(uint64_t *a, uint64_t *r) { *a = yes; *r = no; }
"""
"""A filter with a rule of its own: by the end of the path."""


def library(folder: Path, source: str, name: str = "my.so") -> str:
    (folder / "my.c").write_text(source)
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", name, "my.c"], cwd=folder, check=True)
    return name


def test_a_library_is_measured_in_the_place_of_ours(tmp_path: Path) -> None:
    name = library(tmp_path, ORIGINAL.read_text())
    plan, results = measured(tmp_path, "filters/requests", "--library", name, *SHORT)
    digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
    assert plan["variants"] == ["none", "dynamic-c"], "all others are left out unless named"
    own = plan["parts"]["library"]
    assert own["file"] == str(tmp_path / name) and own["sha256"] == digest and own["build_id"]
    assert results["environment"]["parts"]["library"] == own
    assert any(digest[:12] in remark for remark in results["environment"]["remarks"])
    (scenario,) = results["scenarios"]
    assert scenario["name"] == "library=my.so"
    version = scenario["variants"]["dynamic-c"]["version"]
    assert version is None or version.endswith(f" with library my.so {digest[:12]}")
    assert "with" not in (scenario["variants"]["none"]["version"] or "")
    told = tare(tmp_path, "report", "last")
    assert f"dynamic-c with library {tmp_path / name}" in told.replace("\n", " ")


def test_the_harness_calls_the_users_library(tmp_path: Path) -> None:
    name = library(tmp_path, ORIGINAL.read_text())
    chosen = ("--library", name, "--variants", "dynamic-c,luajit")
    measured(tmp_path, "filters/library", *chosen, "--blocks", "1", "--duration", "0.1")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (ORIGINAL.read_text().replace("== 0;", "!= 0;"), "b'GET /aaaa' with prefix '/aaaa'"),
        (ORIGINAL.read_text().replace("rejected_count++", ""), "the filter counted 0 rejected"),
        (ORIGINAL.read_text().replace("return 0;", "return 1;"), "module_initialize returned 1"),
        ("int module_url_filter(const char *u) { return 1; }", "it does not export module_init"),
    ],
)
def test_a_wrong_library_ends_in_a_sentence_before_anything_is_timed(
    tmp_path: Path, source: str, words: str
) -> None:
    name = library(tmp_path, source)
    told = tare(tmp_path, "run", "filters", "--library", name, code=1)
    assert words in told and name in told
    assert not (tmp_path / "runs").exists(), "nothing was planned or timed"


def test_a_rule_of_your_own_is_held_to_your_decisions(tmp_path: Path) -> None:
    name = library(tmp_path, GIF)
    (tmp_path / "rule.txt").write_text("200 /a.gif\n200 /x/y.gif\n\n403 /a.gi\n403 /a.gif.txt\n")
    assert "found status 403, expected 200" in tare(
        tmp_path, "check", "filters", "--library", name, code=1
    )
    own = ("--library", name, "--decisions", "rule.txt", "--url-path", "/a.gif")
    assert " ok " in tare(tmp_path, "check", "filters", *own)
    measured(tmp_path, "filters/requests", *own, *SHORT)
    for rule, words in (
        ("200 /a.gif\n403 /b.gif\n", "b'GET /b.gif' by your decisions: found status 200"),
        ("200 /a.gif\n", "expected paths with 200 and paths with 403"),
        ("200 /a.gif\n404 /b\n", "decisions, line 2: found b'404 /b'"),
    ):
        (tmp_path / "rule.txt").write_text(rule)
        assert words in tare(tmp_path, "check", "filters", *own, code=1)
    beside = tare(tmp_path, "check", "filters", "--decisions", "rule.txt", code=2)
    assert "beside --library" in beside


def test_a_webassembly_module_is_run_in_the_place_of_ours(tmp_path: Path) -> None:
    guest = loaded.folder / "guest"
    wasm = tmp_path / "my.wasm"
    subprocess.run(["sh", guest / "compile.sh", guest / "url_filter.c", wasm], check=True)
    told = tare(tmp_path, "check", "filters", "--module", "my.wasm")
    assert told.splitlines()[-1].split()[:2] == ["filters/wasm", "ok"] and "my.wasm" in told
    wasm.write_bytes(wasm.read_bytes()[:100])
    assert "does not compile" in tare(tmp_path, "check", "filters", "--module", "my.wasm", code=1)


def test_an_ebpf_program_is_run_in_the_place_of_ours(tmp_path: Path) -> None:
    source = (loaded.variant_folder("ebpf") / "filter.bpf.c").read_text()
    (tmp_path / "my.bpf.c").write_text(source)
    clang = ["clang", "-target", "bpf", "-mcpu=v3", "-O2", "-g", "-c", "my.bpf.c", "-o", "my.bpf.o"]
    subprocess.run(clang, cwd=tmp_path, check=True)
    told = tare(tmp_path, "check", "filters", "--program", "my.bpf.o")
    assert told.splitlines()[-1].split()[:2] == ["filters/ebpf", "ok"] and "my.bpf.o" in told
    # For this processor instead.
    subprocess.run(["cc", "-c", "-x", "c", "-o", "my.bpf.o", ORIGINAL], cwd=tmp_path, check=True)
    assert "it is no BPF object" in tare(
        tmp_path, "check", "filters", "--program", "my.bpf.o", code=1
    )


def test_a_script_is_run_in_the_place_of_ours(tmp_path: Path) -> None:
    shutil.copy(loaded.variant_folder("luajit") / "url_filter.lua", tmp_path / "my.lua")
    assert "my.lua" in tare(tmp_path, "check", "filters/luajit", "--script", "my.lua")
    (tmp_path / "my.lua").write_text("return function(prefix) return function(uri) end")
    assert "my.lua" in tare(tmp_path, "check", "filters/luajit", "--script", "my.lua", code=1)


def test_by_hand_options_and_the_originals_variables_are_honoured(tmp_path: Path) -> None:
    name = library(tmp_path, ORIGINAL.read_text())
    told = tare(
        tmp_path,
        "up",
        "filters/dynamic-c",
        DYNAMIC_LOAD_LIB_PATH=name,
        DYNAMIC_LOAD_URL_PREFIX="/b",
    )
    assert f"DYNAMIC_LOAD_LIB_PATH is set: library is {name}" in told
    assert "DYNAMIC_LOAD_URL_PREFIX is set: prefix is /b" in told
    assert f"library of dynamic-c is {tmp_path / name}" in told
    try:
        # A restart takes the library that was built meanwhile.
        library(tmp_path, ORIGINAL.read_text().replace("== 0;", "!= 0;"))
        refused = tare(tmp_path, "restart", code=1)
        assert "its oracle refuses it" in refused
        library(tmp_path, ORIGINAL.read_text())
        up = tare(tmp_path, "up", "filters/dynamic-c", "--library", name, "--prefix=/c", "--json")
        port = json.loads(up[up.index("{") : up.rindex("}") + 1])["port"]["http"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/c", timeout=5) as answer:
            assert answer.status == 200
        assert "accepted     1" in tare(tmp_path, "stats", "--interval", "0.2")
    finally:
        tare(tmp_path, "down")
    other = tare(tmp_path, "up", "filters/c-module", DYNAMIC_LOAD_LIB_PATH=name, code=1)
    assert "filters/c-module does not take it" in other
    ignored = tare(tmp_path, "run", "filters", "--dry-run", DYNAMIC_LOAD_LIB_PATH=name)
    assert "tare run does not take it; use --library FILE" in ignored
