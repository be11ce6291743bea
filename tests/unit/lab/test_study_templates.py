"""Every role's files and every instrument's spec can be rendered, in every study."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare.lab.machine import host
from tare.lab.project import catalog, levels
from tare.lab.project.build import Built
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import experiment_names, study_names
from tare.lab.run import planning
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.measure import measure
from tare.lab.trial.site import Site

STUDIES = [
    (name, study) for name in experiment_names() for study in study_names(catalog.load(name).folder)
]


@contextlib.contextmanager
def bench(loaded: Loaded, folder: Path) -> Iterator[Bench]:
    """A bench on which everything seems to be built."""
    components = {name: folder / name for name in _components(loaded)}
    built = {name: Built(components, folder / "own") for name in loaded.variants}
    cpus = host.assign(host.by_core(), server=1, client=1)
    found = open_bench(loaded, built, folder=folder, name="templates", cpus=cpus)
    try:
        yield found
    finally:
        found.close()


def _components(loaded: Loaded) -> set[str]:
    every = [loaded.variants[name] for name in loaded.variants]
    return {
        name
        for variant in every
        for name in [
            *variant.components,
            *(each for rule in variant.levels for each in rule.components),
        ]
    }


@pytest.mark.parametrize(("name", "study"), STUDIES)
def test_all_templates_have_their_names(
    name: str, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = []

    class Launched(Exception):
        pass

    def launch(site: Site, role: str, *arguments: Any, **streams: Any) -> None:
        launched.append(role)
        if streams:
            raise Launched

    monkeypatch.setattr(Site, "launch", launch)
    monkeypatch.setattr("tare.lab.trial.site.await_ready", lambda *_: None)
    monkeypatch.setattr(Site, "_make_network", lambda _: None)
    loaded = catalog.load(name, study)
    plan = planning.make(
        loaded, quick=False, variants=None, scenarios=[], blocks=None, seed=1, overrides={}
    )
    analysis = loaded.study.analysis
    dose = {analysis.parameter: 1} if hasattr(analysis, "parameter") else {}
    with bench(loaded, tmp_path) as ground:
        for variant in plan.variants:
            for number, scenario in enumerate(plan.scenarios):
                if levels.unsupported(loaded, variant, scenario):
                    continue
                folder = tmp_path / variant / str(number)
                folder.parent.mkdir(exist_ok=True)
                site = Site(
                    ground, variant, scenario.parameters, seed=1, name=variant, folder=folder
                )
                try:
                    site.start()
                    with pytest.raises(Launched):
                        measure(site, lambda _: None, analysis.window | dose)
                finally:
                    site.stop()
    assert launched
