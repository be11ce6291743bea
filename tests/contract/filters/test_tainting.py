"""The tainting layer: what must not compile does not, and what leaves the sandbox is refused."""

import subprocess
from pathlib import Path

import pytest
from harness import loaded

pytestmark = pytest.mark.contract
INCLUDES = [f"-I{loaded.folder / name}" for name in ("tainting", "guest", "include")]
PROGRAM = """
#include <cstdio>
#include "sandbox.hpp"
#include "noop.hpp"
using sandbox = tainting::sandbox<backend>;
int main() {{
    sandbox box;
    auto room = box.allocate<unsigned char>(16);
    auto answer = box.invoke<decltype(filter_url)>(GUEST_FUNCTION(filter_url), room, sizeof(int));
    try {{
        {body}
    }} catch (const tainting::error &error) {{
        std::puts(error.why);
    }}
}}
"""
GUEST_SOURCE = """
#include "guest.h"
int filter_url(const unsigned char *url, size_t length) { return (int) length; }
"""


def compile_(tmp_path: Path, body: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "guest.c").write_text(GUEST_SOURCE)
    (tmp_path / "program.cpp").write_text(PROGRAM.format(body=body))
    flags = ["-O1", "-Wall", "-Wno-unused", *INCLUDES]
    subprocess.run(["cc", *flags, "-c", "guest.c"], cwd=tmp_path, check=True)
    argv = ["c++", "-std=c++20", *flags, "program.cpp", "guest.o", "-o", "program"]
    return subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True)


@pytest.mark.parametrize(
    "body",
    [
        "int plain = answer;",
        "if (answer) return 1;",
        "unsigned char byte = *room;",
        "unsigned char *plain = room;",
        "room.copy_and_verify([](auto *p) { return *p; });",
        "unsigned char own[4]; sandbox::value<unsigned char *> forged(own);",
        "unsigned char own[4]; box.invoke<decltype(filter_url)>("
        "GUEST_FUNCTION(filter_url), own, sizeof(own));",
        "box.invoke<decltype(filter_url)>(GUEST_FUNCTION(filter_url), room);",
    ],
)
def test_it_does_not_compile(tmp_path, body):
    done = compile_(tmp_path, body)
    assert done.returncode != 0 and "error:" in done.stderr


@pytest.mark.parametrize(
    ("body", "printed"),
    [
        ('answer.copy_and_verify([](int n) { std::printf("%d\\n", n); return n; });', "4"),
        (
            "static unsigned char own[17 << 20]; box.copy_in(room, own, sizeof(own));",
            "a pointer leads out of the sandbox",
        ),
        (
            "box.allocate<unsigned char>(17 << 20);",
            "the guest has no room for so many bytes",
        ),
    ],
)
def test_it_runs(tmp_path, body, printed):
    done = compile_(tmp_path, body)
    assert done.returncode == 0, done.stderr
    assert (
        subprocess.run([tmp_path / "program"], capture_output=True, text=True).stdout
        == f"{printed}\n"
    )
