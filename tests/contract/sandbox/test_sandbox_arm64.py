"""The sandbox on another kind of processor: built for it here, and run on an emulated machine."""

import os
import subprocess
from pathlib import Path

import emulated
import pytest
from sandboxes import PRIMES, apart, wire
from test_sandbox_attacks import ATTACKS

from tare.lab import paths

pytestmark = [pytest.mark.contract, pytest.mark.thorough, pytest.mark.timeout(2400)]
TARGET = "aarch64-unknown-linux-gnu"
COMPILER = "aarch64-linux-gnu-gcc"
PROGRAMS = ("tare-sandbox", "tare-sandbox-compiler", "tare-sandbox-monitor")
FUNCTIONS = ("hello", "sieve", "attack")
MODES = ("none", "landlock", "namespaces", "roma", "roma-original", "wasm")
"""Without kvm, which is x86-64's, and those whose programs are others'."""
# What root may do without a sandbox; the rest asks for listeners, which are not there.
OPEN_IN_NONE = {
    "become_root", "execute_file", "execute_memory", "fault_handler", "kernel_files",
    "memory_file", "process_list", "read_file", "stat_file", "write_file",
}  # fmt: skip
NUMBER = 100_000
OTHER = 20_000
"""A process that is not the function's own."""
# An attack reads what others may have left in new memory.
FUNCTIONS_BUILD = """
source=$TARE_ROOT/experiments/sandbox/udf
target=aarch64-unknown-linux-musl
suffix=
attacks='*.c'
compile() {
    "$COMPILER" -std=gnu11 -O2 -Wall -Wextra -Werror -Wno-maybe-uninitialized -static \\
        -I "$source/include" "$@"
}
. "$source/build.sh"
"""
SCRIPT = """
mount -t cgroup2 groups /sys/fs/cgroup
mkdir -p /decoys
chmod 777 /decoys
echo secret >/decoys/secret
echo $((OTHER - 1)) >/proc/sys/kernel/ns_last_pid
sleep 100000 &
echo "decoy: $!"
export TARE_SANDBOX=/tmp/socket
printable() { tr -dc ' -~'; }

try() {
    mode=$1 suffix=$2
    /tare-sandbox serve --mode $mode --workers 2 --load hello=/hello$suffix \\
        --load sieve=/sieve$suffix --load attack=/attack$suffix >/tmp/log 2>&1 &
    daemon=$!
    for attempt in $(seq 600); do grep -q 'serving in' /tmp/log && break; sleep 0.2; done
    echo "$mode: hello: $(/tare-sandbox call hello </dev/null | printable)"
    echo "$mode: sieve: $(/tare-sandbox call sieve </number | od -An -tx1 | tr -d ' ')"
    for attack in $(cat /names); do
        echo "$mode: $attack: $(/tare-sandbox call attack </requests/$attack 2>&1 | printable)"
    done
    kill $daemon
    wait $daemon
    echo "$mode: ended: $? $(find /sys/fs/cgroup -name '*tare-sandbox*')"
    grep -v 'serving in' /tmp/log
}

echo "processor: $(uname -m)"
echo "kvm: $(/tare-sandbox serve --mode kvm --load hello=/hello 2>&1 | printable)"
"""


def build(folder: Path) -> dict[str, Path]:
    """The daemon and its programs, and the functions."""
    target = paths.target() / "arm64"
    environment = os.environ | {
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": COMPILER,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER": COMPILER,
        # As experiments/sandbox/components/sandbox-runtime builds them.
        "RUSTFLAGS": "-C target-feature=+crt-static",
        "CARGO_PROFILE_RELEASE_LTO": "false",
        "CARGO_PROFILE_RELEASE_CODEGEN_UNITS": "16",
        "CARGO_PROFILE_RELEASE_STRIP": "symbols",
        "COMPILER": COMPILER,
        "TARE_ROOT": str(paths.ROOT),
        "TARE_OUT": str(folder),
        "TARE_TARGET": str(target),
        "TARE_JOBS": str(os.cpu_count()),
    }
    subprocess.run(["rustup", "target", "add", TARGET], check=True)
    command = ["cargo", "build", "--release", "--locked", "--target", TARGET, "--bins"]
    command += ["-p", "tare-sandbox", "-p", "sandbox-runtime", "--target-dir", str(target)]
    subprocess.run(command, cwd=paths.ROOT, env=environment, check=True)
    subprocess.run(["sh", "-euc", FUNCTIONS_BUILD], env=environment, check=True)
    made = {name: target / TARGET / "release" / name for name in PROGRAMS}
    modules = apart("sandbox-udfs-wasm")
    for name in FUNCTIONS:
        made |= {name: folder / "c" / name, f"{name}.wasm": modules / "c" / name}
    return made


def request(attack: str) -> bytes:
    text, number = wire.bytes_field, wire.number_field
    return bytes(
        text(1, attack.encode())
        + number(2, OTHER)
        + text(3, b"/decoys/secret")
        + number(4, 9)
        + text(5, b"nobody")
        + text(6, b"/decoys")
    )


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """What a machine with such a processor prints, by the first two words of its lines."""
    if why := emulated.missing(emulated.ARM64):
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("arm64")
    files = build(folder)
    texts = {f"requests/{attack}": request(attack) for attack in ATTACKS}
    texts |= {"number": wire.number_field(1, NUMBER), "names": "\n".join(ATTACKS).encode()}
    (folder / "requests").mkdir()
    for name, text in texts.items():
        files[name] = folder / name
        files[name].write_bytes(text)
    script = SCRIPT.replace("OTHER", str(OTHER))
    tries = [f"try {mode} {'.wasm' if mode == 'wasm' else ''}" for mode in MODES]
    text = emulated.run(script + "\n".join(tries), files, folder, 2, emulated.ARM64)
    print(text)
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        match line.split(": ", 2):
            case [mode, what, seen]:
                found.setdefault(mode, {})[what] = seen
            case [what, seen]:
                found.setdefault("", {})[what] = seen
    return found


def test_mode_kvm_says_that_it_is_not_there(printed: dict[str, dict[str, str]]) -> None:
    assert printed[""]["processor"] == "aarch64"
    assert printed[""]["decoy"] == str(OTHER)
    assert "needs an x86-64 processor" in printed["kvm"]["Error"]


@pytest.mark.parametrize("mode", MODES)
def test_functions_are_served_and_attacks_end_as_on_other_processors(
    printed: dict[str, dict[str, str]], mode: str
) -> None:
    found = dict(printed[mode])
    assert "Hello, world!" in found.pop("hello")
    assert found.pop("sieve") == wire.number_field(1, PRIMES[NUMBER]).hex()
    assert found.pop("ended") == "0 "
    assert set(found) == set(ATTACKS)
    open_ones = {attack for attack, seen in found.items() if "blocked" not in seen}
    if mode == "none":
        assert open_ones >= OPEN_IN_NONE, open_ones
    else:
        assert not open_ones, {attack: found[attack] for attack in open_ones}
