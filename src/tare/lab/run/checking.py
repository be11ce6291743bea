"""Starts variants once each and lets their oracles see them."""

import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

from tare.lab import paths
from tare.lab.errors import TareError, Unavailable
from tare.lab.machine import host
from tare.lab.project.build import Say
from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import prepare
from tare.lab.run import planning
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.site import Site
from tare.model.base import Record

_KEPT_S = 86_400


class Checked(Record):
    """The outcome of checking one variant."""

    name: str
    status: Literal["ok", "failed", "unavailable"]
    detail: str


def check(loaded: Loaded, variants: list[str], say: Say) -> Iterator[Checked]:
    """Yield each variant's outcome as soon as it is known."""
    prepared = prepare(loaded, variants, say)
    paths.cache().mkdir(parents=True, exist_ok=True)
    with _folder() as home:
        cpus = host.assign(host.by_core(), server=1, client=1)
        bench = open_bench(loaded, prepared.built, folder=home, name=home.name, cpus=cpus)
        try:
            for variant in variants:
                name = f"{loaded.name}/{variant}"
                if reason := prepared.unavailable.get(variant):
                    yield Checked(name=name, status="unavailable", detail=reason)
                    continue
                try:
                    reason = prepared.failed.get(variant) or _trouble(bench, variant, home)
                except Unavailable as error:
                    yield Checked(name=name, status="unavailable", detail=str(error))
                    continue
                if not reason:
                    shutil.rmtree(home / variant)
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


def _trouble(bench: Bench, variant: str, home: Path) -> str | None:
    """Return what is wrong with a variant once it is started. Raises Unavailable."""
    loaded = bench.loaded
    parameters = planning.scenario_at(loaded, {}, {}).parameters
    try:
        site = Site(bench, variant, parameters, seed=0, name=variant, folder=home / variant)
        try:
            site.start()
            site.run_oracle()
        finally:
            stubborn = site.stop()
    except Unavailable:
        raise
    except (TareError, OSError) as error:
        return str(error)
    return "; ".join(stubborn) or None
