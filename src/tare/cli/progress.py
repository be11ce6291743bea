"""Follows a run on standard error: a live line in a terminal, else a plain line a block."""

import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tare.cli.live_line import LiveLine
from tare.cli.output import errors, say
from tare.model.trial import Plan, PlannedTrial, Trial
from tare.report.numbers import span
from tare.stats.blocks import BlockedTrials
from tare.stats.ending import comparisons, earliest_end, granted_s
from tare.stats.rounding import counted
from tare.stats.stopping import Stop

_COUNTING = 10.0
"""Times as long as counting verdicts took that is waited until it is done again."""
_QUICK_S = 0.1
"""Counting that may be done after each block, where blocks come one after the other."""


class Follower:
    """A `tare.lab.run.run.Watcher`."""

    def __init__(self, plan: Plan, per_block: int, before: Sequence[Trial] = ()) -> None:
        """`per_block`: how many trials a block has that can be made; `before`: all made so far."""
        self._plan, self._per_block = plan, per_block
        self._trials = list(before)
        self._since = Counter[str]()
        """Trials since the last block, by status."""
        self._seconds = 0.0
        """What they took."""
        self._blocks = earliest_end(plan)
        self._live = sys.stderr.isatty()
        self._bars = LiveLine(errors(), disable=not self._live)
        total = self._blocks * self._per_block
        self._task = self._bars.add_task("", total=total, known="measuring", where="", rate="")
        self._ended = 0
        self._benches = 1
        self._verdicts = ""
        self._counted_at = self._counting_s = 0.0

    def __enter__(self) -> "Follower":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def remark(self, text: str) -> None:
        """Something a user should know."""
        say(text)

    def benches(self, count: int) -> None:
        """So many blocks are made at a time."""
        self._benches = max(count, 1)

    def begins(self, planned: PlannedTrial, attempt: int) -> None:
        """A trial begins."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        where = f"block {planned.block + 1}, {planned.scenario}, {planned.label}{again}"
        self._bars.update(self._task, where=where, rate="")

    def progress(self, event: Mapping[str, Any]) -> None:
        """The instrument reports."""
        if self._live:
            self._bars.update(self._task, rate=f"{event.get('rate', 0):,.0f}/s")

    def ends(self, trial: Trial) -> None:
        """A trial is stored."""
        self._trials.append(trial)
        if trial.is_other_side:
            return
        if trial.status != "unavailable":
            self._since[trial.status] += 1
            self._seconds += trial.wall_s
        because = f": {trial.reason}" if trial.reason else ""
        if trial.status == "invalid":
            self.remark(f"{trial.id} does not count{because}")
            return
        if trial.status == "unavailable":
            self.remark(f"{trial.id} unavailable{because}")
            return
        self._ended += 1
        self._bars.update(self._task, completed=self._ended)
        if trial.status == "failed":
            self.remark(f"{trial.id} failed{because}")

    def block(self, done: int, decision: Stop) -> None:
        """A block is whole: say what is known so far, and how long the rest takes."""
        self._ended = done * self._per_block
        if self._since and not self._live:
            say(self._told(done, decision))
        if self._live:
            self._bars.update(self._task, known=self._known(decision) or "measuring")
        self._since.clear()
        self._seconds = 0.0
        if decision is Stop.GO_ON and done >= self._blocks:
            self._blocks = done + 1
            self._bars.update(
                self._task,
                completed=self._ended,
                total=self._blocks * self._per_block,
            )

    def _told(self, done: int, decision: Stop) -> str:
        trials = counted(sum(self._since.values()), "trial")
        made = f"{trials} in {span(self._seconds)}"
        refused = f", {self._since['invalid']} refused" if self._since["invalid"] else ""
        rest = self._rest(done) if decision is Stop.GO_ON else ""
        of = f" of {self._blocks}" if done <= self._blocks else ""
        known = self._known(decision)
        return f"block {done}{of}: {made}{refused}{known and f'; {known}'}{rest}"

    def _rest(self, done: int) -> str:
        """Return the time that is left at least, as fast as the last block was."""
        least = max(self._blocks - done, 1) * self._seconds / self._benches
        granted = granted_s(self._plan, self._trials)
        if granted is None or granted >= least:
            return f"; at least {span(least)} left"
        late = ", at this pace too short for a verdict" if done < self._blocks - 1 else ""
        return f"; {span(granted)} left{late}"

    def _known(self, decision: Stop) -> str:
        """Return how many verdicts there are. Counting them takes a tenth of the time at most:
        hundreds of blocks take seconds to count, and benches may make blocks sooner than that.
        """
        began = time.monotonic()
        soon = began - self._counted_at < _COUNTING * self._counting_s
        quick = self._benches == 1 and self._counting_s < _QUICK_S
        if quick or not soon or decision is not Stop.GO_ON:
            self._verdicts = self._counted()
            self._counted_at = time.monotonic()
            self._counting_s = self._counted_at - began
        return self._verdicts

    def _counted(self) -> str:
        """Return how many of the comparisons have a verdict, and how many more the run awaits where
        these are not all: `2 of 8 verdicts, 3 more awaited`; of a gate, how many of its limits are
        decided.
        """
        plan = self._plan
        scenarios = [BlockedTrials(plan, scenario, self._trials) for scenario in plan.scenarios]
        if plan.limits:
            limits = sum(len(each.awaited()) for each in scenarios)
            decided = sum(each.decided() for each in scenarios)
            return f"{decided} of {counted(limits, 'limit')} decided" if limits else ""
        if not (every := comparisons(plan) * len(scenarios)):
            return ""
        known = sum(each.resolved() for each in scenarios)
        open_ = sum(len(each.unresolved()) for each in scenarios)
        more = f", {open_} more awaited" if 0 < open_ < every - known else ""
        return f"{known} of {counted(every, 'verdict')}{more}"
