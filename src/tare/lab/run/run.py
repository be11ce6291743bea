"""The run: blocks of trials until the intervals are narrow, resumable at every trial."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Protocol

from tare.lab import paths
from tare.lab.errors import ManifestError, TareError
from tare.lab.machine import host
from tare.lab.machine.ledger import sweep, sweep_all
from tare.lab.project import gate_limits, parts, render
from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import Prepared, fingerprint
from tare.lab.run import subject
from tare.lab.run.patience import Patience, spoilt
from tare.lab.run.store import Store, write_json
from tare.lab.trial.attempt import Done
from tare.lab.trial.bench import LEDGER, Bench, open_bench
from tare.lab.trial.duel import Opponents, run_duel
from tare.lab.trial.tail import why_spoilt
from tare.lab.trial.trial import run_trial
from tare.model.given_up import absent, given_up, needs, unavailable_baseline
from tare.model.profile import Explained
from tare.model.role import GENERATORS
from tare.model.scenario import Scenario
from tare.model.tail import Tails
from tare.model.trial import Plan, PlannedTrial, Trial
from tare.probes.audit import audit
from tare.probes.identity import identity, revision
from tare.stats import blocks, ending
from tare.stats.late import too_late
from tare.stats.stopping import Stop


class Watcher(Protocol):
    """An observer of a run: the command line."""

    def remark(self, text: str) -> None:
        """Something a user should know."""

    def begins(self, planned: PlannedTrial, attempt: int) -> None:
        """A trial begins."""

    def progress(self, event: Mapping[str, Any]) -> None:
        """The instrument reports."""

    def ends(self, trial: Trial) -> None:
        """A trial is stored."""

    def block(self, done: int, decision: Stop) -> None:
        """A block is whole."""


class Run:
    """A plan being carried out in its folder."""

    def __init__(
        self, loaded: Loaded, plan: Plan, store: Store, prepared: Prepared, watcher: Watcher
    ) -> None:
        self._loaded, self._plan, self._store = loaded, plan, store
        self._prepared, self._watcher = prepared, watcher
        self._scenarios = {scenario.name: scenario for scenario in plan.scenarios}
        self._trials: list[Trial] = []
        self._environment: dict[str, Any] = {}
        self._remarks: list[str] = []
        self._unseen: set[tuple[str, str]] = set()
        """Options and scenarios of which it was said why nothing was seen."""
        self._hosts: dict[str, Any] = {}
        self._patience = Patience(plan.run)
        self._when_back = (
            "nothing measured is lost; when the host is back, go on with: "
            f"tare resume {store.folder.name}"
        )
        """What to do once a host that has gone is there again."""
        self._fingerprint = fingerprint(loaded, prepared)
        if why := prepared.why_not(plan.baseline):
            raise TareError(f"the baseline {plan.baseline} cannot be measured: {why}")

    def execute(self) -> None:
        """Make the trials that the plan still lacks. Raises Interrupted if the user stops it."""
        with self._begun() as bench:
            block, decision = 0, Stop.GO_ON
            while decision is Stop.GO_ON:
                for planned in blocks.planned_trials(self._plan, block):
                    self._fill(bench, planned, self._is_over)
                block += 1
                decision = ending.stop(self._plan, self._trials, block)
                self._watcher.block(block, decision)
        self._store.finish()

    def make_block(self, block: int) -> None:
        """Make the trials that one block still lacks. Raises as `execute`."""
        self._when_back = "when the host is back, start this bench again"
        with self._begun() as bench:
            # What time is left is known where all blocks come together.
            for planned in blocks.planned_trials(self._plan, block):
                self._fill(bench, planned, lambda: False)
        self._store.finish()

    @contextmanager
    def _begun(self) -> Iterator[Bench]:
        """The bench of a run whose folder is this process's, and whose environment is stored."""
        if not sweep(self._store.folder / LEDGER):
            raise TareError(f"{self._store.folder} is in use by another process")
        sweep_all(self._store.folder.parent.glob(f"*/{LEDGER}"))
        self._refuse_change()
        self._trials = self._store.trials()
        for line in self._store.set_aside():
            self._watcher.remark(f"{line}: set aside, and made again where it is lacking")
        self._store.prepare()
        with self._bench() as bench:
            self._describe(bench)
            yield bench

    def _is_over(self) -> bool:
        return ending.is_over(self._plan, self._trials)

    @contextmanager
    def _bench(self) -> Iterator[Bench]:
        plan, allowed = self._plan, os.sched_getaffinity(0)
        cpus = host.assign(
            host.by_core(),
            server=self._most("server_cpus", 1),
            client=self._client_cpus() * self._loads_here(),
            backend=self._most("backend_cpus", 0),
        )
        bench = open_bench(
            self._loaded,
            self._prepared.built,
            folder=self._store.folder,
            name=plan.run,
            cpus=cpus,
            profiler=self._prepared.profiler,
            observer=self._prepared.observer,
        )
        try:
            priority = host.raise_own_priority()
            found = [bench.hierarchy.remark, cpus.remark, priority, bench.local.idle.remark]
            self._remarks = [remark for remark in found if remark]
            os.sched_setaffinity(0, cpus.support)
            with self._with_hosts(bench) as ready:
                for remark in self._remarks:
                    self._watcher.remark(remark)
                    bench.journal.write("tare", remark)
                yield ready
        finally:
            os.sched_setaffinity(0, allowed)
            host.lower_own_priority()
            bench.close()

    @contextmanager
    def _with_hosts(self, bench: Bench) -> Iterator[Bench]:
        """The bench with the hosts of the run's roles, if it has some."""
        if (file := self._store.hosts()) is None:
            yield bench
            return
        from tare.lab.run.hosts.opening import Wanted, opened

        wanted = Wanted(
            file,
            self._plan,
            subject.own_servers(self._store),
            self._fingerprint,
            self._most("server_cpus", 1),
            self._client_cpus(),
            self._most("backend_cpus", 0),
        )
        with opened(bench, wanted, self._watcher.remark) as found:
            # Threads that read from the hosts came with them.
            host.raise_own_priority(host.own_threads())
            self._remarks += found.remarks
            self._hosts = found.described
            yield replace(bench, hosts=found.hosts)

    def _most(self, parameter: str, default: int) -> int:
        """The largest value that any scenario gives the parameter."""
        return max(int(each.parameters.get(parameter, default)) for each in self._plan.scenarios)

    def _client_cpus(self) -> int:
        """The most CPUs that any scenario's generators want on one host."""
        each = [scenario.parameters for scenario in self._plan.scenarios]
        return max(int(own.get("threads", 1)) * int(own.get(GENERATORS, 1)) for own in each)

    def _loads_here(self) -> int:
        """Return how many hosts of the load share the CPUs of this machine; 1 without hosts."""
        if (file := self._store.hosts()) is None:
            return 1
        loads = [file.hosts[name] for name in file.loads]
        return max(1, sum(not (each.ssh or each.cpus) for each in loads))

    def _refuse_change(self) -> None:
        """Trials of two kinds would be compared as one. Raises TareError."""
        before = self._store.environment().get("fingerprint", self._fingerprint)
        if before != self._fingerprint:
            raise TareError(
                f"{self._loaded.folder} or what is built for it has changed since the run "
                f"{self._plan.run} began; begin a new one with: tare run {self._loaded.title} "
                f"--seed {self._plan.seed}"
            )

    def _fill(self, bench: Bench, planned: PlannedTrial, is_over: Callable[[], bool]) -> None:
        """Make the attempts that the planned trial still lacks, as long as the time is not over."""
        scenario = self._scenarios[planned.scenario]
        made = [trial for trial in self._trials if _same(trial, planned)]
        if any(trial.status != "invalid" for trial in made):
            return
        if too_late(self._plan, planned, self._trials):
            return
        if (reason := self._not_now(planned, scenario)) is not None:
            if reason:
                self._note(planned, len(made) + 1, *reason)
            return
        parameters, gates = scenario.parameters, self._loaded.study.gates
        retries = gate_limits.limits(gates, parameters, self._loaded.title).retries
        # All that the machine spoilt was made before this run was resumed.
        spent = sum(not spoilt(trial) for trial in made)
        for attempt in range(len(made) + 1, len(made) + retries + 2 - spent):
            if is_over():
                break
            self._watcher.begins(planned, attempt)
            self._reach(bench, poll=self._polls(parameters))
            ended = self._make(bench, planned, attempt, parameters)
            self._keep(ended)
            if any(d.trial.status != "invalid" or d.trial.is_out_of_range for d in ended):
                break
        attempts = [trial for trial in self._trials if _same(trial, planned)]
        self._patience.see(attempts, self._remarks)

    def _reach(self, bench: Bench, *, poll: bool) -> None:
        """Have all hosts ready for an attempt. Raises TareError when one has gone for good."""
        try:
            for each in bench.hosts.all():
                each.restore()
                each.poll_idle(poll=poll)
        except TareError as error:
            raise TareError(f"{error}\n{self._when_back}") from error

    def _make(
        self, bench: Bench, planned: PlannedTrial, attempt: int, parameters: Mapping[str, Any]
    ) -> list[Done]:
        """Make one attempt: a trial, or both sides of a duel."""
        plan, versions = self._plan, self._prepared.versions
        work, progress = self._store.work, self._watcher.progress
        if plan.pairing == "slices":
            opponents = Opponents(plan.baseline_of(planned.label), versions)
            return run_duel(
                bench,
                planned,
                attempt,
                parameters,
                opponents=opponents,
                seed=plan.seed,
                work=work,
                progress=progress,
            )
        done = run_trial(
            bench,
            planned,
            attempt,
            parameters,
            seed=plan.seed,
            version=versions[planned.variant],
            work=work,
            progress=progress,
        )
        return [done]

    def _polls(self, parameters: Mapping[str, Any]) -> bool:
        where = f"{self._loaded.name}: idle"
        found = render.text(self._loaded.experiment.idle, parameters, where)
        if found not in ("poll", "sleep"):
            raise ManifestError(f"{where}: found {found!r}, expected 'poll' or 'sleep'")
        return found == "poll"

    def _not_now(
        self, planned: PlannedTrial, scenario: Scenario
    ) -> tuple[str, str] | tuple[()] | None:
        """Return None if the planned trial should run, otherwise the status and reason to note, or
        nothing if they were noted before.
        """
        own = [trial for trial in self._trials if trial.scenario == planned.scenario]
        if any((t.status, t.label) == ("unavailable", planned.label) for t in own):
            return ()
        if reason := self._unavailable(planned, scenario):
            return "unavailable", reason
        if planned.label in given_up(self._plan, planned.scenario, own):
            return ()
        if reason := self._prepared.failed.get(planned.variant):
            return "failed", reason
        return None

    def _unavailable(self, planned: PlannedTrial, scenario: Scenario) -> str | None:
        """Return why something that the planned trial needs cannot be had, or None if all can."""
        known = absent(self._trials)
        for name in needs(self._plan, planned.label):
            reason = self._prepared.unavailable_in(scenario, self._loaded, name)
            reason = reason or known.get((planned.scenario, name))
            if name == planned.variant:
                if reason:
                    return reason
            elif reason := reason or self._prepared.failed.get(name):
                return unavailable_baseline(name, reason)
        return None

    def _note(self, planned: PlannedTrial, attempt: int, status: str, reason: str) -> None:
        own = {"id": planned.attempt_id(attempt), "attempt": attempt}
        head = planned.model_dump() | own | {"status": status, "reason": reason}
        trial = Trial.model_validate(head | {"started": self._plan.created, "wall_s": 0.0})
        self._keep([Done(trial, {}, {})])

    def _keep(self, made: Sequence[Done]) -> None:
        """Store what was made together, so that a resumed run finds all of it or nothing."""
        trials = [done.trial for done in made]
        self._trials += trials
        if not self._store.append(trials):
            names = " and ".join(trial.id for trial in trials)
            self._watcher.remark(f"{names} could not be stored yet: is the disk full?")
        for done in made:
            self._keep_files(done)

    def _keep_files(self, done: Done) -> None:
        trial = done.trial
        try:
            self._store.keep_histograms(trial, done.histograms)
            self._keep_looks(done)
            self._store.clear_work(trial)
            self._remember_files(trial, done.rendered)
        except OSError as error:
            self._watcher.remark(f"{trial.id}: files could not be kept: {error}")
        self._watcher.ends(trial)

    def _keep_looks(self, done: Done) -> None:
        """Keep what was seen of processes; say once why nothing was, or too little."""
        tails = done.tails
        if isinstance(done.explained, Explained):
            self._store.keep_profile(done.trial, done.explained)
        if isinstance(tails, Tails):
            self._store.keep_tails(done.trial, tails)
            tails = why_spoilt(tails)
        for option, found in (("--why", done.explained), ("--tail", tails)):
            where = (option, done.trial.scenario)
            if isinstance(found, str) and where not in self._unseen:
                self._unseen.add(where)
                self._watcher.remark(f"{option}: {done.trial.id}: {found}")

    def _describe(self, bench: Bench) -> None:
        before = self._store.environment()
        self._environment = {
            **audit(bench.cpus.server),
            **identity(self._store.folder),
            "revision": revision(paths.ROOT),
            "builds": self._prepared.builds(),
            "control_groups": bench.hierarchy.kind,
            "cpus": {
                "server": bench.cpus.server,
                "client": bench.cpus.client,
                "backend": bench.cpus.backend,
                "support": bench.cpus.support,
            },
            "remarks": [*parts.remarks(self._plan.parts), *self._remarks],
            "parts": {name: own.model_dump() for name, own in self._plan.parts.items()},
            "titles": {name: self._loaded.variants[name].title for name in self._prepared.versions},
            "versions": self._prepared.versions,
            "components": self._prepared.component_versions(),
            "fingerprint": self._fingerprint,
            "differences": self._differences(),
            # Of a run that goes on: files as rendered, and the machines that made blocks before.
            **({"hosts": self._hosts} if self._hosts else {}),
            **{key: kept for key in ("benches", "files") if (kept := before.get(key))},
        }
        self._environment.setdefault("files", {})
        write_json(self._store.folder / "environment.json", self._environment)

    def _differences(self) -> dict[str, Any]:
        """Return variant → the descriptions of its levels, where its manifest has some."""
        known = self._loaded.variants
        return {
            name: known[name].differences for name in self._plan.variants if known[name].differences
        }

    def _remember_files(self, trial: Trial, rendered: Mapping[str, str]) -> None:
        """Keep the configuration of the first trial of each variant and scenario."""
        key = f"{trial.variant} {trial.scenario}"
        if rendered and key not in self._environment["files"]:
            self._environment["files"][key] = dict(rendered)
            write_json(self._store.folder / "environment.json", self._environment)


def _same(trial: Trial, planned: PlannedTrial) -> bool:
    return (trial.block, trial.scenario, trial.label) == (
        planned.block,
        planned.scenario,
        planned.label,
    )
