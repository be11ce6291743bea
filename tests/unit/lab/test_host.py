import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.lab.machine.host import Idle, assign, by_core


@pytest.mark.parametrize(
    ("count", "server", "client", "support"),
    [
        (1, [0], [0], [0]),
        (2, [0], [1], [1]),
        (3, [0], [1], [2]),
        (4, [0], [1], [2]),
        (16, [0], [1], [2]),
    ],
)
def test_one_cpu_each(count: int, server: list[int], client: list[int], support: list[int]) -> None:
    found = assign(range(count), server=1, client=1)
    assert (found.server, found.client, found.support) == (server, client, support)
    assert (found.remark is None) == (count > 2)


def test_many_wanted_and_there() -> None:
    found = assign(range(16), server=8, client=4)
    assert (found.server, found.client, found.support) == (
        list(range(8)),
        [8, 9, 10, 11],
        [12],
    )
    assert found.tested == list(range(12)) and found.remark is None


def test_too_few_are_shared_out_and_told_of() -> None:
    found = assign(range(4), server=6, client=2)
    assert (found.server, found.client, found.support) == ([0, 1, 2], [3], [3])
    assert found.remark == (
        "8 CPUs wanted, 4 available: 3 to the server, 1 to the client; "
        "controllers and the laboratory share the client's CPUs"
    )


@given(st.integers(2, 64), st.integers(1, 64), st.integers(1, 64))
def test_server_and_client_never_share_and_nobody_gets_none(
    count: int, server: int, client: int
) -> None:
    found = assign(range(count), server, client)
    assert 1 <= len(found.server) <= server and 1 <= len(found.client) <= client
    assert not {*found.server} & {*found.client} and found.support
    assert len(found.support) == 1 or found.support == found.client


def test_second_threads_come_after_all_cores(tmp_path: Path) -> None:
    for number in range(8):
        file = tmp_path / f"cpu{number}" / "topology" / "thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(f"{number % 4},{number % 4 + 4}\n")
    assert by_core([7, 0, 1, 5, 3, 4], tmp_path) == [0, 1, 3, 7, 5, 4]
    assert by_core(range(8), tmp_path) == [0, 1, 2, 3, 7, 6, 5, 4]
    interleaved = tmp_path / "interleaved"
    for number in range(4):
        file = interleaved / f"cpu{number}" / "topology" / "thread_siblings_list"
        file.parent.mkdir(parents=True)
        file.write_text(f"{number // 2 * 2}-{number // 2 * 2 + 1}\n")
    assert by_core(range(4), interleaved) == [0, 2, 3, 1]


def test_without_a_topology_every_cpu_is_a_core(tmp_path: Path) -> None:
    assert by_core([3, 1], tmp_path) == [1, 3]


def test_backends_get_cpus_of_their_own_or_the_servers() -> None:
    found = assign(range(8), server=2, client=2, backend=2)
    assert (found.server, found.client, found.backend) == ([0, 1], [2, 3], [4, 5])
    assert found.support == [6] and found.tested == list(range(6)) and found.remark is None
    few = assign(range(2), server=1, client=1, backend=1)
    assert few.backend == few.server == [0] and few.tested == [0, 1]
    assert few.remark is not None and "backends share the server's CPUs" in few.remark
    some = assign(range(3), server=1, client=1, backend=2)
    assert some.backend == [2] and "2 CPUs wanted for backends, 1 available" in str(some.remark)
    assert assign(range(4), server=1, client=1).backend == [0]


def test_idle_cpus_are_told_to_poll_or_sleep_by_a_file_that_stays_open(tmp_path: Path) -> None:
    latency = tmp_path / "cpu_dma_latency"
    os.mkfifo(latency)  # keeps what is written, wherever the file's position is
    idle, reader = Idle(latency), os.open(latency, os.O_RDONLY | os.O_NONBLOCK)
    assert idle.remark is None
    for poll, wanted in ((True, 0), (False, 2_000_000_000), (True, 0)):
        idle.set(poll=poll)
        assert os.read(reader, 8) == wanted.to_bytes(4, sys.byteorder)
    with pytest.raises(BlockingIOError):
        os.read(reader, 1)
    idle.close()
    assert os.read(reader, 1) == b"", "it is closed"
    os.close(reader)


def test_cpus_that_may_not_be_told_are_a_remark(tmp_path: Path) -> None:
    idle = Idle(tmp_path / "none")
    assert idle.remark is not None and "idle CPUs sleep" in idle.remark and "none" in idle.remark
    idle.set(poll=True)
    idle.close()
