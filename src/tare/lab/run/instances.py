"""Variants that `tare up` started and left running: begun, found again, read, taken down."""

import contextlib
import fcntl
import os
import shutil
import signal
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tare.lab import paths
from tare.lab.errors import RoleError, TareError
from tare.lab.machine import host
from tare.lab.machine.cgroup import Group
from tare.lab.machine.ledger import sweep
from tare.lab.machine.proc import ended, session_pids, start_time
from tare.lab.machine.process import last_words
from tare.lab.project import render
from tare.lab.project.build import Say
from tare.lab.project.catalog import Loaded, load
from tare.lab.project.hooks import Hooks
from tare.lab.project.preparation import Prepared, prepare
from tare.lab.run import planning
from tare.lab.run.store import write_json
from tare.lab.trial.bench import LEDGER, open_bench
from tare.lab.trial.site import Site
from tare.model.base import Record
from tare.model.manifest import Counters
from tare.probes.cpu import CpuTime, of_processes

_POLL_S = 0.02


class InstanceRole(Record):
    """One process left running."""

    pid: int
    start: int
    stop_signal: str
    stop_timeout_s: float
    kind: str
    groups: dict[str, str]
    log: Path

    def alive(self) -> bool:
        """Return true if the process that leads the role still runs."""
        return start_time(self.pid) == self.start and not ended(self.pid)

    def pids(self) -> list[int]:
        """All its living processes."""
        if self.groups:
            return self._group().pids()
        return session_pids(self.pid, self.start)

    def cpu_time(self) -> CpuTime:
        """CPU time of all its processes so far."""
        return self._group().cpu_time() if self.groups else of_processes(self.pids())

    def _group(self) -> Group:
        return Group(self.kind, {key: Path(folder) for key, folder in self.groups.items()})


class Instance(Record):
    """A variant that is up; also what its hooks see (`tare.lab.project.hooks.SiteView`)."""

    experiment: str
    study: str
    variant: str
    started: str
    overrides: dict[str, Any]
    parameters: dict[str, Any]
    properties: dict[str, Any]
    host: str
    address: dict[str, str]
    port: dict[str, int]
    tag: str
    folder: Path
    part: dict[str, Path] = {}
    """Part → the copy of the user's own file in its place."""
    files: dict[str, str] = {}
    """Part → that file."""
    variants_dir: Path | None = None
    builds: list[Path] = []
    """What it was built from, which stays for as long as it is up."""
    roles: dict[str, InstanceRole]
    try_lines: list[str]

    @property
    def name(self) -> str:
        """EXPERIMENT/VARIANT."""
        return f"{self.experiment}/{self.variant}"

    def ensure_alive(self, names: Collection[str] | None = None) -> None:
        """Raise RoleError, with the last lines of its log, for a role, of those that are named, or
        else of all, whose process has ended by itself, and TareError if all was taken down.
        """
        for name, role in self.roles.items():
            if (names is None or name in names) and not role.alive():
                if not is_left(self):
                    raise TareError(f"{self.name} was taken down meanwhile")
                raise RoleError(
                    f"{self.name}: role {name} has ended, though nobody took it down"
                    f"{last_words(role.log)}\n"
                    f"tare logs {self.name} shows more, tare restart {self.name} starts it again"
                )

    def read(self, role: str, file: str) -> bytes:
        """Return what a file of a role's folder holds. Raises FileNotFoundError."""
        return (self.folder / role / file).read_bytes()

    def counters(self) -> tuple[dict[str, int], Counters]:
        """The variant's own counters, and their kinds."""
        loaded = load(self.experiment, outside=self.variants_dir)
        folders = [loaded.variant_folder(self.variant), loaded.folder]
        hooks = Hooks(folders, loaded.experiment.hook_timeout_s)
        return hooks.counters(self), loaded.experiment.counters


@dataclass(frozen=True)
class Launch:
    """A variant that is ready to be started: its parameters are checked, and it is built."""

    loaded: Loaded
    variant: str
    overrides: Mapping[str, Any]
    own: dict[str, Any]
    """The overrides as they were checked."""
    prepared: Prepared

    @property
    def name(self) -> str:
        """EXPERIMENT/VARIANT."""
        return f"{self.loaded.name}/{self.variant}"


def ready(loaded: Loaded, variant: str, overrides: Mapping[str, Any], say: Say) -> Launch:
    """Check and build all that it takes to start a variant. Raises TareError."""
    loaded.choose([variant])
    own = planning.checked(loaded, overrides)
    prepared = prepare(loaded, [variant], say)
    if why := prepared.why_not(variant):
        raise TareError(f"{loaded.name}/{variant} cannot be started: {why}")
    return Launch(loaded, variant, overrides, own, prepared)


def refuse_second(experiment: str, variant: str) -> None:
    """Raise TareError if a variant is up already."""
    known = find(experiment, variant)
    if known is not None and any(role.alive() for role in known.roles.values()):
        raise TareError(f"{known.name} is up already; tare down {known.name} takes it down")


def up(launch: Launch) -> Instance:
    """Start a variant, let its oracle see it, and leave it running. Raises TareError."""
    with _alone(launch.loaded.name, launch.variant):
        refuse_second(launch.loaded.name, launch.variant)
        if (ended := find(launch.loaded.name, launch.variant)) is not None:
            _take_down(ended)
        return _up(launch)


