"""Payloads in shared memory: right, bounded, gone after the call, or refused."""

import random
import subprocess
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sandboxes import (
    SLOW,
    Refused,
    Sandbox,
    decoys,
    loaded,
    named_like_workers,
    udf,
    wait_until,
    wire,
)

# Modes without, and what they say.
WITHOUT = {
    "gvisor-shared": "shares no memory with what is in its sandbox",
    "kvm": "shares no memory with its guests",
    "wasm": "shares no memory with its modules",
}
ONE = ("--shared", "--workers", "1")
SIZES = (0, 1, 4096, 1_000_000, 50_000_000)
TABLE = tomllib.loads((loaded.folder / "attacks.toml").read_text())

# The original's wire, and nothing of this project's.
PLAIN = """
#include <stdlib.h>
#include <unistd.h>
int main(int count, char **arguments) {
    unsigned char piece[4];
    int fd = count == 2 ? atoi(arguments[1]) : -1;
    return write(fd, "a", 1) != 1 || read(fd, piece, 4) != 4 || write(fd, piece, 4) != 4;
}
"""


@pytest.fixture
def sharing(mode: str) -> str:
    """A mode that shares memory."""
    if mode in WITHOUT:
        pytest.skip(f"mode {mode} {WITHOUT[mode]}")
    return mode


def random_bytes(size: int) -> bytes:
    return random.Random(size).randbytes(size)


def kind(act: Callable[[], object]) -> str:
    with pytest.raises(Refused) as refused:
        act()
    return refused.value.kind


def holders() -> set[int]:
    """Processes that have a file of a call's memory, open or mapped."""
    found = set()
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            open_files = [str(each.readlink()) for each in (entry / "fd").iterdir()]
            seen = " ".join([(entry / "maps").read_text(), *open_files])
        except OSError:
            continue
        if "memfd:tare-request" in seen or "memfd:tare-response" in seen:
            found.add(int(entry.name))
    return found


