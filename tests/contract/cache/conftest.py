"""Fixtures of the contract tests of `cache`: the laboratory's own bench and sites."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from benches import of_study, opened
from caches import FEW, PEERS, loaded, variants

from tare.lab.project import build
from tare.lab.project.build import Built
from tare.lab.run import planning
from tare.lab.trial.bench import Bench
from tare.lab.trial.site import Site

Start = Callable[..., Site]


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for all variants."""
    folder = tmp_path_factory.mktemp("cache")
    with opened(loaded, [*variants, *PEERS], folder, server=1, client=1) as found:
        yield found


@pytest.fixture
def start(bench: Bench, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """A variant in the scenario of some levels, with few objects and some parameters changed."""
    yield from _starts(bench, tmp_path_factory)


@pytest.fixture
def start_of(
    bench: Bench, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Start]]:
    """The same with the nginx of another component, and something in its environment."""
    chosen = []

    def choose(component: str, env: dict[str, str] | None = None) -> Start:
        chosen.append(_starts(_with(bench, component, env or {}), tmp_path_factory))
        return next(chosen[-1])

    yield choose
    for each in chosen:
        assert next(each, None) is None


def _starts(bench: Bench, folders: pytest.TempPathFactory) -> Iterator[Start]:
    started: list[Site] = []
    numbers = count()

    def run(
        variant: str,
        changed: dict[str, Any] | None = None,
        *,
        begin: bool = True,
        study: str | None = None,
        **levels: str,
    ) -> Site:
        own = of_study(bench, study)
        scenario = planning.scenario_at(own.loaded, levels, FEW | (changed or {}))
        parameters = scenario.parameters
        number = next(numbers)
        folder = folders.mktemp("site") / "site"
        name = f"{folder.parent.name}-{number}"
        started.append(Site(own, variant, parameters, seed=number, name=name, folder=folder))
        if begin:
            started[-1].start()
        return started[-1]

    yield run
    for site in started:
        assert site.stop() == []


def _with(bench: Bench, component: str, env: dict[str, str]) -> Bench:
    made = build.component(component, print)
    changed = {}
    for name, variant in loaded.variants.items():
        role = variant.roles["sut"].model_copy(update={"env": env})
        changed[name] = variant.model_copy(update={"roles": variant.roles | {"sut": role}})
    built = {
        name: Built(each.components | {"cache-nginx": made}, each.own)
        for name, each in bench.built.items()
    }
    return replace(bench, loaded=replace(loaded, variants=changed), built=built)
