"""Tests of system calls that others wrote, one call each: those of the crate nix.

`--thorough -s` prints the counts of SECURITY.md.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from sandboxes import Refused, Sandbox, loaded, wire

pytestmark = [
    pytest.mark.contract,
    pytest.mark.thorough,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(os.geteuid() != 0, reason="sandboxes are root's"),
]
TARGET = "x86_64-unknown-linux-musl"
BUILD = (
    "cargo", "test", "--no-run", "--locked", "--all-features", "--test", "test",
    "--message-format", "json",
)  # fmt: skip
WRAPPED = ("main", "exit", "write", "writev")
PATIENCE_S = 20
# Natively, nothing may load modules into the host's kernel or boot it.
NATIVE = ("setpriv", "--bounding-set", "-sys_module,-sys_boot")

REFUSED = "makes a system call that is refused"
ONE_THREAD = "starts a thread, and there is one"
SETITIMER = "does not see that setitimer is refused: alarm returns no error"
GETPGRP = "does not see that getpgrp is refused, and passes -1 on"
NO_PATH = "looks for a program on the PATH, and there are no variables"
NO_PARENT = "expects a parent with a number"
OPTION = "sets an option of a call that is served without it"
NO_SIGNALS = "expects that signals are blocked or handled"

SPECIAL = {
    "test_unistd::test_alarm": SETITIMER,
    "test_unistd::test_canceling_alarm": SETITIMER,
    "sys::test_signal::test_killpg_none": GETPGRP,
    "test_spawn::spawn_sleep": NO_PATH,
    "test_spawn::spawn_true": NO_PATH,
    "test_unistd::test_getpid": NO_PARENT,
}
SPECIAL_KVM = {
    "sys::test_mman::test_madv_wipeonfork": OPTION,
    "sys::test_mman::test_mremap_dontunmap": OPTION,
    "test_time::test_clock_getcpuclockid": OPTION,
    "test_time::test_clock_id_pid_cpu_clock_id": OPTION,
    "sys::test_signal::test_signal": NO_SIGNALS,
    "sys::test_signal::test_sigprocmask": NO_SIGNALS,
}
# Of SECURITY.md.
PASSED = {"namespaces": 97, "kvm": 81}


@dataclass(frozen=True)
class Outcome:
    """How one test ended: a word, and what it printed."""

    word: str
    text: str


def judge(response: bytes) -> Outcome:
    """The outcome of a test that answered: a byte with its exit code, and its output."""
    text = response[1:].decode(errors="replace")
    if response[0] != 0:
        return Outcome("failed", text)
    if "1 ignored" in text:
        return Outcome("ignored", text)
    return Outcome("skipped" if "skip" in text.lower() else "passed", text)


def request(*arguments: str) -> bytes:
    return b"".join(each.encode() + b"\0" for each in arguments)


def one(test: str) -> bytes:
    return request("--exact", "--test-threads=1", test)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tests as a function."""
    folder = tmp_path_factory.mktemp("others")
    subprocess.run(["rustup", "target", "add", TARGET], check=True)
    metadata = subprocess.run(
        ["cargo", "metadata", "--locked", "--format-version", "1"],
        cwd=loaded.folder, check=True, capture_output=True,
    )  # fmt: skip
    (manifest,) = {
        each["manifest_path"]
        for each in json.loads(metadata.stdout)["packages"]
        if each["name"] == "nix"
    }
    source = folder / "nix"
    shutil.copytree(Path(manifest).parent, source)
    shim = folder / "shim.o"
    here = Path(__file__).parent / "others" / "shim.c"
    subprocess.run(["musl-gcc", "-O2", "-c", "-o", str(shim), str(here)], check=True)
    wrap = ",".join(f"--wrap={name}" for name in WRAPPED)
    links = (str(shim), f"-Wl,{wrap}", "-lc", "-s")
    built = subprocess.run(
        [*BUILD, "--target", TARGET],
        cwd=source, check=True, stdout=subprocess.PIPE,
        env=os.environ | {
            "CARGO_TARGET_DIR": str(folder / "target"),
            "RUSTFLAGS": " ".join(f"-Clink-arg={each}" for each in links),
        },
    )  # fmt: skip
    found = [json.loads(line).get("executable") for line in built.stdout.splitlines()]
    (executable,) = filter(None, found)
    return Path(executable)


