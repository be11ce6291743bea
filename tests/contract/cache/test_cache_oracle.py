"""Every variant answers every byte, in the ways of reading that it supports."""

import importlib.util

import pytest
from asking import configure
from benches import why_not
from caches import loaded, variants

from tare.lab.project import catalog, levels
from tare.lab.project.hooks import OracleError
from tare.lab.run import planning
from tare.model.scenario import expand

pytestmark = pytest.mark.contract

spec = importlib.util.spec_from_file_location("cache_hooks", loaded.folder / "hooks.py")
hooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hooks)


@pytest.mark.parametrize("variant", variants)
def test_every_byte(start, variant):
    start(variant).run_oracle()


@pytest.mark.parametrize(
    ("variant", "queue"),
    [("nowait", "threads uring"), ("nowait-uring", "threads nowait"),
     ("nowait-uring-open", "threads nowait open"), ("uring", "ck"), ("ck", "threads")],
)  # fmt: skip
def test_another_way_of_reading_than_the_variant_names_is_noticed(start, variant, queue):
    site = start(variant)
    configure(site, queue)
    with pytest.raises(OracleError, match="the counts that moved"):
        site.hooks.oracle(site)


@pytest.mark.parametrize("variant", ["aio-off", "threads", "spsc"])
def test_every_byte_with_sendfile(start, variant):
    start(variant, sendfile="on").run_oracle()


def test_a_disk_that_is_quicker_than_the_look_is_given_time(start, monkeypatch):
    """What was dropped may be back before the look for it in memory ends."""
    forget, asked = hooks._forget, []

    def late(site, path):
        asked.append(path)
        if len(asked) > 3:
            forget(site, path)

    monkeypatch.setattr(hooks, "_forget", late)
    hooks.oracle(start("nowait"))
    assert len(asked) >= 4


def test_every_byte_over_several_disks(start):
    site = start("ck", {"disks": 3})
    site.run_oracle()
    disks = [list((site.folder / "sut" / f"disk{disk}").rglob("*")) for disk in range(3)]
    assert all(disks)


def test_what_is_cold_is_on_the_disk_only(start):
    """The role that fills the cache would fail otherwise; the limits are read back."""
    site = start("nowait", study="stall", readers="64")
    caps = site.processes["sut"].place.caps
    assert (caps.memory_bytes, caps.read_bytes_per_s) == (256 << 20, 40 << 20)


def test_there_are_more_cold_objects_than_readers_get():
    """All that the disk may give, and one that each reader still waits for."""
    stall = catalog.load("cache", "stall")
    every = [*stall.study.scenarios, *stall.study.extended]
    for selected in expand(stall.study.factors, every):
        scenario = planning.scenario_at(stall, selected, {})
        found = scenario.parameters
        given = found["disk_mb_per_s"] * (found["warmup_s"] + found["duration_s"])
        assert given + found["readers"] <= found["cold_count"], scenario.name


@pytest.mark.parametrize(
    ("changed", "refused"),
    [({"duration_s": 20.0}, True), ({"duration_s": 20.0, "cold_count": 1000}, False),
     ({"readers": 300}, True), ({"duration_s": 20.0, "disk_mb_per_s": 0}, False)],
)  # fmt: skip
def test_a_scenario_that_asks_twice_for_cold_objects_is_refused(changed, refused):
    stall = catalog.load("cache", "stall")
    scenario = planning.scenario_at(stall, {}, changed)
    for variant in stall.variants:
        told = levels.unsupported(stall, variant, scenario) or ""
        assert ("-p cold_count" in told) == refused, (variant, told)


def test_sendfile_is_not_claimed_where_nginx_does_not_read():
    for variant in variants:
        words = loaded.variants[variant].properties["queue"].split()
        reads = {"nowait", "uring"} & set(words)
        assert bool(reads) == (why_not("cache/hot", variant, sendfile="on") is not None)
