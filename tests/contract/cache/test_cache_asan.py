"""The module and its queues in an nginx with gcc's address sanitiser: answers, reloads, a full
queue and an end amid reads, and nothing that it finds."""

import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from asking import get, get_all, right
from caches import FEW, OTHERS, QUEUES, loaded

from tare.lab import build, planning
from tare.lab.build import Built
from tare.lab.site import Site
from tare.model.scenario import expand

pytestmark = pytest.mark.contract
QUIET = {"ASAN_OPTIONS": "detect_leaks=0"}
"""nginx leaves its memory to the end of the process."""


@pytest.fixture(scope="module")
def watched(bench):
    """The bench, with the sanitised nginx in the place of the usual one."""
    made = build.component("cache-nginx-asan", print)
    variants = {}
    for name, variant in loaded.variants.items():
        role = variant.roles["sut"].model_copy(update={"env": QUIET})
        variants[name] = variant.model_copy(update={"roles": variant.roles | {"sut": role}})
    built = {
        name: Built(each.components | {"cache-nginx": made}, each.own)
        for name, each in bench.built.items()
    }
    return replace(bench, loaded=replace(loaded, variants=variants), built=built)


@pytest.fixture
def site(watched, tmp_path):
    """Stock threads at first, with a queue that can be filled."""
    (scenario,) = expand(loaded.experiment.factors, [{}])
    changed = FEW | {"pool_threads": 2, "max_queue": 8, "memory_mb": 0}
    parameters = planning.scenario_parameters(
        loaded, loaded.experiment.parameters, scenario, changed
    )
    made = Site(watched, "mutex", parameters, seed=0, name="asan", folder=tmp_path / "site")
    made.start()
    yield made
    assert made.stop() == []


def configure(site, queue: str) -> None:
    file = site.folder / "sut" / "nginx.conf"
    text = re.sub(r"^task_queue .*;$", f"task_queue {queue};", file.read_text(), flags=re.MULTILINE)
    file.write_text(text)
    os.kill(site.processes["sut"].pid, signal.SIGHUP)


def test_nothing_is_found(site):
    site.ask_oracle()
    queues = [loaded.variants[name].properties["queue"] for name in OTHERS]
    for queue in [*queues, *(f"{name} nowait uring" for name in QUEUES)]:
        configure(site, queue)
        time.sleep(1.0)
        size = 300_000
        paths = [f"/any/VIDEO-{number}-{size}" for number in range(8)]
        # More than the queue takes: some are refused, and what is whole is right.
        for path, (status, body) in zip(paths * 8, get_all(site, paths * 8, 32), strict=True):
            assert status in (0, 500) or (status, body) == right(path, size), queue
        assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)
    configure(site, "eventdev-sw nowait")
    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(get, site, f"/any/new-{number}-3000000")
        time.sleep(0.1)
        os.kill(site.processes["sut"].pid, signal.SIGTERM)
    time.sleep(1.0)
    site.processes.pop("sut")
    log = (site.folder / "sut" / "sut.log").read_text()
    assert "Sanitizer" not in log and "runtime error" not in log and "[alert]" not in log, log
