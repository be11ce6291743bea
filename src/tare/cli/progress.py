"""Follows a run on standard error: bars in a terminal, plain lines without one."""

import sys
from collections.abc import Mapping
from typing import Any

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from tare.cli.output import errors, say
from tare.model.trial import Plan, PlannedTrial, Trial
from tare.stats.blocks import fewest_blocks
from tare.stats.stopping import Stop


class Follower:
    """A `tare.lab.run.run.Watcher`."""

    def __init__(self, plan: Plan, per_block: int) -> None:
        """`per_block`: how many trials a block has that can be made."""
        self._per_block = per_block
        self._blocks = min(fewest_blocks(plan), plan.blocks.max)
        self._live = sys.stderr.isatty()
        self._bars = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[now]}"),
            console=errors(),
            disable=not self._live,
        )
        total = self._blocks * self._per_block
        self._task = self._bars.add_task("measuring", total=total, now="")
        self._where = ""
        self._ended = 0

    def __enter__(self) -> "Follower":
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def remark(self, text: str) -> None:
        """Something a user should know."""
        self._bars.console.print(f"tare: {text}", markup=False, highlight=False)

    def begins(self, planned: PlannedTrial, attempt: int) -> None:
        """A trial begins."""
        again = f", attempt {attempt}" if attempt > 1 else ""
        self._where = f"block {planned.block + 1}, {planned.scenario}, {planned.label}{again}"
        self._bars.update(self._task, now=self._where)

    def progress(self, event: Mapping[str, Any]) -> None:
        """The instrument reports."""
        if self._live:
            now = f"{self._where}: {event.get('rate', 0):,.0f}/s"
            self._bars.update(self._task, now=now)

    def ends(self, trial: Trial) -> None:
        """A trial is stored."""
        if trial.label != trial.shown_as and trial.status != "failed":
            return  # the other side of its duel speaks for both
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
        elif not self._live:
            planned = self._blocks * self._per_block
            say(f"{self._ended}/{planned} {self._where} ({trial.wall_s:.1f} s)")

    def block(self, done: int, decision: Stop) -> None:
        """A block is whole."""
        self._ended = done * self._per_block
        if decision is Stop.GO_ON and done >= self._blocks:
            self._blocks = done + 1
            self._bars.update(
                self._task,
                description="narrowing",
                completed=self._ended,
                total=self._blocks * self._per_block,
            )
