"""The images hold what they should, and a container of each serves calls."""

import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sandboxes import loaded, program, wait_until, wire

from tare.lab.export import image

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="containers are made by root here")

IMAGES = ("root", "root-debug", "nonroot", "nonroot-debug")
# What Docker gives a container.
USUAL = (
    "CHOWN", "DAC_OVERRIDE", "FSETID", "FOWNER", "MKNOD", "NET_RAW", "SETGID", "SETUID", "SETFCAP",
    "SETPCAP", "NET_BIND_SERVICE", "SYS_CHROOT", "KILL", "AUDIT_WRITE",
)  # fmt: skip


class Unpacked:
    """An archive, unpacked as an engine does it."""

    def __init__(self, archive: Path, folder: Path) -> None:
        self.folder, self.root = folder, folder / "rootfs"
        with tarfile.open(archive) as whole:
            whole.extractall(folder, filter="fully_trusted")
        (named,) = json.loads((folder / "index.json").read_text())["manifests"]
        manifest = json.loads(self._blob(named).read_text())
        self.config = json.loads(self._blob(manifest["config"]).read_text())["config"]
        (layer,) = manifest["layers"]
        with tarfile.open(self._blob(layer)) as files:
            files.extractall(self.root, filter="fully_trusted")

    def _blob(self, named: Any) -> Path:
        return self.folder / "blobs" / str(named["digest"]).replace(":", "/")

    @contextmanager
    def running(
        self, *arguments: str, more: tuple[str, ...] = (), groups: bool = False
    ) -> Iterator["subprocess.Popen[str]"]:
        """A container of it, with Docker's capabilities and `more`, and the host's control groups
        if wanted; no filter of system calls.
        """
        user, group = map(int, self.config["User"].split(":"))
        kept = [f"CAP_{name}" for name in (*USUAL, *more)]
        effective = kept if user == 0 else []
        mounts = [
            {"destination": "/proc", "type": "proc", "source": "proc"},
            {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["mode=755"]},
            {"destination": "/sys", "type": "sysfs", "source": "sysfs", "options": ["ro"]},
        ]
        if groups:
            place = "/sys/fs/cgroup"
            bound = {"type": "bind", "source": place, "options": ["rbind", "rw"]}
            mounts.append({"destination": place, **bound})
        spec = {
            "ociVersion": "1.0.2",
            "process": {
                "args": [*self.config["Entrypoint"], *(arguments or self.config["Cmd"])],
                "user": {"uid": user, "gid": group},
                "env": self.config["Env"],
                "cwd": self.config["WorkingDir"],
                "capabilities": {
                    "bounding": kept, "permitted": effective, "effective": effective,
                },
            },
            "root": {"path": "rootfs"},
            "mounts": mounts,
            "linux": {
                "namespaces": [
                    {"type": kind} for kind in ("pid", "mount", "ipc", "uts", "network")
                ],
            },
        }  # fmt: skip
        (self.folder / "config.json").write_text(json.dumps(spec))
        name = f"tare-test-{os.getpid()}"
        runc = ["runc", "--root", str(self.folder / "state")]
        child = subprocess.Popen(
            [*runc, "run", "--bundle", str(self.folder), name],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            yield child
        finally:
            subprocess.run([*runc, "kill", name, "TERM"], capture_output=True, check=False)
            try:
                child.wait(30)
            finally:
                subprocess.run([*runc, "delete", "-f", name], capture_output=True, check=False)
                child.communicate()


@pytest.fixture(scope="module", params=IMAGES)
def unpacked(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Unpacked]:
    folder = tmp_path_factory.mktemp("image")
    archive = image.export(loaded, request.param, folder, print)
    assert archive.name == f"sandbox-{request.param}.tar"
    made = Unpacked(archive, folder)
    yield made
    shutil.rmtree(folder)


def test_an_image_holds_static_programs_and_a_shell_only_for_debugging(
    request: pytest.FixtureRequest, unpacked: Unpacked
) -> None:
    name = request.node.callspec.params["unpacked"]
    programs = [
        path
        for path in unpacked.root.rglob("*")
        if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"
    ]
    told = subprocess.run(
        ["readelf", "-lW", *map(str, programs)], capture_output=True, text=True, check=True
    ).stdout
    assert len(programs) > 10 and told.count("Program Headers") == len(programs)
    assert "INTERP" not in told
    assert (unpacked.root / "bin" / "sh").exists() == name.endswith("-debug")
    assert unpacked.config["User"] == ("65532:65532" if name.startswith("nonroot") else "0:0")


def test_a_container_serves_calls_and_ends_when_told(
    request: pytest.FixtureRequest, unpacked: Unpacked
) -> None:
    socket = unpacked.root / "tmp" / "tare-sandbox.sock"
    may = "nonroot" not in request.node.callspec.params["unpacked"]
    with unpacked.running(more=("SYS_ADMIN", "SYS_PTRACE") if may else (), groups=may) as container:
        wait_until(
            lambda: socket.exists() or container.poll() is not None, lambda: "not ready", 60.0
        )
        assert container.poll() is None, container.stdout and container.stdout.read()
        user = unpacked.config["User"].split(":")[0]
        asked = [program(), "call", "--socket", str(socket), "--daemon-user", user, "hello"]
        called = subprocess.run(asked, input=b"", capture_output=True, timeout=30, check=True)
        assert called.stdout == wire.bytes_field(1, b"Hello, world!")
    assert container.returncode == 0
    assert not socket.exists()


def test_what_calls_leave_behind_in_a_container_is_collected(unpacked: Unpacked) -> None:
    if unpacked.config["User"] != "0:0":
        pytest.skip("its modules have no processes")
    socket = unpacked.root / "tmp" / "tare-sandbox.sock"
    argv = ("serve", "--mode", "landlock", "--workers", "1", "--load", "udf=/udf/c/attack")
    with unpacked.running(*argv, more=("SYS_ADMIN", "SYS_PTRACE"), groups=True) as container:
        wait_until(
            lambda: socket.exists() or container.poll() is not None, lambda: "not ready", 60.0
        )
        asked = [program(), "call", "--socket", str(socket), "udf"]
        for attack in (b"orphan", b"fork_bomb", b"orphan", b"hello"):
            request = wire.bytes_field(1, attack)
            called = subprocess.run(
                asked, input=request, capture_output=True, timeout=30, check=False
            )
            assert called.returncode == 0, called.stderr
        assert wire.fields(called.stdout)[1] == b"unknown"
    assert container.returncode == 0


def test_what_a_container_may_not_is_refused_in_words(unpacked: Unpacked) -> None:
    with unpacked.running("modes") as container:
        told, _ = container.communicate(timeout=60)
    found = {line.split()[0]: line for line in told.splitlines()}
    assert "works here" in found.pop("wasm")
    assert len(found) > 5
    assert all("unavailable: " in line for line in found.values()), told


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a name as short as Podman wants it."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.skipif(shutil.which("podman") is None, reason="podman is not installed")
def test_podman_takes_an_archive(unpacked: Unpacked, short: Path) -> None:
    (archive,) = unpacked.folder.glob("*.tar")
    podman = ["podman", "--storage-driver", "vfs", "--root", str(short / "root")]
    podman += ["--runroot", str(short / "run")]

    def ask(*arguments: str) -> str:
        done = subprocess.run(
            [*podman, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "localhost/tare/sandbox:" in ask("load", "--input", str(archive))
    (listed,) = json.loads(ask("images", "--format", "json"))
    assert listed["Names"] == [image.reference("sandbox", archive.stem.removeprefix("sandbox-"))]
