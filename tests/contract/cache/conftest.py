"""Fixtures of the contract tests of `cache`: the laboratory's own bench and sites."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from benches import opened
from caches import FEW, loaded, variants

from tare.lab import planning
from tare.lab.bench import Bench
from tare.lab.site import Site
from tare.model.scenario import expand


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all variants."""
    folder = tmp_path_factory.mktemp("cache")
    with opened(loaded, variants, folder, server=1, client=1) as found:
        yield found


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
