"""Trials that were made too late for a test that looks after every block.

Such a test takes pairs in the order of their blocks. `resume` makes a spoilt trial again after
later blocks were looked at; in its place, its pair would revise those looks.
"""

from collections.abc import Sequence

from tare.model.trial import Trial


def late(trials: Sequence[Trial]) -> set[str]:
    """Return the names of valid trials that were stored after one of the same label and scenario,
    but of a later block, that was not late itself. `trials` are in the order of their making.

    What is late stays so, and a pair without such trials is the last one when it is made: the
    others are looked at in one order for good.
    """
    found: set[str] = set()
    latest: dict[tuple[str, str], int] = {}
    for trial in trials:
        if trial.status != "valid":
            continue
        where = (trial.scenario, trial.label)
        if trial.block < latest.get(where, 0):
            found.add(trial.id)
        else:
            latest[where] = trial.block
    return found
