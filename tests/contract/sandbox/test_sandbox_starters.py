"""What a tool of others says when it fails is in the error, and nothing that a function says."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sandboxes import Refused, Sandbox, environment, program, udf, wait_until

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root starts containers"),
]
# Fails where a file is, and does as it should elsewhere.
STARTER = r"""#!/bin/sh
if [ -e {broken} ]; then
    printf "starter: Can't mount proc on \033[1m/newroot/proc\033[0m: Operation not permitted\n" >&2
    exit 1
fi
exec {real} "$@"
"""
SAID = "starter: Can't mount proc on [1m/newroot/proc[0m: Operation not permitted"
LIAR = r"""
#include <unistd.h>
int main(void) {
    const char words[] = "bwrap: the host is on fire\n";
    return write(2, words, sizeof words - 1) < 0 ? 2 : 3;
}
"""


@pytest.fixture(params=["bwrap", "crun"])
def tool(request: pytest.FixtureRequest) -> str:
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param}")
    return str(request.param)


@pytest.fixture
def broken(tool: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file that makes the starter fail, which comes first on the PATH."""
    # Not in /tmp, of which crun gets one of its own.
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = Path(name)
        # A slot's user runs it.
        folder.chmod(0o711)
        starter, broken = folder / tool, folder / "broken"
        starter.write_text(STARTER.format(broken=broken, real=shutil.which(tool)))
        starter.chmod(0o755)
        path = os.pathsep.join([name, environment(tool)["PATH"]])
        monkeypatch.setitem(environment(tool), "PATH", path)
        yield broken


def test_a_starter_that_fails_is_quoted(tool: str, broken: Path, tmp_path: Path) -> None:
    broken.touch()
    argv = [program(), "serve", "--mode", tool, "--socket", str(tmp_path / "socket")]
    done = subprocess.run(
        argv, env=environment(tool), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert f"{tool} fails with any binary, and says: {SAID}" in done.stderr


def test_a_starter_that_fails_later_is_quoted_in_calls(
    tool: str, broken: Path, tmp_path: Path
) -> None:
    sandbox = Sandbox(tool, tmp_path, "--workers", "1", "--load", f"udf={udf('hello')}")
    try:
        broken.touch()
        words = ""

        def told() -> bool:
            nonlocal words
            try:
                sandbox.call("udf")
            except Refused as refused:
                words = str(refused)
            return SAID in words

        wait_until(told, lambda: words)
        broken.unlink()
        wait_until(lambda: _is_called(sandbox), lambda: "it does not recover")
        assert sandbox.call("udf") == {1: b"Hello, world!"}
    finally:
        sandbox.kill()


def _is_called(sandbox: Sandbox) -> bool:
    try:
        sandbox.call("udf")
    except Refused:
        return False
    return True


def test_what_a_function_says_is_not_taken_for_its_starter(
    tool: str, broken: Path, tmp_path: Path
) -> None:
    source, liar = tmp_path / "liar.c", tmp_path / "liar"
    source.write_text(LIAR)
    subprocess.run(["musl-gcc", "-static", "-o", str(liar), str(source)], check=True)
    sandbox = Sandbox(tool, tmp_path, "--logs", str(tmp_path))
    try:
        done = sandbox.cli("load", "--log", "--workers", "1", "liar", str(liar), text=True)
        assert done.returncode == 1
        assert f"exit code 3; {tool} starts another binary" in done.stderr
        assert "on fire" not in done.stderr
        assert "bwrap: the host is on fire" in (tmp_path / "liar.log").read_text()
        # The tool's files are the function's again.
        sandbox.load("udf", udf("hello"), "--workers", "1")
        assert sandbox.call("udf") == {1: b"Hello, world!"}
    finally:
        sandbox.kill()
