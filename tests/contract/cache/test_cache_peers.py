"""Caches that are not nginx: every byte, cold objects on the disk only, and a disk that is slow."""

import pytest
from asking import get, get_all, right
from caches import PEERS

pytestmark = pytest.mark.contract


@pytest.fixture(params=PEERS)
def peer(request):
    return request.param


def test_every_byte(start, peer):
    start(peer).run_oracle()


def test_what_is_cold_is_on_the_disk_only(start, peer):
    """The role that fills the cache would fail otherwise; the limits are read back."""
    site = start(peer, {"cold_count": 50}, study="stall", readers="64")
    caps = site.processes["sut"].place.caps
    assert (caps.memory_bytes, caps.read_bytes_per_s) == (256 << 20, 40 << 20)
    before = site.hooks.counters(site)
    paths = [f"/1m/cold-{number}" for number in range(8)]
    assert get_all(site, paths) == [right(path, 1 << 20) for path in paths]
    assert site.hooks.counters(site)["asked"] == before["asked"] + 1, "but for that question"


def test_a_disk_that_is_slow(start, peer):
    """Every answer comes whole."""
    few = {"disk_mb_per_s": 16, "memory_mb": 0, "cold_count": 4}
    site = start(peer, few, study="stall", readers="16")
    paths = [f"/1m/cold-{number}" for number in range(4)]
    assert get_all(site, paths * 4, 16) == [right(path, 1 << 20) for path in paths * 4]
    assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)
