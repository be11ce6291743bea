"""Fixtures of the contract tests of `cache`: the laboratory's own bench and sites."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from caches import FEW, loaded

from tare.lab import host, planning
from tare.lab.bench import Bench, open_bench
from tare.lab.preparation import prepare
from tare.lab.site import Site
from tare.model.scenario import expand


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all variants."""
    folder = tmp_path_factory.mktemp("cache")
    prepared = prepare(loaded, list(loaded.variants), print)
    assert not prepared.failed
    cpus = host.assign(host.by_core(), server=1, client=1)
    found = open_bench(
        loaded, prepared.built, folder=folder, tag=f"tare-test-{folder.name}", cpus=cpus
    )
    yield found
    found.close()


@pytest.fixture
def start(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """A variant in the scenario of some levels, with few objects and some parameters changed."""
    started: list[Site] = []
    numbers = count()

    def run(variant: str, changed: dict[str, Any] | None = None, **levels: str) -> Site:
        (scenario,) = expand(loaded.experiment.factors, [levels])
        known = loaded.experiment.parameters
        parameters = planning.scenario_parameters(loaded, known, scenario, FEW | (changed or {}))
        number = next(numbers)
        folder = tmp_path_factory.mktemp("site") / "site"
        name = f"{folder.parent.name}-{number}"
        started.append(Site(bench, variant, parameters, seed=number, name=name, folder=folder))
        started[-1].start()
        return started[-1]

    yield run
    for site in started:
        assert site.stop() == []
