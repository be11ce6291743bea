"""Deal the blocks of a plan to benches, and store them in the plan's order.

A block is made whole on one bench, so that each comparison is between trials of one machine.
Decisions are those of a run on one machine: after each block, of all blocks up to it.
"""

import time
from contextlib import closing
from tarfile import TarError
from typing import Any, Protocol

from distributed.scheduler import KilledWorker

from tare.lab.errors import TareError
from tare.lab.machine.ledger import Ledger, sweep
from tare.lab.project.catalog import Loaded
from tare.lab.run.benches import parcel, sources
from tare.lab.run.benches.known import Known, lean
from tare.lab.run.benches.parcel import Parcel
from tare.lab.run.benches.pool import Answer, Pool, opened
from tare.lab.run.run import Watcher
from tare.lab.run.store import Store, write_json
from tare.lab.trial.bench import LEDGER, tag_of
from tare.model.benches import Benches, BlockAsked
from tare.model.trial import Plan
from tare.stats import ending
from tare.stats.stopping import Stop

_LOOK_S = 0.5
_AHEAD = 2
"""Blocks that may be dealt for each bench before the first of them is stored."""
_OF_THE_RUN = ("fingerprint", "versions", "titles", "components", "builds", "differences", "files")
"""Parts of an environment that are one for all benches."""


class Dealer(Watcher, Protocol):
    """An observer that also wants to know how many benches there are."""

    def benches(self, count: int) -> None:
        """So many make blocks now."""


class Coordinator:
    """A plan being carried out by benches."""

    def __init__(
        self,
        loaded: Loaded,
        plan: Plan,
        store: Store,
        benches: Benches,
        watcher: Dealer,
    ) -> None:
        self._plan, self._store, self._benches, self._watcher = plan, store, benches, watcher
        self._sources = sources.digest(loaded)
        self._known = Known(plan, [])
        self._environment: dict[str, Any] = {}
        self._there: set[str] = set()
        self._alone_since = time.monotonic()

    def execute(self) -> None:
        """Have all blocks made that the plan still lacks. Raises TareError and Interrupted."""
        file = self._store.folder / LEDGER
        if not sweep(file):
            raise TareError(f"{self._store.folder} is in use by another process")
        with closing(Ledger(file, tag_of(self._plan.run, self._store.folder), None)):
            self._known.add(self._store.trials())
            self._environment = self._store.environment()
            self._refuse_another_kind()
            for line in self._store.set_aside():
                self._watcher.remark(f"{line}: set aside, and made again where it is lacking")
            self._store.prepare()
            with opened(self._benches) as pool:
                self._deal(pool)
        self._store.finish()

    def _refuse_another_kind(self) -> None:
        """Trials with all roles on one machine would be compared with others. Raises TareError."""
        before = "hosts" in self._environment
        if self._environment and before != bool(self._benches.spread):
            way = "on hosts of their own" if before else "together on one machine"
            raise TareError(
                f"the roles of this run's trials were {way}, and these benches have "
                f"{'no [spread]' if before else 'a [spread]'}; go on with benches as before, or "
                "begin a new run"
            )

    def _deal(self, pool: Pool) -> None:
        dealt: set[int] = set()
        made: dict[int, Parcel | None] = {}
        later, block, decision = 0, 0, Stop.GO_ON
        while decision is Stop.GO_ON:
            self._look(pool)
            ahead = min(block + _AHEAD * len(self._there), self._plan.blocks.max)
            while len(dealt) < len(self._there) and later < ahead:
                if self._known.lacks(later):
                    pool.deal(self._asked(later))
                    dealt.add(later)
                else:
                    made[later] = None
                later += 1
            # One block is stored between two looks, so that benches do not wait for all that came.
            for answer in pool.answers(_LOOK_S if dealt and block not in made else 0):
                if (found := self._taken(pool, answer)) is not None:
                    made[answer.block] = found
                    dealt.remove(answer.block)
                else:
                    pool.deal(self._asked(answer.block))
            if block in made:
                self._keep(made.pop(block))
                block += 1
                decision = ending.stop(self._plan, self._known.stored(), block)
                self._watcher.block(block, decision)

    def _look(self, pool: Pool) -> None:
        """Tell who came and who is gone. Raises TareError when nobody has been there for long."""
        there = set(pool.names())
        for name in sorted(there - self._there):
            self._watcher.remark(f"bench {name} joined")
        for name in sorted(self._there - there):
            self._watcher.remark(f"bench {name} is gone; what it was making is made again")
        self._there = there
        self._watcher.benches(len(there))
        if there:
            self._alone_since = time.monotonic()
        elif time.monotonic() - self._alone_since > self._benches.coordinator.wait_s:
            raise TareError(
                f"no bench was there for {self._benches.coordinator.wait_s:g} s; start one with: "
                f"tare hosts worker NAME FILE, then go on with: tare resume {self._plan.run} "
                "--benches FILE"
            )
        else:
            time.sleep(_LOOK_S)

    def _asked(self, block: int) -> BlockAsked:
        return BlockAsked(
            plan=self._plan,
            block=block,
            known=self._known.useful_for(block),
            sources=self._sources,
            fingerprint=self._environment.get("fingerprint"),
            spread=self._benches.spread,
        )

    def _taken(self, pool: Pool, answer: Answer) -> Parcel | None:
        """Return a block as it was made, or None if its bench makes no more. Raises TareError."""
        try:
            made = answer.made()
        except KilledWorker as error:
            raise TareError(
                f"block {answer.block + 1} was lost with every bench that tried to make it; "
                "nothing that is stored is lost; go on with: "
                f"tare resume {self._plan.run} --benches FILE"
            ) from error
        except Exception as error:
            raise TareError(
                f"block {answer.block + 1} could not be made: {type(error).__name__}: {error}; "
                "nothing that is stored is lost; the bench that had it has said more; go on with: "
                f"tare resume {self._plan.run} --benches FILE"
            ) from error
        refused = made.refused
        if refused is None:
            known = {trial.id for trial in self._known.useful_for(answer.block)}
            found = parcel.open_(made.bench, answer.packed, known)
            if found.fingerprint == self._environment.setdefault("fingerprint", found.fingerprint):
                return found
            refused = f"its builds of {self._plan.experiment} are not those of the other benches"
        self._watcher.remark(f"bench {made.bench} makes no more blocks: {refused}")
        pool.dismiss(made.bench, refused)
        return None

    def _keep(self, found: Parcel | None) -> None:
        """Store a block whole."""
        if found is None:
            return
        self._describe(found)
        # Before its trials: a kill in between costs nothing but making the block again.
        try:
            parcel.keep(found, self._store.folder)
        except (OSError, TarError) as error:
            self._watcher.remark(f"files of bench {found.bench} could not be kept: {error}")
        self._known.add(found.trials)
        if not self._store.append(found.trials):
            self._watcher.remark("a block could not be stored yet: is the disk full?")
        for trial in found.trials:
            self._watcher.ends(lean(trial))

    def _describe(self, found: Parcel) -> None:
        """Keep what the first bench is, and beside it in what each other differs from it."""
        known = self._environment.setdefault("benches", {})
        if found.bench in known:
            return
        for key, item in found.environment.items():
            self._environment.setdefault(key, item)
        known[found.bench] = {
            key: item
            for key, item in found.environment.items()
            if key not in _OF_THE_RUN and item != self._environment[key]
        }
        write_json(self._store.folder / "environment.json", self._environment)
