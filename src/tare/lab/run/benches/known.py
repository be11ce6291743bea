"""The stored trials of a run, by what its coordinator asks of them at every block."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from tare.model.given_up import FAILURES_MAX, needs
from tare.model.trial import Plan, Trial
from tare.stats import blocks
from tare.stats.late import too_late

_NOT_NEEDED: dict[str, Any] = {
    "gates": [],
    "roles": {},
    "machine": {},
    "counters": {},
    "instrument": {},
}


def lean(trial: Trial) -> Trial:
    """Return a stored trial without what no later decision needs, which is most of it; of one that
    does not count, its gates are needed.
    """
    return trial.model_copy(update=_NOT_NEEDED) if trial.status == "valid" else trial


class Known:
    """Stored trials, lean. No question takes longer when there are more of them."""

    def __init__(self, plan: Plan, trials: Iterable[Trial]) -> None:
        self._plan = plan
        self._stored: list[Trial] = []
        self._by_block: dict[int, list[Trial]] = defaultdict(list)
        self._lost: set[tuple[str, str]] = set()
        self._told: Counter[tuple[str, str, str]] = Counter()
        self._useful: list[Trial] = []
        self._latest: dict[tuple[str, str], Trial] = {}
        """Scenario and label → the trial of the latest block that counts."""
        self.add(trials)

    def add(self, trials: Iterable[Trial]) -> None:
        """Take in what was stored just now."""
        for trial in map(lean, trials):
            self._stored.append(trial)
            self._by_block[trial.block].append(trial)
            which = (trial.scenario, trial.label)
            before = self._latest.get(which)
            if trial.status == "valid" and (before is None or before.block < trial.block):
                self._latest[which] = trial
            if trial.status == "unavailable":
                self._lost.add((trial.scenario, trial.variant))
            if trial.status in ("failed", "unavailable"):
                key = (trial.scenario, trial.variant, trial.status)
                self._told[key] += 1
                if self._told[key] <= FAILURES_MAX:
                    self._useful.append(trial)

    def stored(self) -> Sequence[Trial]:
        """Return all of them, in the order in which they were stored."""
        return self._stored

    def of_block(self, block: int) -> list[Trial]:
        """Return all attempts of a block."""
        return self._by_block[block]

    def useful_for(self, block: int) -> list[Trial]:
        """Return what the bench of a block should know: the block's attempts so far, and of other
        blocks as many failures as say that a variant is not tried again.
        """
        own = self.of_block(block)
        return own + [trial for trial in self._useful if trial.block != block]

    def lacks(self, block: int) -> bool:
        """Return true if a planned trial of the block has no attempt that ended it, and could still
        be of use.
        """
        ended = {
            (trial.scenario, trial.label)
            for trial in self.of_block(block)
            if not trial.machine_fault
        }
        return any(
            (planned.scenario, planned.label) not in ended
            and not too_late(self._plan, planned, self._latest.values())
            and not any(
                (planned.scenario, name) in self._lost for name in needs(self._plan, planned.label)
            )
            for planned in blocks.planned_trials(self._plan, block)
        )
