"""A user's own function in every sandbox, on the command line."""

import os
import subprocess
from pathlib import Path

import pytest
from commandline import measured, tare
from sandboxes import loaded

pytestmark = [
    pytest.mark.contract,
    pytest.mark.timeout(900),
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes are root's"),
]
SHORT = ("--blocks", "1", "--duration", "0.3")
SHOUT = """
#include <ctype.h>
#include <time.h>
#include "tare_udf.h"
static void serve(tare_host *host, tare_bytes request) {
    for (size_t index = 0; index < request.length; index++)
        request.bytes[index] = CHANGED;
    tare_answer(host, request);
}
TARE_UDF(serve)
"""
UPPER = "(uint8_t)toupper(request.bytes[index])"

BY_THE_CLOCK = "({ struct timespec now; clock_gettime(0, &now); (uint8_t)(now.tv_nsec >> 8); })"


def function(folder: Path, changed: str = UPPER, *options: str) -> None:
    (folder / "my.c").write_text(SHOUT.replace("CHANGED", changed))
    include = ["-I", loaded.folder / "udf" / "include"]
    static = ["musl-gcc", "-static", "-O2"] if not options else list(options)
    subprocess.run([*static, *include, "-o", "my", "my.c"], cwd=folder, check=True)


def test_a_function_is_measured_in_each_sandbox(tmp_path: Path) -> None:
    function(tmp_path)
    (tmp_path / "asked").write_bytes(b"hello, sandbox")
    own = ("--udf", "my", "--request", "asked")
    chosen = ("--variants", "none,landlock,namespaces")
    plan, results = measured(tmp_path, "sandbox/calls", *own, *chosen, *SHORT)
    assert plan["parts"]["udf"]["variants"] == ["none", "landlock", "namespaces"]
    (scenario,) = results["scenarios"]
    assert scenario["levels"] == {
        "call": "my", "load": "crowd", "workers": "10", "language": "own",
        "placement": "one-core", "request": "asked",
    }  # fmt: skip
    # An empty request has an empty answer.
    assert " ok " in tare(tmp_path, "check", "sandbox/namespaces", "--udf", "my")


def test_what_no_function_of_your_own_reaches_is_said(tmp_path: Path) -> None:
    function(tmp_path)
    (tmp_path / "asked").touch()
    told = tare(tmp_path, "run", "sandbox", "--udf", "my", "--dry-run")
    assert "sandbox/compute has no udf to replace: not run" in told
    assert "wasm: it runs a module, and --udf is a program" in told
    parts = [line for line in told.splitlines() if " udf of none, " in line]
    assert parts and not any("wasm" in part for part in parts), told
    sizes = ("--scenarios", "call=sieve-1e6")
    assert "exclude all that was chosen" in tare(
        tmp_path, "run", "sandbox/calls", "--udf", "my", *sizes, code=2
    )
    assert "beside --udf" in tare(tmp_path, "run", "sandbox/calls", "--request", "asked", code=2)


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (UPPER, ("cc", "-O2"), "it is linked dynamically, expected a static program"),
        (BY_THE_CLOCK, (), "differently each time, so that no answer can be known to be right"),
        ("*(uint8_t *)0", (), "does not answer"),
    ],
)
def test_a_function_that_will_not_do_ends_in_a_sentence(
    tmp_path: Path, source: str, options: tuple[str, ...], words: str
) -> None:
    function(tmp_path, source, *options)
    (tmp_path / "asked").write_bytes(b"hello, sandbox")
    own = ("--udf", "my", "--request", "asked")
    told = tare(tmp_path, "run", "sandbox/calls", *own, "--variants", "none", *SHORT, code=1)
    assert words in told and "udf" in told
    assert not (tmp_path / "runs").exists(), "nothing was planned or timed"
