"""The laboratory's own bench for the contract tests of an experiment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tare.lab import host
from tare.lab.bench import Bench, open_bench
from tare.lab.catalog import Loaded
from tare.lab.preparation import prepare


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
