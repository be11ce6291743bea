"""The commands that check the types of what experiments bring: their hooks and instruments."""

import sys
from collections.abc import Iterator
from pathlib import Path


def commands(root: Path) -> Iterator[list[str]]:
    """Yield a command for each folder of programs in the experiments below `root`.

    Many are called hooks.py or instrument.py: no two modules of one name can be checked at once.
    A variant's find those of its experiment, as when they run.
    """
    for experiment in sorted(root.glob("experiments/*")):
        for folder in (experiment, *sorted(experiment.glob("variants/*"))):
            if files := sorted(str(file.relative_to(root)) for file in folder.glob("*.py")):
                path = f"MYPYPATH=src:{experiment.relative_to(root)}"
                yield ["env", path, sys.executable, "-m", "mypy", *files]
