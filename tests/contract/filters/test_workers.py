"""Counters stay exact over several workers, a reload in the middle and a killed worker."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from harness import variants, wait_until

pytestmark = pytest.mark.contract
FILTERING = [name for name, variant in variants.items() if variant.properties["counters"]]


def workers(site) -> set[int]:
    master = psutil.Process(site.processes["sut"].pid)
    return {child.pid for child in master.children()}


def all_workers(site) -> set[int]:
    """The workers once every one of them was forked, which may be after the port is open."""
    wait_until(lambda: len(workers(site)) == site.parameters["workers"], "a worker is missing")
    return workers(site)


def reload(site) -> None:
    """Reload, and wait until only new workers are left."""
    old = all_workers(site)
    site.processes["sut"].send_signal(signal.SIGHUP)
    wait_until(
        lambda: not old & (now := workers(site)) and len(now) == site.parameters["workers"],
        "the old workers did not make room for new ones",
    )


def send(hooks, site, number: int) -> int:
    """`number` requests of each kind over one connection."""
    wire = hooks.Wire(site.host, site.port["http"])
    for _ in range(number):
        assert wire.request(b"GET /aaaa/x")[0] == 200
        assert wire.request(b"GET /forbidden")[0] == 403
    wire.close()
    return number


@pytest.mark.parametrize("variant", FILTERING)
def test_counts_are_exact_under_concurrency_and_reload(site, hooks, variant):
    started = site(variant, workers=2).start()
    with ThreadPoolExecutor(8) as pool:
        sent = [pool.submit(send, hooks, started, 200) for _ in range(16)]
        reload(started)
        total = sum(one.result() for one in sent)
    assert hooks.counters(started) == {"accepted": total, "rejected": total}


@pytest.mark.parametrize("variant", FILTERING)
def test_a_killed_worker_takes_no_count_with_it(site, hooks, variant):
    started = site(variant, workers=2).start()
    wires = [hooks.Wire(started.host, started.port["http"]) for _ in range(8)]
    for round_number in range(4):
        for wire in wires:
            assert wire.request(b"GET /aaaa")[0] == 200
        if round_number % 2 == 0:
            victim = min(workers(started))
            os.kill(victim, signal.SIGKILL)
            wait_until(
                lambda gone=victim: gone not in workers(started) and len(workers(started)) == 2,
                "the killed worker was not replaced",
            )
    assert hooks.counters(started) == {"accepted": 32, "rejected": 0}
    hooks.oracle(started)
