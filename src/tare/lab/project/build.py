"""Builds, cached by content hash: components, and variants' own."""

import fcntl
import hashlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

from tare.lab import interrupt, paths
from tare.lab.errors import BuildError
from tare.lab.project import cargo_lock, catalog, in_use, versions
from tare.model.manifest import Build, Version

Say = Callable[[str], None]
RECEIPT = "built.json"
"""The file that a complete build holds."""
_LONG_S = 60
_SKIPPED = {"README.md", "__pycache__", "target", "component.toml", "variant.toml", "hooks.py"}
_OF_TESTS = {"tests", "fuzz", "examples"}
"""Beside a crate's Cargo.toml; cargo builds no program from them."""


@dataclass(frozen=True)
class Built:
    """The folders of a variant's components and of its own build."""

    components: dict[str, Path] = field(default_factory=dict)
    own: Path | None = None


def component(name: str, say: Say) -> Path:
    """The output folder of a component, built if it is not there. Raises BuildError."""
    manifest = catalog.component(name)
    below = components(manifest.components, say)
    folder = catalog.component_folder(name)
    return _ensure(name, folder, manifest.build, below, say, manifest.version)


def is_built(name: str) -> bool:
    """Return true if a component and all that it is built from are in the cache."""
    manifest = catalog.component(name)
    if not all(is_built(below) for below in manifest.components):
        return False
    below = components(manifest.components, lambda _: None)
    folder = catalog.component_folder(name)
    return _complete(_place(name, folder, manifest.build, below), manifest.build)


def is_variant_built(loaded: catalog.Loaded, name: str) -> bool:
    """Return true if a variant has a build of its own, and it is in the cache."""
    manifest = loaded.variants[name]
    if manifest.build is None or not all(map(is_built, manifest.build.components)):
        return False
    used = components(manifest.build.components, lambda _: None)
    folder = loaded.variant_folder(name)
    return _complete(_place(f"{loaded.name}-{name}", folder, manifest.build, used), manifest.build)


def components(names: Iterable[str], say: Say) -> dict[str, Path]:
    """The output folders of several components."""
    return {name: component(name, say) for name in names}


def variant(loaded: catalog.Loaded, name: str, say: Say) -> Built:
    """Everything that a variant is built from. Raises BuildError."""
    manifest = loaded.variants[name]
    below = components(manifest.components, say)
    if manifest.build is None:
        return Built(below)
    folder = loaded.variant_folder(name)
    used = {key: below[key] for key in manifest.build.components}
    return Built(below, _ensure(f"{loaded.name}-{name}", folder, manifest.build, used, say))


def names(components: dict[str, Path], own: Path | None) -> dict[str, object]:
    """The names under which templates know build outputs."""
    known = {key.replace("-", "_"): str(path) for key, path in components.items()}
    return {"component": known, "build": str(own)}


def version_of(out: Path) -> str:
    """The version that a component answered when it was built."""
    return str(json.loads((out / RECEIPT).read_text())["version"])


def _ensure(
    name: str,
    folder: Path,
    build: Build,
    below: dict[str, Path],
    say: Say,
    version: Version | None = None,
) -> Path:
    out = _place(name, folder, build, below)
    if _taken(out, build):
        return out
    with alone(lambda: say(f"{name}: waiting for another build to end")):
        if not _taken(out, build):
            _make(name, folder, build, below, out, say, version)
            in_use.hold(out / RECEIPT)
    return out


def _place(name: str, folder: Path, build: Build, below: dict[str, Path]) -> Path:
    """Return the folder of a build's output, which need not exist yet."""
    return paths.builds() / f"{name}-{_digest(folder, build, below)[:16]}"


