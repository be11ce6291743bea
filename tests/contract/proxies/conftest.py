"""Fixtures of the contract tests of `proxies`: the laboratory's own bench and sites."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from benches import of_study, opened
from proxies import loaded

from tare.lab.run import planning
from tare.lab.trial.bench import Bench
from tare.lab.trial.site import Site


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all proxies that can be run here."""
    folder = tmp_path_factory.mktemp("proxies")
    with opened(loaded, list(loaded.variants), folder, server=1, client=1, backend=1) as found:
        yield found


@pytest.fixture(scope="session")
def make(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Allocates a variant in the scenario of some levels, with some parameters changed."""
    made: list[Site] = []
    numbers = count()

    def allocate(
        variant: str,
        changed: dict[str, Any] | None = None,
        study: str | None = None,
        **levels: str,
    ) -> Site:
        own = of_study(bench, study)
        parameters = planning.scenario_at(own.loaded, levels, changed or {}).parameters
        number = next(numbers)
        folder = tmp_path_factory.mktemp(f"site-{number}") / "site"
        made.append(Site(own, variant, parameters, seed=number, name=f"{number}", folder=folder))
        return made[-1]

    yield allocate
    for site in made:
        site.stop()


@pytest.fixture
def start(make: Callable[..., Site]) -> Iterator[Callable[..., Site]]:
    """The same, started, and stopped when the test ends."""
    started: list[Site] = []

    def run(*arguments: Any, **levels: str) -> Site:
        started.append(make(*arguments, **levels))
        started[-1].start()
        return started[-1]

    yield run
    for site in started:
        assert site.stop() == []
