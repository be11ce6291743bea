"""Make one block in a process of its own: `python -m tare.lab.run.benches.block FOLDER BLOCK`.

Its priority and its CPUs are those of a run, and nothing of it outlives it. It ends when its
standard input does, so that it does not outlive the bench either.
"""

import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.lab import interrupt
from tare.lab.errors import Interrupted, TareError
from tare.lab.project.preparation import prepare, with_observers
from tare.lab.run import subject
from tare.lab.run.run import Run
from tare.lab.run.store import Store
from tare.model.trial import PlannedTrial, Trial
from tare.stats.stopping import Stop


class _Quiet:
    """A watcher that passes on remarks only: the coordinator tells the rest."""

    def remark(self, text: str) -> None:
        _say(text)

    def begins(self, planned: PlannedTrial, attempt: int) -> None:
        pass

    def progress(self, event: Mapping[str, Any]) -> None:
        pass

    def ends(self, trial: Trial) -> None:
        pass

    def block(self, done: int, decision: Stop) -> None:
        pass


def main(folder: Path, block: int) -> None:
    """Make what the run in `folder` lacks of the block. Raises TareError and Interrupted."""
    store = Store(folder)
    plan = store.plan()
    loaded = subject.of(store, plan)
    prepared = prepare(loaded, plan.variants, _say, plan.scenarios)
    prepared = with_observers(prepared, _say, why=plan.why, tail=plan.tail)
    Run(loaded, plan, store, prepared, _Quiet()).make_block(block)


def _say(text: str) -> None:
    print(f"tare: {text}", file=sys.stderr, flush=True)


def _end_with_input() -> None:
    # Not through sys.stdin, whose lock would be held when the interpreter ends.
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    try:
        with interrupt.raising():
            threading.Thread(target=_end_with_input, daemon=True).start()
            main(Path(sys.argv[1]), int(sys.argv[2]))
    except Interrupted:
        sys.exit(130)
    except (TareError, OSError) as error:
        _say(str(error))
        sys.exit(1)