def natively(function: Path, asked: bytes) -> Outcome:
    """The outcome of a call without a sandbox."""
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            argv = [*NATIVE, "sh", "-c", f'exec "$0" 3 3<&{theirs.fileno()}', str(function)]
            null = subprocess.DEVNULL
            process = subprocess.Popen(
                argv, pass_fds=[theirs.fileno()], stdin=null, stdout=null, stderr=null
            )
        try:
            ours.settimeout(PATIENCE_S)
            assert ours.recv(1) == b"r"
            ours.sendall(wire.varint(len(asked)) + asked)
            received = b""
            while piece := ours.recv(1 << 16):
                received += piece
        except OSError as error:
            return Outcome("died", str(error))
        finally:
            process.kill()
            process.wait()
    # Its length takes four bytes.
    return judge(received[4:]) if received else Outcome("died", "no answer")


@pytest.fixture(scope="module")
def names(others: Path) -> list[str]:
    """All of the tests."""
    lines = natively(others, request("--list")).text.splitlines()
    found = [line.removesuffix(": test") for line in lines if line.endswith(": test")]
    assert len(found) > 300
    return found


def test_most_pass_natively(others: Path, names: list[str]) -> None:
    outcomes = {name: natively(others, one(name)) for name in names}
    counts = Counter(outcome.word for outcome in outcomes.values())
    print(f"\nnatively: {dict(counts)} of {len(names)}")
    for name, outcome in outcomes.items():
        if outcome.word in ("failed", "died"):
            print(f"  {name}: {_last_words(outcome)}")
    assert counts["passed"] > len(names) / 2


@pytest.mark.parametrize("mode", ["namespaces", "kvm"], indirect=True)
def test_each_failure_in_a_sandbox_has_a_known_reason(
    mode: str, serve: Callable[..., Sandbox], others: Path, names: list[str]
) -> None:
    sandbox = serve(mode)
    sandbox.load("others", others, "--workers", "2", "--deadline-ms", str(PATIENCE_S * 1000))
    outcomes = {}
    for name in names:
        try:
            outcomes[name] = judge(sandbox.call_raw("others", one(name)))
        except Refused as refused:
            outcomes[name] = Outcome(refused.kind, str(refused))
    counts = Counter(outcome.word for outcome in outcomes.values())
    failed = {
        name: outcome
        for name, outcome in outcomes.items()
        if outcome.word not in ("passed", "ignored", "skipped")
    }
    special = SPECIAL | (SPECIAL_KVM if mode == "kvm" else {})
    reasons = {name: special.get(name) or _reason(outcome) for name, outcome in failed.items()}
    print(f"\n{mode}: {dict(counts)} of {len(names)}")
    print("\n".join(f"  {count} {why}" for why, count in Counter(reasons.values()).most_common()))
    unexplained = {name: failed[name].text for name, why in reasons.items() if why is None}
    assert not unexplained
    assert set(special) <= set(failed), "what is explained fails"
    assert counts["passed"] == PASSED[mode]
    # None of them has ended anything but its own worker.
    assert sandbox.process.poll() is None


def _reason(outcome: Outcome) -> str | None:
    if re.search(r"\bEPERM\b|PermissionDenied|Operation not permitted", outcome.text):
        return REFUSED
    return ONE_THREAD if "failed to spawn thread" in outcome.text else None


def _last_words(outcome: Outcome) -> str:
    """The line behind the one that says where a test panicked."""
    found = re.search(r"panicked at [^\n]*\n([^\n]*)", outcome.text)
    return found[1] if found else outcome.text[-200:]
