"""Every variant answers every byte, in the ways of reading that it supports."""

import pytest
from caches import loaded, variants

pytestmark = pytest.mark.contract


@pytest.mark.parametrize("variant", variants)
def test_every_byte(start, variant):
    start(variant).ask_oracle()


@pytest.mark.parametrize("variant", ["aio-off", "threads", "spsc"])
def test_every_byte_with_sendfile(start, variant):
    start(variant, sendfile="on").ask_oracle()


def test_every_byte_over_several_disks(start):
    site = start("ck", {"disks": 3})
    site.ask_oracle()
    disks = [list((site.folder / "sut" / f"disk{disk}").rglob("*")) for disk in range(3)]
    assert all(disks)


def test_what_is_cold_is_on_the_disk_only(start):
    """The role that fills the cache would fail otherwise; the limits are read back."""
    site = start("nowait", readers="64")
    caps = site.processes["sut"].place.caps
    assert (caps.memory_bytes, caps.read_bytes_per_s) == (256 << 20, 40 << 20)


def test_sendfile_is_not_claimed_where_nginx_does_not_read():
    for variant in variants:
        words = loaded.variants[variant].properties["queue"].split()
        reads = {"nowait", "uring"} & set(words)
        assert bool(reads) == (loaded.variants[variant].supports.get("sendfile") == ["off"])