def restart(known: Instance, launch: Launch) -> Instance:
    """Take an instance down, and start it as it is launched. Raises TareError."""
    with _alone(known.experiment, known.variant):
        if find(known.experiment, known.variant) != known:
            raise TareError(f"{known.name} was taken down or started anew by another process")
        _take_down(known)
        try:
            return _up(launch)
        except TareError as error:
            raise TareError(
                f"{launch.name} was taken down and did not come up again: {error}"
            ) from error


def _up(launch: Launch) -> Instance:
    loaded, variant, overrides = launch.loaded, launch.variant, launch.overrides
    prepared, own = launch.prepared, launch.own
    home = _home(loaded.name, variant)
    if not sweep(home / LEDGER):
        raise TareError(f"{launch.name} is being started by another process")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    bench = open_bench(
        loaded,
        prepared.built,
        folder=home,
        name=f"up-{loaded.name}-{variant}",
        cpus=host.assign(host.by_core(), server=1, client=1),
    )
    parameters = planning.scenario_at(loaded, {}, overrides).parameters
    try:
        site = Site(bench, variant, parameters, seed=0, name="site", folder=home / "site")
        site.start()
        _run_oracle(site)
        instance = _instance(loaded, site, own)
        write_json(home / "state.json", instance)
    except BaseException:
        bench.close()
        raise
    bench.ledger.leave()
    return instance


def down(instance: Instance) -> list[str] | None:
    """Stop every role, last first, and remove all that they left but their logs; what had to be
    killed is named. None if another process took it down, or started it anew.
    """
    with _alone(instance.experiment, instance.variant):
        if find(instance.experiment, instance.variant) != instance:
            return None
        return _take_down(instance)


def is_left(instance: Instance) -> bool:
    """Return true if an instance is as `up` left it; wait while another process takes it down."""
    home = _home(instance.experiment, instance.variant)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return find(instance.experiment, instance.variant) == instance


@contextlib.contextmanager
def _alone(experiment: str, variant: str) -> Iterator[None]:
    """Have no other process start or stop the variant meanwhile. Raises TareError if one does."""
    home = _home(experiment, variant)
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_name(f"{home.name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TareError(
                f"another process starts or stops {experiment}/{variant} just now; "
                "wait for it, then try again"
            ) from None
        yield


def _take_down(instance: Instance) -> list[str]:
    killed = []
    for name, role in reversed(instance.roles.items()):
        if role.alive() and not _ended(role):
            killed.append(name)
    home = _home(instance.experiment, instance.variant)
    sweep(home / LEDGER)
    kept = home.with_name(f"{home.name}.logs")
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for name, role in instance.roles.items():
        if role.log.is_file():
            shutil.move(role.log, kept / f"{name}.log")
    shutil.rmtree(home, ignore_errors=True)
    kept.rename(home)
    return killed


def kept_logs(experiment: str, variant: str) -> dict[str, Path]:
    """Return the log of each role of a variant that is down, from when it was up last."""
    return {file.stem: file for file in sorted(_home(experiment, variant).glob("*.log"))}


def find(experiment: str, variant: str) -> Instance | None:
    """The variant, if it was left running. Raises TareError for notes that cannot be read."""
    state = _home(experiment, variant) / "state.json"
    return _read(state) if state.is_file() else None


def all_instances() -> list[Instance]:
    """Everything that `up` left running, by name. Raises TareError as `find` does."""
    return [_read(state) for state in sorted(paths.instances().glob("*/*/state.json"))]


def _read(state: Path) -> Instance:
    try:
        return Instance.model_validate_json(state.read_text())
    except ValueError as error:
        sweep(state.parent / LEDGER)
        state.unlink()
        raise TareError(
            f"{state} could not be read, so its processes were stopped and it was removed: {error}"
        ) from error


def _run_oracle(site: Site) -> None:
    try:
        site.run_oracle()
    except RoleError:
        raise
    except TareError as error:
        name = f"{site.bench.loaded.name}/{site.variant}"
        raise TareError(f"{name} starts, but its oracle refuses it: {error}") from error


def _instance(loaded: Loaded, site: Site, overrides: dict[str, Any]) -> Instance:
    where = f"{loaded.name}/{site.variant}: try_lines"
    built = site.bench.built[site.variant]
    roles = {}
    for name, process in site.processes.items():
        group = process.place.group
        manifest = site.manifest.roles[name]
        roles[name] = InstanceRole(
            pid=process.pid,
            start=start_time(process.pid) or 0,
            stop_signal=manifest.stop_signal,
            stop_timeout_s=manifest.stop_timeout_s,
            kind=group.kind if group else "none",
            groups={key: str(path) for key, path in group.folders.items()} if group else {},
            log=process.log,
        )
    return Instance(
        experiment=loaded.name,
        study=loaded.study_name,
        variant=site.variant,
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        overrides=overrides,
        parameters=site.parameters,
        properties=dict(site.properties),
        host=site.host,
        address=site.address,
        port=site.port,
        tag=site.tag,
        folder=site.folder,
        part=site.part,
        files={name: own.file for name, own in loaded.parts.items()},
        variants_dir=loaded.outside,
        builds=[*built.components.values(), *([built.own] if built.own else [])],
        roles=roles,
        try_lines=[render.text(line, site.names("sut"), where) for line in site.manifest.try_lines],
    )


def _ended(role: InstanceRole) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(role.pid, signal.Signals[f"SIG{role.stop_signal}"])
    give_up = time.monotonic() + role.stop_timeout_s
    while role.alive():
        if time.monotonic() > give_up:
            return False
        time.sleep(_POLL_S)
    return True


def _home(experiment: str, variant: str) -> Path:
    return paths.instances() / experiment / variant
