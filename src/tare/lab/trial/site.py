"""A site: one variant, allocated, rendered, started, and taken away again."""

import contextlib
import grp
import os
import pwd
import random
import signal
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tare.lab import interrupt
from tare.lab.errors import HostLost, ManifestError, RoleError, TareError
from tare.lab.machine.hosts.host import Host, Launch
from tare.lab.machine.network import Network
from tare.lab.machine.process import Started
from tare.lab.machine.running import RunningProcess
from tare.lab.paths import ROOT, cache
from tare.lab.project import parts, render
from tare.lab.project.build import names
from tare.lab.project.hooks import Hooks
from tare.lab.trial import asking, caps
from tare.lab.trial.bench import Bench
from tare.lab.trial.generators import Generators
from tare.lab.trial.readiness import await_ready
from tare.lab.trial.rendered import kept
from tare.model.fields import within
from tare.model.role import INSTRUMENT_ROLE, Role

_PAD_MAX = 4095
_ENDING_S = 3.0
"""How long after its connections are gone a process may take to have ended."""
_POLL_S = 0.01


class Site:
    """A started variant. Also what hooks see (`tare.lab.project.hooks.SiteView`)."""

    def __init__(
        self,
        bench: Bench,
        variant: str,
        parameters: Mapping[str, Any],
        *,
        seed: int,
        name: str,
        folder: Path,
        side: str = "",
    ) -> None:
        """Allocate; nothing runs yet. `name` is unique in the run; `folder` is made. `side` tells
        sites apart that stand at the same time.
        """
        self.bench, self.variant, self.seed = bench, variant, seed
        self.study, self.manifest = bench.loaded.study_name, bench.loaded.variants[variant]
        self.properties = self.manifest.properties
        self._network: Network | None = None
        self._apart: set[str] = set()
        self.tag = f"{bench.tag}.{name}"
        self._side = side
        self.folder = folder
        folder.mkdir(parents=True)
        self._random = random.Random(seed)
        self.parameters = render.parameters(parameters)
        self.generators = Generators.of(self.parameters, bench.hosts.loads(), bench.loaded.title)
        self.part = parts.files(bench.loaded, variant)
        self.processes: dict[str, Started | RunningProcess] = {}
        self.rendered: dict[str, str] = {}
        self.hooks = Hooks(
            [bench.loaded.variant_folder(variant), bench.loaded.folder],
            bench.loaded.experiment.hook_timeout_s,
        )
        self.port = self._allocated()

    def names(self, role: str) -> dict[str, Any]:
        """Return the names that a template of `role` may use (docs/FORMAT.md)."""
        built = self.bench.built[self.variant]
        host = self.host_of(role)
        cpus, folder = host.cpus, host.folder(self.folder)
        own = role in self.generators.roles
        client = self.generators.client_cpus(role) if own else cpus.client
        return {
            **self.parameters,
            **names(built.components, built.own),
            "port": self.port,
            "host": self._address(host),
            "address": self.address,
            "folder": str(folder / role),
            "site": str(folder),
            "tag": self.tag,
            "properties": self.properties,
            "cpus": {
                "server": cpus.server,
                "client": client,
                "backend": cpus.backend,
                "support": cpus.support,
                "all": cpus.tested,
            },
            "seed": self.seed,
            "variant": self.manifest.from_ or self.variant,
            "part": {name: str(file) for name, file in self.part.items()},
            "source": str(self.bench.loaded.variant_folder(self.variant)),
            "experiment": self.bench.loaded.name,
            "study": self.study,
            "root": str(ROOT),
            "user": pwd.getpwuid(os.geteuid()).pw_name,
            "group": grp.getgrgid(os.getegid()).gr_name,
        }

    def host_of(self, role: str) -> Host:
        """Return the host of a role."""
        if role in (asking.ROLE, INSTRUMENT_ROLE):
            return self.generators.hosts[0]
        own = role in self.generators.roles
        return self.generators.host_of(role) if own else self.bench.hosts.of(role)

    def write_for(self, roles: Sequence[str], file: str) -> None:
        """Make an empty file in the site's folder on the hosts of roles, as soon as possible."""
        for host in {id(each): each for each in map(self.host_of, roles)}.values():
            host.write(self.folder, file, "")

    @property
    def host(self) -> str:
        """The address of the roles that no host names."""
        return self._address(self.bench.hosts.default)

    @property
    def address(self) -> dict[str, str]:
        """Port → the address that it is on."""
        return {name: self._address(host) for name, host in self._owners().items()}

    def read(self, role: str, file: str) -> bytes:
        """Return what a file of a role's folder holds by now. Raises FileNotFoundError."""
        return self.host_of(role).read(self.folder, f"{role}/{file}")

    def deliver(self, role: str, file: str, content: str) -> str:
        """Write a file for a role, beside the folders of all; return its path there."""
        self._write(file, content)
        return str(self.host_of(role).folder(self.folder) / file)

    def start(self) -> None:
        """Render and start every role in order, each ready before the next. Raises TareError."""
        roles = {
            name: role for name, role in self.manifest.roles.items() if role.argv or role.running
        }
        self._apart = {name for name, role in roles.items() if self._netns(name, role) == "trial"}
        if self._apart:
            self._make_network()
        for name, role in roles.items():
            self._start_role(name, role)

    def run_oracle(self) -> None:
        """Raise what the oracle finds, or the end of a role that had ended by then."""
        try:
            self.hooks.oracle(self)
        except TareError:
            self.ensure_alive()
            raise

    def ask(self) -> dict[str, Any]:
        """Let the instrument send each of the variant's requests once, and return its result with
        the `answers` (docs/FORMAT.md). Raises RoleError and ManifestError.
        """
        instrument, names = self.manifest.instrument, self.names(INSTRUMENT_ROLE)
        where = f"{self.bench.loaded.name}/{self.variant}: instrument"
        argv = [render.text(part, names, where) for part in instrument.argv]
        spec = render.value(instrument.spec, names, where)

        def launch(spec: str) -> Started:
            path = self.deliver(INSTRUMENT_ROLE, "ask.json", spec)
            command = [*argv, "--spec", path]
            return self.launch(asking.ROLE, command, instrument.cpus, {}, piped=True)

        try:
            return asking.ask(launch, spec)
        finally:
            self.processes.pop(asking.ROLE, None)

    def ensure_alive(self, apart: Sequence[str] = ()) -> None:
        """Raise RoleError when a role has ended that is not one of those `apart`."""
        for role, process in self.processes.items():
            if role not in apart:
                process.ensure_alive()

    def accounts(self) -> dict[str, Path]:
        """Return role → the file with the CPU time of its control group, where there are groups
        that the instrument can read.
        """
        instrument = self.host_of(INSTRUMENT_ROLE)
        groups = {
            role: process.place.group
            for role, process in self.processes.items()
            if self.host_of(role) is instrument
        }
        return {role: group.account() for role, group in groups.items() if group is not None}

    def launch(
        self,
        name: str,
        argv: list[str],
        cpus: str,
        env: Mapping[str, str],
        *,
        piped: bool = False,
        spoken_to: bool = False,
    ) -> Started:
        """Start one process of the site on its host, note it there, follow its log. One of its name
        that still runs is killed before. For `piped` and `spoken_to` see `Launch`.
        """
        (self.folder / name).mkdir(exist_ok=True)
        what = replace(
            self._place(name, cpus),
            argv=argv,
            env=self._environment(name, env),
            piped=piped,
            spoken_to=spoken_to,
        )
        # Stopped in the midst of starting it, the site would not know of it.
        with interrupt.held():
            if (former := self.processes.pop(name, None)) is not None:
                former.stop(signal.SIGKILL, 0.0)  # of a window that went wrong
            process = self.host_of(name).start(self.folder, what)
            self.processes[name] = process
        self.bench.journal.write(name, f"started pid {process.pid}: {' '.join(argv)}")
        self.bench.journal.follow(name, what.log)
        return process

    def stop(self) -> list[str]:
        """Stop all roles, last first, and remove what they left; what would not end is named."""
        stubborn = []
        for name, process in reversed(self.processes.items()):
            role = self.manifest.roles.get(name, Role())
            number = signal.Signals[f"SIG{role.stop_signal}"]
            if not process.stop(number, role.stop_timeout_s):
                stubborn.append(
                    f"role {name} did not end on SIG{role.stop_signal} within "
                    f"{role.stop_timeout_s:g} s and was killed"
                )
        self.bench.journal.unfollow(self.folder)
        self._leave_hosts()
        if self._network is not None:
            self._network.remove()
        return stubborn

    def stolen_port(self) -> int | None:
        """Return a port of the stopped site that a process of somebody else has, or None."""
        return next(
            (self.port[name] for name, host in self._owners().items() if self._taken(host, name)),
            None,
        )

    def _folders(self, role: str) -> dict[str, Path]:
        return {"SITE": self.host_of(role).folder(self.folder), "CACHE": cache(), "ROOT": ROOT}

    def _netns(self, name: str, role: Role) -> str:
        where = f"{self.bench.loaded.name}/{self.variant}: role {name}: netns"
        found = render.text(role.netns, self.names(name), where)
        if found not in ("laboratory", "trial"):
            raise ManifestError(f"{where}: found {found!r}, expected 'laboratory' or 'trial'")
        return found

    def _make_network(self) -> None:
        """A namespace of the site's own, where `host` is from now on. Raises Unavailable."""
        self._network = Network(self.tag)
        self.bench.ledger.add_network(self._network)
        self._network.create()

    def _start_role(self, name: str, role: Role) -> None:
        if role.running is not None:
            log = self.folder / f"{name}.log"
            self.processes[name] = RunningProcess(name, role.running, log)
            return
        names = self.names(name)
        variant = f"{self.bench.loaded.name}/{self.variant}"
        where = f"{variant}: role {name}"
        folder = self.folder / name
        folder.mkdir()
        manifest_folders = [
            self.bench.loaded.variant_folder(self.variant),
            self.bench.loaded.folder,
        ]
        for key, template in role.files.items():
            target = _within(render.text(key, names, where), f"{where}: files.{key}")
            content = render.file(render.text(template, names, where), manifest_folders, names)
            self._write(f"{name}/{target}", content)
            self.rendered[f"{name}/{target}"] = kept(content, self._folders(name))
        argv = [render.text(part, names, where) for part in role.argv]
        env = {key: render.text(item, names, where) for key, item in role.env.items()}
        process = self.launch(name, argv, role.cpus, env)
        if role.ready is None:
            return
        try:
            everyone = list(self.processes.values())
            await_ready(self.host_of(name), process, role.ready, names, where, everyone)
        except RoleError as error:
            own = [str(self.folder / key) for key in self.rendered if key.startswith(f"{name}/")]
            hint = f"; its files: {', '.join(own)}" if own else ""
            raise RoleError(f"{variant}: {error}{hint}") from error

    def _place(self, role: str, kind: str) -> Launch:
        """Group, CPUs (`kind` is a template), limits and network of a role's process.

        Raises RoleError, and ManifestError.
        """
        names = self.names(role)
        manifest = self.manifest.roles.get(role, Role())
        where = f"{self.bench.loaded.name}/{self.variant}: {role}"
        allowed = caps.caps(manifest.limits, names, where)
        known, wanted = names["cpus"], render.text(kind, names, f"{where}: cpus")
        if wanted not in known:
            raise RoleError(f"{where}: cpus: found {wanted!r}, expected one of {', '.join(known)}")
        return Launch(
            role=role,
            argv=[],
            env={},
            log=self.folder / role / f"{role}.log",
            group=f"{role}{self._side and '-'}{self._side}",
            priority=manifest.priority,
            cpus=known[wanted],
            caps=allowed,
            network=self._network if role in self._apart else None,
        )

    def _leave_hosts(self) -> None:
        for host in self.bench.hosts.all():
            with contextlib.suppress(HostLost):  # its guardian takes away what is there
                host.end(self.folder, self.tag)

    def _write(self, file: str, content: str) -> None:
        """Write a file for hooks, and for all hosts: a client may send what a server has."""
        (self.folder / file).write_text(content)
        for host in self.bench.hosts.all():
            if host.folder(self.folder) != self.folder:
                host.write(self.folder, file, content)

    def _owners(self) -> dict[str, Host]:
        """Return port → the host of the role that listens on it."""
        roles = {name: role for name, role in self.manifest.roles.items() if role.argv}
        found = {port: self.host_of(name) for name, role in roles.items() for port in role.ports}
        return {port: found.get(port, self.bench.hosts.default) for port in self.manifest.ports}

    def _allocated(self) -> dict[str, int]:
        owners = self._owners()
        found: dict[str, int] = {}
        try:
            for host in self.bench.hosts.all():
                own = [name for name, owner in owners.items() if owner is host]
                found |= host.hold(self.folder, own)
        except TareError:
            self._leave_hosts()
            raise
        return {name: found[name] for name in owners}

    def _taken(self, host: Host, port: str) -> bool:
        try:
            return host.taken(self.port[port])
        except HostLost:
            return False

    def _address(self, host: Host) -> str:
        return self._network.address if self._network is not None else host.address

    def _environment(self, role: str, own: Mapping[str, str]) -> dict[str, str]:
        """A small fixed environment whose size varies by trial: stack layout moves with it."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.host_of(role).folder(self.folder)),
            "LANG": "C.UTF-8",
            "TARE_PAD": "x" * self._random.randint(0, _PAD_MAX),
            **own,
        }


def _within(target: str, where: str) -> str:
    """Return a file's rendered name. Raises ManifestError if it leads out of the role's folder."""
    try:
        return within(target)
    except ValueError as error:
        raise ManifestError(f"{where}: found {target!r}, expected {error}") from error


def blame(sites: Iterable[Site], apart: Sequence[str] = ()) -> None:
    """Raise RoleError when a role of these has ended or is about to: who talks to it notices its
    end before it can be collected. Roles that may end are set `apart`.
    """
    deadline = time.monotonic() + _ENDING_S
    while time.monotonic() < deadline:
        for site in sites:
            site.ensure_alive(apart)
        time.sleep(_POLL_S)
