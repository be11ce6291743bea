"""Starts a variant by hand from its manifests: what the laboratory does, without measuring."""

import hashlib
import os
import re
import signal
import socket
import subprocess
import time
import tomllib
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jinja2

from tare.model.manifest import Component, Experiment, Variant

ROOT = Path(__file__).resolve().parents[3]
EXPERIMENT = ROOT / "experiments" / "filters"
CACHE = Path(os.environ.get("TARE_CACHE", "/tmp/tare-contract"))
INSTRUMENT = "load"  # built elsewhere, and not needed to check what a variant decides


class Failed(Exception):
    """A role ended before it was ready; the text is its log."""


def merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = merge(below, value) if both else value
    return merged


experiment = Experiment.model_validate(tomllib.loads((EXPERIMENT / "experiment.toml").read_text()))
variants = {
    path.parent.name: Variant.model_validate(
        merge(experiment.variants, tomllib.loads(path.read_text()))
    )
    for path in sorted(EXPERIMENT.glob("variants/*/variant.toml"))
}


def component(name: str) -> Path:
    folder = ROOT / "components" / name
    manifest = Component.model_validate(tomllib.loads((folder / "component.toml").read_text()))
    return build(folder, manifest)


def build(folder: Path, manifest: Component | Variant) -> Path:
    """The output folder, cached by the content of all that goes into it."""
    if manifest.build is None:
        return CACHE
    components = {name: component(name) for name in manifest.components if name != INSTRUMENT}
    inputs = [folder, *(ROOT / name for name in manifest.build.inputs)]
    digest = hashlib.sha256(repr(sorted(components.values())).encode())
    for file in sorted(file for path in inputs for file in [path, *path.rglob("*")]):
        if file.is_file() and file.name != "README.md":
            digest.update(str(file.relative_to(ROOT)).encode() + file.read_bytes())
    out = CACHE / f"{folder.name}-{digest.hexdigest()[:16]}"
    if all((out / name).exists() for name in manifest.build.outputs):
        return out
    out.mkdir(parents=True, exist_ok=True)
    places = {
        f"TARE_COMPONENT_{key.replace('-', '_').upper()}": value
        for key, value in components.items()
    }
    environment = (
        os.environ
        | {name: str(path) for name, path in places.items()}
        | {
            "TARE_OUT": str(out),
            "TARE_JOBS": "2",
            "TARE_ROOT": str(ROOT),
            "TARE_TARGET": str(CACHE / "target"),
        }
    )
    done = subprocess.run(
        manifest.build.argv, cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return out


class Site:
    """One started variant, as hooks see it."""

    def __init__(self, variant: str, folder: Path, **parameters: Any) -> None:
        self.variant, self.folder, self.host = variant, folder, "127.0.0.1"
        self.manifest = variants[variant]
        self.properties = self.manifest.properties
        self.parameters = experiment.parameters | parameters
        self.tag = f"tare-test-{uuid.uuid4().hex[:12]}"
        self.port = {name: _free_port() for name in self.manifest.ports}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self.env: dict[str, str] = {}
        self.names = self.parameters | {
            "component": {
                name.replace("-", "_"): component(name)
                for name in self.manifest.components
                if name != INSTRUMENT
            },
            "build": build(EXPERIMENT / "variants" / variant, self.manifest),
            "port": self.port,
            "host": self.host,
            "tag": self.tag,
            "properties": self.properties,
        }

    def render(self, role: str) -> None:
        loader = jinja2.FileSystemLoader([EXPERIMENT / "variants" / self.variant, EXPERIMENT])
        environment = jinja2.Environment(loader=loader, undefined=jinja2.StrictUndefined)
        (self.folder / role).mkdir(exist_ok=True)
        for file, template in self.manifest.roles[role].files.items():
            text = environment.get_template(template).render(self._names(role))
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
                process.kill()
                process.wait()
        self.processes.clear()

    def _names(self, role: str) -> dict[str, Any]:
        return self.names | {"folder": self.folder / role}

    def _start(self, name: str) -> None:
        role = self.manifest.roles[name]
        self.render(name)
        argv = [jinja2.Template(item).render(self._names(name)) for item in role.argv]
        with (self.folder / f"{name}.log").open("wb") as log:
            self.processes[name] = subprocess.Popen(
                argv, env=os.environ | self.env, stdin=subprocess.PIPE, stdout=log, stderr=log
            )
        wait_until(lambda: self._is_ready(name), f"{name} of {self.variant} is not ready")

    def _is_ready(self, name: str) -> bool:
        if self.processes[name].poll() is not None:
            raise Failed(self.log(name))
        ready = self.manifest.roles[name].ready
        if ready is None:
            return True
        if ready.log is not None:
            return re.search(ready.log, self.log(name)) is not None
        with socket.socket() as probe:
            return probe.connect_ex((self.host, self.port["http"])) == 0


def wait_until(condition: Any, otherwise: str, timeout_s: float = 10.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, otherwise
        time.sleep(0.005)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
