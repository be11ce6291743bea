"""Trials that were made too late for a test that looks after every block.

Such a test takes pairs in the order of their blocks. A spoilt trial that is made again after later
blocks were looked at would revise those looks, in its place. `tare resume` therefore leaves it, and
where an earlier tare made it, its pair is left out.
"""

from collections.abc import Iterable, Sequence

from tare.model.trial import Plan, PlannedTrial, Trial


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


def too_late(plan: Plan, planned: PlannedTrial, trials: Iterable[Trial]) -> bool:
    """Return true if the plan's test could not use the planned trial any more, since one of its
    label and scenario counts in a later block.
    """
    return plan.until == "resolved" and any(
        trial.status == "valid"
        and trial.block > planned.block
        and (trial.scenario, trial.label) == (planned.scenario, planned.label)
        for trial in trials
    )
