"""Control groups of version 2, on a machine that has no others."""

import re
from pathlib import Path

import emulated
import pytest
from sandboxes import program, udf, wire

pytestmark = [pytest.mark.contract, pytest.mark.thorough, pytest.mark.timeout(1200)]
MODES = ("none", "landlock", "namespaces", "roma", "roma-original")
# Where a sandbox starts, and where its slots' groups are then.
PLACES = {"slice/session": "./slice", "alone": "./alone", "": "."}
SCRIPT = """
mount -t cgroup2 groups /sys/fs/cgroup
cd /sys/fs/cgroup
echo '+memory +pids' >cgroup.subtree_control
mkdir -p slice/session alone
echo '+memory +pids' >slice/cgroup.subtree_control
# Somebody else in the same group, as a shell is in a session.
sh -c 'echo $$ >slice/session/cgroup.procs; exec sleep 1000' &
export TARE_SANDBOX=/tmp/socket

try() {
    mode=$1 place=$2
    sh -c "echo \\$\\$ >/sys/fs/cgroup/$place/cgroup.procs
        exec /tare-sandbox serve --mode $mode --workers 2 --memory-mb 16 --processes 4 \\
            --load hello=/hello --load attack=/attack" >/tmp/log 2>&1 &
    daemon=$!
    for attempt in $(seq 100); do grep -q 'serving in' /tmp/log && break; sleep 0.2; done
    echo "$mode in '$place': $(/tare-sandbox call hello </dev/null | tr -dc ' -~')"
    echo "$mode in '$place': $(/tare-sandbox call attack </memory_bomb 2>&1 | tr -dc ' -~')"
    echo "$mode in '$place': $(/tare-sandbox call attack </fork_bomb 2>&1 | tr -dc ' -~')"
    echo "$mode in '$place': below $(find . -name 1 -path '*tare-sandbox*')"
    echo "$mode in '$place': own $(cat $(find . -path '*tare-sandbox*/host/memory.max') </dev/null)"
    kill $daemon
    wait $daemon
    echo "$mode in '$place': ended with $?, left $(find . -name '*tare-sandbox*')"
    cat /tmp/log
}
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a machine with version 2 alone prints."""
    if why := emulated.missing():
        pytest.skip(why)
    folder = tmp_path_factory.mktemp("version-2")
    files = {"tare-sandbox": Path(program()), "hello": udf("hello"), "attack": udf("attack")}
    for name in ("memory_bomb", "fork_bomb"):
        files[name] = folder / name
        files[name].write_bytes(wire.bytes_field(1, name.encode()))
    tries = [f"try {mode} ''" for mode in MODES]
    tries += [f"try namespaces {place}" for place in PLACES if place]
    return emulated.run(SCRIPT + "\n".join(tries), files, folder, cpus=2)


@pytest.mark.parametrize("mode", MODES)
def test_limits_hold_in_version_2(printed: str, mode: str) -> None:
    check(printed, mode, "")


@pytest.mark.parametrize("place", [place for place in PLACES if place])
def test_slots_have_groups_wherever_the_sandbox_starts(printed: str, place: str) -> None:
    check(printed, "namespaces", place)


def check(printed: str, mode: str, place: str) -> None:
    head = f"{mode} in '{place}': "
    lines = [line.removeprefix(head) for line in printed.splitlines() if line.startswith(head)]
    assert len(lines) == 6, printed
    hello, memory_bomb, fork_bomb, below, own, end = lines
    assert "Hello, world!" in hello
    assert "memory" in memory_bomb
    assert "blocked" in fork_bomb
    assert re.fullmatch(rf"below {re.escape(PLACES[place])}/tare-sandbox\.\d+\.0/1", below)
    # Where the daemon shares its group with others, it cannot limit its own memory.
    alone = not place.startswith("slice")
    assert own == (f"own {3072 << 20}" if alone else "own ")
    assert end == "ended with 0, left "