@pytest.mark.parametrize("language", ["c", "rust"])
def test_payloads_go_both_ways_bit_for_bit(
    sharing: str, language: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(sharing)
    sandbox.load("udf", udf("mirror", language), *ONE)
    for size in SIZES:
        request = random_bytes(size)
        assert sandbox.call_raw("udf", request) == request, size
    stats = sandbox.stats("udf")
    assert stats["shared"] == stats["ok"] == len(SIZES)


def test_without_it_nothing_is_shared(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('mirror')}")
    request = random_bytes(1_000_000)
    assert sandbox.call_raw("udf", request) == request
    assert (sandbox.stats("udf")["ok"], sandbox.stats("udf")["shared"]) == (1, 0)


@pytest.mark.parametrize("mode", WITHOUT)
def test_modes_without_say_so(mode: str, serve: Callable[..., Sandbox]) -> None:
    if mode == "kvm" and not Path("/dev/kvm").exists():
        pytest.skip("no /dev/kvm")
    sandbox = serve(mode)
    done = sandbox.cli("load", "--shared", "udf", str(udf("mirror")), text=True)
    assert done.returncode == 1
    assert WITHOUT[mode] in done.stderr and "without --shared" in done.stderr


def test_functions_that_know_the_socket_alone_run_as_ever(
    sharing: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    (tmp_path / "plain.c").write_text(PLAIN)
    argv = ["musl-gcc", "-O2", "-static", "-o", str(tmp_path / "plain"), str(tmp_path / "plain.c")]
    subprocess.run(argv, check=True)
    sandbox = serve(sharing)
    sandbox.load("udf", tmp_path / "plain", *ONE)
    assert sandbox.call_raw("udf", b"abc") == b"abc"
    assert (sandbox.stats("udf")["ok"], sandbox.stats("udf")["shared"]) == (1, 0)


def test_limits_hold_in_memory(sharing: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    sandbox = serve(sharing)
    sizes = (*ONE, "--request-bytes", "1000", "--response-bytes", "1000")
    sandbox.load("payload", udf("payload"), *sizes)
    number, text = wire.number_field, wire.bytes_field
    exact = text(4, b"x" * 997)
    assert len(exact) == 1000
    assert wire.fields(sandbox.call_raw("payload", exact)) == {1: 997}
    assert kind(lambda: sandbox.call_raw("payload", exact + b"\x08")) == "request_too_long"

    def answer_of(size: int) -> bytes:
        return sandbox.call_raw("payload", number(1, size) + number(2, 1) + number(3, 1))

    assert len(answer_of(994)) == 1000
    assert kind(lambda: answer_of(995)) == "protocol"
    sandbox.load("attack", udf("attack"), *sizes)
    most = ("--memory-mb", "32", "--response-bytes", "250000000")
    sandbox.load("greedy", udf("attack"), *ONE, *most)
    with decoys(tmp_path) as made:

        def call(attack: str, name: str = "attack") -> bytes:
            return sandbox.call_raw(name, made.request(attack))

        assert kind(lambda: call("claim_more")) == "protocol"
        assert kind(lambda: call("claim_all")) == "protocol"
        assert kind(lambda: call("answer_aside")) == "protocol"
        # Nothing that anybody wrote is in memory that nobody has written.
        assert call("claim_unwritten") == bytes(1000)
        assert kind(lambda: call("fill_response", "greedy")) == "memory"
        assert wire.fields(call("hello", "greedy"))[1] == b"unknown"


def test_what_a_function_does_to_the_memory_is_refused(
    sharing: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(sharing)
    sandbox.load("udf", udf("attack"), *ONE)
    with decoys(tmp_path) as made:
        for attack in ("write_request", "map_request", "resize_memory", "execute_response"):
            assert sandbox.call("udf", made.request(attack))[1] == b"blocked", attack
        for _ in range(5 if sharing in SLOW else 20):
            shaken = sandbox.call_raw("udf", made.request("shake_response"))
            assert len(shaken) == 1 << 20 and not set(shaken) - set(b"x\0")
        assert sandbox.call("udf", made.request("hello"))[1] == b"unknown"


def test_memory_is_gone_after_the_call(
    sharing: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    before, workers = holders(), named_like_workers()
    sandbox = serve(sharing)
    sandbox.load("udf", udf("attack"), *ONE)
    with decoys(tmp_path) as made:
        sandbox.call("udf", made.request("hello"))
        wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "not refilled")
        descriptors = sandbox.descriptors()
        for _ in range(3):
            assert sandbox.call("udf", made.request("keep_memory")) == {1: b"blocked", 2: b"kept"}
            with pytest.raises(Refused):
                sandbox.call("udf", made.request("claim_all"))
        wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "not refilled")
    wait_until(lambda: holders() <= before, lambda: f"held by {holders() - before}")
    wait_until(
        lambda: sandbox.descriptors() <= descriptors,
        lambda: f"{sandbox.descriptors()} descriptors, {descriptors} before",
    )
    sandbox.unload("udf")
    assert named_like_workers() <= workers


def test_callers_in_turn_and_at_once_see_their_own(
    sharing: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(sharing)
    sandbox.load("attack", udf("attack"), *ONE)
    with decoys(tmp_path) as made:
        sandbox.call("attack", made.request("plant"))
        found = sandbox.call("attack", made.request("seek"))
    if sharing in TABLE["leaks"]:
        assert found[2] != b"shared memory of a call"
    else:
        assert found[1] == b"blocked", found
    sandbox.load("mirror", udf("mirror"), "--shared", "--workers", "4")
    requests = [random_bytes(100_000 + each) for each in range(8 if sharing in SLOW else 40)]
    with ThreadPoolExecutor(8) as callers:
        answers = list(callers.map(lambda each: sandbox.call_raw("mirror", each), requests))
    assert answers == requests


def test_attacks_end_as_without(
    sharing: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    # Whatever anybody gets anywhere.
    tried = TABLE["open"]["none"]
    sandbox = serve(sharing)
    sandbox.load("udf", udf("attack"), "--shared", "--workers", "2")
    with decoys(tmp_path) as made:
        found = {attack: sandbox.call("udf", made.request(attack)) for attack in tried}
    got = sorted(attack for attack, verdict in found.items() if verdict[1] == b"open")
    assert got == sorted(TABLE["open"][sharing]), {name: found[name] for name in got}


def test_callbacks_go_over_the_socket_meanwhile(
    sharing: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(sharing)
    number = wire.number_field
    request = number(1, 50_000) + number(2, 20) + number(3, 2)
    for language in ("c", "rust"):
        name = f"payload-{language}"
        sandbox.load(name, udf("payload", language), *ONE, "--callbacks")
        assert sandbox.call(name, request) == {1: 1_000_000}
    sandbox.load("mute", udf("payload"), *ONE)
    assert kind(lambda: sandbox.call("mute", request)) == "protocol"
