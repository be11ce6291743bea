"""Starts variants once each and lets their oracles see them."""

import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tare.lab import paths
from tare.lab.errors import TareError, Unavailable
from tare.lab.machine import host
from tare.lab.project.build import Say
from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import prepare
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.site import Site
from tare.model.base import Record
from tare.model.scenario import Scenario
from tare.model.trial import Plan

_KEPT_S = 86_400


class Checked(Record):
    """The outcome of checking one variant."""

    name: str
    status: Literal["ok", "failed", "unavailable"]
    detail: str


def check(
    loaded: Loaded, variants: list[str], say: Say, scenarios: Sequence[Scenario]
) -> Iterator[Checked]:
    """Yield each variant's outcome in these scenarios as soon as it is known."""
    prepared = prepare(loaded, variants, say, scenarios)
    paths.cache().mkdir(parents=True, exist_ok=True)
    with _folder() as home:
        cpus = host.assign(host.by_core(), server=1, client=1)
        bench = open_bench(loaded, prepared.built, folder=home, name=home.name, cpus=cpus)
        try:
            for variant in variants:
                name = f"{loaded.name}/{variant}"
                lacking = [prepared.unavailable_in(each, loaded, variant) for each in scenarios]
                if all(lacking):
                    yield Checked(name=name, status="unavailable", detail=str(lacking[0]))
                    continue
                try:
                    reason = prepared.failed.get(variant)
                    for scenario, lack in zip(scenarios, lacking, strict=True):
                        if not reason and not lack:
                            reason = _trouble(bench, variant, home, scenario)
                except Unavailable as error:
                    yield Checked(name=name, status="unavailable", detail=str(error))
                    continue
                detail = reason or prepared.versions[variant]
                yield Checked(name=name, status="failed" if reason else "ok", detail=detail)
        finally:
            bench.close()


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder that keeps the files of failed variants for a day."""
    for old in paths.cache().glob("check-*"):
        if time.time() - old.stat().st_mtime > _KEPT_S:
            shutil.rmtree(old, ignore_errors=True)
    home = Path(tempfile.mkdtemp(prefix="check-", dir=paths.cache()))
    try:
        yield home
    finally:
        if not any(path.is_dir() for path in home.iterdir()):
            shutil.rmtree(home)


def refuse(plan: Plan, loaded: Loaded, say: Say) -> None:
    """Start each variant of the plan that has a part exchanged, once in each scenario.

    Raises TareError for one that its oracle refuses.
    """
    taking = list(dict.fromkeys(each for own in plan.parts.values() for each in own.variants))
    for found in check(loaded, taking, say, plan.scenarios):
        if found.status == "failed":
            variant = found.name.removeprefix(f"{loaded.name}/")
            own = [f"{name} {e.file}" for name, e in plan.parts.items() if variant in e.variants]
            others = "; leave it out with --variants to measure the others"
            why = found.detail.removeprefix(f"{found.name}: ")
            raise TareError(
                f"{found.name} with {', '.join(own)}: {why}{others if len(taking) > 1 else ''}"
            )


def _trouble(bench: Bench, variant: str, home: Path, scenario: Scenario) -> str | None:
    """Return what is wrong with a variant once it is started, or remove its files.

    Raises Unavailable.
    """
    folder = home / variant
    try:
        site = Site(bench, variant, scenario.parameters, seed=0, name=variant, folder=folder)
        try:
            site.start()
            site.run_oracle()
        finally:
            stubborn = site.stop()
    except Unavailable:
        raise
    except (TareError, OSError) as error:
        return str(error)
    if not stubborn:
        shutil.rmtree(folder)
    return "; ".join(stubborn) or None
