"""Every task queue under stress, watched by sanitisers: nothing is lost, doubled or raced for."""

import subprocess
from pathlib import Path

import pytest

from tare.lab.paths import ROOT

QUEUE = ROOT / "experiments" / "cache" / "queue"
KINDS = ("mutex", "ck", "rte", "spsc", "eventdev-sw", "eventdev-dsw")


@pytest.fixture(scope="module", params=["thread", "address,undefined"])
def stress(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stress program, with the queues in it, under one sanitiser."""
    folder = tmp_path_factory.mktemp("stress")
    flags = f"-O1 -g -fno-omit-frame-pointer -fsanitize={request.param}"
    library = subprocess.run(
        ["make", "-s", "-j2", "-C", str(QUEUE), f"OUT={folder}", f"CFLAGS={flags}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert library.returncode == 0, library.stderr
    source = Path(__file__).with_name("queue_stress.c")
    libs = ["make", "-s", "-C", str(QUEUE), "libs"]
    needed = subprocess.run(libs, capture_output=True, text=True, check=True).stdout.split()
    program = folder / "queue_stress"
    made = ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", *flags.split()]
    made += ["-I", folder / "include", source, "-o", program]
    made += ["-L", folder / "lib", "-ltask_queue", *needed]
    subprocess.run(made, check=True)
    return program


def run(program: Path, kind: str, consumers: int, capacity: int) -> int:
    """Wake-ups of a run that went well."""
    # Where addresses are too random, the thread sanitiser cannot place its shadow.
    seed = 7 * consumers + capacity
    # A device in software takes much longer for a task where other work has the CPUs.
    count = 2_000 if kind.startswith("eventdev") else 20_000
    argv = ["setarch", "-R", program, kind, consumers, count, capacity, seed]
    done = subprocess.run(
        [str(part) for part in argv], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return int(done.stdout.split()[0])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("consumers", "capacity"), [(1, 8), (2, 4), (4, 64)])
def test_no_task_is_lost(stress: Path, kind: str, consumers: int, capacity: int) -> None:
    wakes = run(stress, kind, consumers, capacity)
    assert wakes > 0, "consumers that slept were woken"
