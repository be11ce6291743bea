"""Starts a variant role by role, as a test wants it: without cgroups, pinning or measuring."""

import os
import re
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tare.lab.machine import ports
from tare.lab.project import build, catalog, render

loaded = catalog.load("filters")
variants = loaded.variants
ATTEMPTS = 5
TOO_LATE = "it ran for more than"
"""A guest has 10 ms by the clock to take its prefix, which a busy machine may take from it."""


class Failed(Exception):
    """A role ended before it was ready; the text is its log."""


class Site:
    """One started variant, as hooks see it."""

    def __init__(self, variant: str, folder: Path, **parameters: Any) -> None:
        self.variant, self.folder, self.host = variant, folder, "127.0.0.1"
        self.address = dict.fromkeys(variants[variant].ports, self.host)
        self.study = loaded.study_name
        self.manifest = variants[variant]
        built = build.variant(loaded, variant, print)
        self.properties = self.manifest.properties
        self.parameters = loaded.study.parameters | parameters
        self.part: dict[str, Path] = {}
        self.tag = f"tare-test-{uuid.uuid4().hex[:12]}"
        self.held = ports.hold(self.host, self.manifest.ports)
        self.port = self.held.numbers
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.env: dict[str, str] = {}
        self.names = {
            **self.parameters,
            **build.names(built.components, built.own),
            "port": self.port,
            "host": self.host,
            "address": self.address,
            "tag": self.tag,
            "properties": self.properties,
            "part": {},
        }

    def render(self, role: str) -> None:
        folders = [loaded.variant_folder(self.variant), loaded.folder]
        (self.folder / role).mkdir(exist_ok=True)
        for file, template in self.manifest.roles[role].files.items():
            text = render.file(template, folders, self._names(role))
            (self.folder / role / file).write_text(text)

    def start(self, *roles: str) -> "Site":
        for name in roles or self.manifest.roles:
            if self.manifest.roles[name].argv:
                self._start(name)
        return self

    def log(self, role: str) -> str:
        return (self.folder / f"{role}.log").read_text(errors="replace")

    def stop(self) -> None:
        for name in reversed(self.processes):
            process = self.processes[name]
            if process.poll() is None:
                process.send_signal(signal.Signals[f"SIG{self.manifest.roles[name].stop_signal}"])
        for process in self.processes.values():
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                # A signal that comes before a server waits for some is forgotten. Its workers would
                # outlive it.
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.processes.clear()

    def argv(self, role: str) -> list[str]:
        """The command of a role."""
        return [
            render.text(item, self._names(role), role) for item in self.manifest.roles[role].argv
        ]

    def _names(self, role: str) -> dict[str, Any]:
        return self.names | {"folder": self.folder / role}

    def _start(self, name: str) -> None:
        role = self.manifest.roles[name]
        self.render(name)
        argv = self.argv(name)
        env = {key: render.text(item, self._names(name), name) for key, item in role.env.items()}
        for attempt in range(1, ATTEMPTS + 1):
            with (self.folder / f"{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    argv,
                    env=os.environ | env | self.env,
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            try:
                wait_until(lambda: self._is_ready(name), f"{name} of {self.variant} is not ready")
            except Failed as failure:
                if TOO_LATE not in str(failure) or attempt == ATTEMPTS:
                    raise
            else:
                return

    def _is_ready(self, name: str) -> bool:
        if self.processes[name].poll() is not None:
            raise Failed(self.log(name))
        ready = self.manifest.roles[name].ready
        if ready is None:
            return True
        if ready.log is not None:
            return re.search(ready.log, self.log(name)) is not None
        return all(self._accepts(port) for port in self.port.values())

    def _accepts(self, port: int) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((self.host, port)) == 0


def wait_until(condition: Callable[[], bool], otherwise: str, timeout_s: float = 60.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.005)
