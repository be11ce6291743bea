"""The laboratory's own bench for the contract tests of an experiment."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tare.lab.machine import host
from tare.lab.project import catalog, levels
from tare.lab.project.catalog import Loaded
from tare.lab.project.hooks import Answered, Window
from tare.lab.project.preparation import prepare
from tare.lab.run import planning
from tare.lab.trial.bench import Bench, open_bench
from tare.model.instrument import Result


@contextmanager
def opened(loaded: Loaded, variants: list[str], folder: Path, **cpus: int) -> Iterator[Bench]:
    """A bench with the built variants, on so many CPUs for each kind of role; closed at the end."""
    prepared = prepare(loaded, variants, print)
    assert not prepared.failed
    found = open_bench(
        loaded,
        prepared.built,
        folder=folder,
        name=f"test-{folder.name}",
        cpus=host.assign(host.by_core(), **cpus),
    )
    try:
        yield found
    finally:
        found.close()


def of_study(bench: Bench, study: str | None) -> Bench:
    """The same bench for another study of its experiment."""
    return replace(bench, loaded=catalog.load(bench.loaded.name, study)) if study else bench


def answered(own: dict[str, Any] | None = None, **fields: Any) -> Answered:
    """What an instrument may have answered in one window: these fields of a result."""
    head = {"event": "result", "schema": 1, "instrument": "test", "window_s": 1.0, "outcomes": {}}
    result = Result.model_validate(head | fields)
    return Answered(result, [Window(own or {}, result)])


def why_not(target: str, variant: str, **changed: str) -> str | None:
    """Why a variant is not measured at these levels of EXPERIMENT/STUDY, on any machine."""
    loaded = catalog.load(*target.split("/"))
    scenario = planning.scenario_at(loaded, dict(changed), {})
    return levels.unsupported(loaded, variant, scenario)
