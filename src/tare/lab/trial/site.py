"""A site: one variant, allocated, rendered, started, and taken away again."""

import grp
import os
import pwd
import random
import re
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tare.lab import interrupt
from tare.lab.errors import ManifestError, RoleError, TareError
from tare.lab.machine import listening, ports
from tare.lab.machine.ledger import remove_shared_memory
from tare.lab.machine.network import Network
from tare.lab.machine.process import Place, Process, wait_until
from tare.lab.machine.running import RunningProcess
from tare.lab.paths import ROOT, cache
from tare.lab.project import parts, render
from tare.lab.project.build import names
from tare.lab.project.hooks import Hooks
from tare.lab.trial import asking, caps
from tare.lab.trial.bench import Bench
from tare.lab.trial.rendered import kept
from tare.model.fields import within
from tare.model.role import INSTRUMENT_ROLE, Ready, Role

HOST = "127.0.0.1"
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
        self.host = HOST
        self._network: Network | None = None
        self._apart: set[str] = set()
        self.tag = f"{bench.tag}.{name}"
        self._side = side
        self.folder = folder
        folder.mkdir(parents=True)
        self._random = random.Random(seed)
        self._held = ports.hold(HOST, self.manifest.ports)
        self.port = self._held.numbers
        self.parameters = render.parameters(parameters)
        self.part = parts.files(bench.loaded, variant)
        self.processes: dict[str, Process | RunningProcess] = {}
        self.rendered: dict[str, str] = {}
        self.hooks = Hooks(
            [bench.loaded.variant_folder(variant), bench.loaded.folder],
            bench.loaded.experiment.hook_timeout_s,
        )

    def names(self, role: str) -> dict[str, Any]:
        """Return the names that a template of `role` may use (docs/FORMAT.md)."""
        built = self.bench.built[self.variant]
        cpus = self.bench.cpus
        return {
            **self.parameters,
            **names(built.components, built.own),
            "port": self.port,
            "host": self.host,
            "folder": str(self.folder / role),
            "site": str(self.folder),
            "tag": self.tag,
            "properties": self.properties,
            "cpus": {
                "server": cpus.server,
                "client": cpus.client,
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

    def place(self, role: str, kind: str) -> Place:
        """Group, CPUs (`kind` is a template), limits and network of a role.

        Raises RoleError, and ManifestError.
        """
        names = self.names(role)
        manifest = self.manifest.roles.get(role, Role())
        where = f"{self.bench.loaded.name}/{self.variant}: {role}"
        allowed = caps.caps(manifest.limits, names, where)
        known, wanted = names["cpus"], render.text(kind, names, f"{where}: cpus")
        if wanted not in known:
            raise RoleError(f"{where}: cpus: found {wanted!r}, expected one of {', '.join(known)}")
        network = self._network if role in self._apart else None
        group = f"{role}{self._side and '-'}{self._side}"
        return Place(
            self.bench.hierarchy.role(self.bench.tag, group, manifest.priority),
            known[wanted],
            allowed,
            network,
        )

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

        def launch(argv: list[str]) -> Process:
            return self.launch(asking.ROLE, argv, instrument.cpus, {}, stdout=subprocess.PIPE)

        try:
            return asking.ask(launch, argv, spec, self.folder)
        finally:
            self.processes.pop(asking.ROLE, None)

    def ensure_alive(self) -> None:
        """Raise RoleError when a role has ended."""
        for process in self.processes.values():
            process.ensure_alive()

    def accounts(self) -> dict[str, Path]:
        """Return role → the file with the CPU time of its control group, where there are groups."""
        groups = {role: process.place.group for role, process in self.processes.items()}
        return {role: group.account() for role, group in groups.items() if group is not None}

    def blame(self) -> None:
        """Raise RoleError when a role has ended or is about to: who talks to it notices its end
        before it can be collected.
        """
        deadline = time.monotonic() + _ENDING_S
        while time.monotonic() < deadline:
            self.ensure_alive()
            time.sleep(_POLL_S)

    def launch(
        self, name: str, argv: list[str], cpus: str, env: Mapping[str, str], **streams: Any
    ) -> Process:
        """Start one process of the site, note it in the ledger, follow its log."""
        folder = self.folder / name
        folder.mkdir(exist_ok=True)
        log = folder / f"{name}.log"
        place = self.place(name, cpus)
        # Stopped in the midst of starting it, the site would not know of it.
        with interrupt.held():
            process = Process(
                name,
                argv,
                folder=folder,
                env=self._environment(env),
                log=log,
                place=place,
                enrol=self.bench.ledger.add_session,
                **streams,
            )
            self.processes[name] = process
        self.bench.journal.write(name, f"started pid {process.pid}: {' '.join(argv)}")
        self.bench.journal.follow(name, log)
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
        self.bench.journal.unfollow()
        remove_shared_memory(self.tag)
        if self._network is not None:
            self._network.remove()
        self._held.release()
        return stubborn

    def stolen_port(self) -> int | None:
        """Return a port of the stopped site that a process of somebody else has, or None."""
        return next((port for port in self.port.values() if ports.taken(HOST, port)), None)

    def _folders(self) -> dict[str, Path]:
        return {"SITE": self.folder, "CACHE": cache(), "ROOT": ROOT}

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
        self.host = self._network.address

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
            (folder / target).write_text(content)
            self.rendered[f"{name}/{target}"] = kept(content, self._folders())
        argv = [render.text(part, names, where) for part in role.argv]
        env = {key: render.text(item, names, where) for key, item in role.env.items()}
        process = self.launch(name, argv, role.cpus, env)
        if role.ready is None:
            return
        try:
            self._await(process, role.ready, names, where)
        except RoleError as error:
            files = ", ".join(str(self.folder / key) for key in self.rendered)
            hint = f"; its files: {files}" if files else ""
            raise RoleError(f"{variant}: {error}{hint}") from error

    def _await(self, process: Process, ready: Ready, names: dict[str, Any], where: str) -> None:
        ports = [int(render.text(port, names, where)) for port in (*ready.tcp, *ready.udp)]
        takes = self._accepts if ready.tcp else self._is_bound
        paths = [render.text(path, names, where) for path in ready.unix]
        for path in paths:
            listening.refuse_long(path)
        wanted = render.text(ready.path or "", names, where)

        def accepts() -> bool:
            # A server opens one port after the other.
            return all(takes(port) for port in ports)

        def exists() -> bool:
            return Path(wanted).exists()

        def logged() -> bool:
            return re.search(ready.log or "", process.log.read_text(errors="replace")) is not None

        def connects() -> bool:
            return all(map(listening.accepts, paths))

        holds = accepts if ports else connects if paths else exists if ready.path else logged
        if not wait_until(holds, list(self.processes.values()), ready.timeout_s):
            port = next((port for port in ports if not takes(port)), None)
            deaf = next((path for path in paths if not listening.accepts(path)), None)
            what = (
                f"port {port}"
                if port
                else f"socket {deaf}"
                if deaf
                else wanted or f"{ready.log!r} in its log"
            )
            raise RoleError(
                f"role {process.role} was not ready within {ready.timeout_s:g} s "
                f"({what}){process.last_words()}"
            )

    def _accepts(self, port: int) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1)
            return probe.connect_ex((self.host, port)) == 0

    def _is_bound(self, port: int) -> bool:
        return listening.bound(self.host, port)

    def _environment(self, own: Mapping[str, str]) -> dict[str, str]:
        """A small fixed environment whose size varies by trial: stack layout moves with it."""
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.folder),
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