def _make(
    name: str,
    folder: Path,
    build: Build,
    below: dict[str, Path],
    out: Path,
    say: Say,
    version: Version | None,
) -> None:
    kept = "" if paths.IS_CLONE else f" at first use, into {out.parent}"
    long = f", which takes about {build.about_s / 60:.0f} min" if build.about_s >= _LONG_S else ""
    say(f"building {name}{kept}{long} …")
    if out.exists():
        shutil.rmtree(out)
    for left in out.parent.glob("staging-*"):  # of a build that was killed: the lock is ours
        shutil.rmtree(left, ignore_errors=True)
    log = out.with_suffix(".log")
    with tempfile.TemporaryDirectory(prefix="staging-", dir=out.parent) as staging:
        target = Path(staging) / "out"
        target.mkdir()
        environment = os.environ | {
            "TARE_OUT": str(target),
            "TARE_ROOT": str(paths.ROOT),
            "TARE_JOBS": str(len(os.sched_getaffinity(0))),
            "TARE_TARGET": str(paths.target()),
        }
        for key, path in below.items():
            environment[f"TARE_COMPONENT_{key.replace('-', '_').upper()}"] = str(path)
        with log.open("w") as stream:
            try:
                code = run(build.argv, folder, environment, stream)
            except OSError as error:
                raise BuildError(f"building {name}: cannot run {build.argv[0]}: {error}") from error
        missing = [output for output in build.outputs if not (target / output).exists()]
        if code != 0 or missing:
            tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
            what = f"exit code {code}" if code else f"no {', '.join(missing)} was made"
            raise BuildError(f"building {name} failed ({what}); the whole log: {log}\n{tail}")
        receipt = {"name": name}
        if version is not None:
            where = f"{folder / 'component.toml'}: version"
            receipt["version"] = versions.read(version, names(below, target), where)
        (target / RECEIPT).write_text(json.dumps(receipt))
        target.rename(out)
    say(f"built {name}")


def run(argv: list[str], folder: Path, environment: dict[str, str], log: IO[str]) -> int:
    """Build, and return the exit code. Whatever ends the wait early ends the build with all its
    processes. Raises OSError for a program or a folder that is not there.
    """
    child = None
    try:
        # Stopped in the midst of starting it, nobody would know which process to end.
        with interrupt.held():
            child = subprocess.Popen(
                argv,
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        return child.wait()
    except BaseException:
        if child is not None:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise


def _complete(out: Path, build: Build) -> bool:
    return (out / RECEIPT).exists() and all((out / item).exists() for item in build.outputs)


def _taken(out: Path, build: Build) -> bool:
    """Return true for a complete build, which then stays for as long as this process lives."""
    return _complete(out, build) and in_use.hold(out / RECEIPT)


def _digest(folder: Path, build: Build, below: dict[str, Path]) -> str:
    # The time that it takes changes nothing of what is built.
    made_by = build.model_dump_json(exclude={"about_s"})
    parts = [made_by, *(f"{key}={path.name}" for key, path in below.items())]
    parts += [_content(folder), *map(_input, build.inputs)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _input(item: str) -> str:
    file, _, package = item.partition("#")
    return _content(paths.ROOT / file, package)


@cache
def _content(root: Path, package: str = "") -> str:
    if package:
        return cargo_lock.content(root, package)
    total = hashlib.sha256()
    for file in sorted(_files(root)):
        total.update(f"{file.relative_to(root.parent)}\0".encode())
        total.update(hashlib.sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    if not root.is_dir():
        raise BuildError(f"build input {root} does not exist")
    skipped = _SKIPPED | (_OF_TESTS if (root / "Cargo.toml").exists() else set())
    for path in root.iterdir():
        if path.name in skipped or path.name.startswith("."):
            continue
        if path.is_dir():
            yield from _files(path)
        else:
            yield path


@contextmanager
def alone(on_wait: Callable[[], None], folder: Path | None = None) -> Iterator[None]:
    """Let nobody else build, of all that share the cache, in a folder of it; `on_wait` is told if
    somebody does. By default the folder is that of components.
    """
    file = (folder or paths.builds()) / "lock"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield
