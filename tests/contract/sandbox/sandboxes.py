"""Starts sandboxes as a test wants them, and talks to them as a client does."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tare.lab.project import build, catalog, requirements
from tare.lab.project.hooks import _module

loaded = catalog.load("sandbox")
MODES = sorted(loaded.variants)
# The experiment's own codec: what it calls _name is wire.name here.
wire: Any = SimpleNamespace(
    **{
        name.removeprefix("_"): item
        for name, item in vars(_module(loaded.folder / "hooks.py")).items()
    }
)
PATIENCE_S = 60.0
FIRST_USER = 2_000_000_000
"""Of the slots: `FIRST_USER` in the runtime's numbers.rs."""
# Modes whose workers are no processes of the host.
WITHIN = {"wasm", "gvisor-shared"}
# Those whose workers are processes of a kernel in user space, all in one sandbox.
AROUND = {"gvisor-shared"}
# Languages whose functions are built for themselves.
LANGUAGES_APART = {"cpp", "go"}
# Modes that need a tenth of a second or more to start a worker.
SLOW = {"gvisor", "gvisor-shared", "runc"}
# Primes up to n: https://oeis.org/A006880 and its neighbours.
PRIMES = {100_000: 9592, 500_000: 41538, 1_000_000: 78498, 5_000_000: 348513, 10_000_000: 664579}


@cache
def _components() -> Any:
    return build.variant(loaded, "none", print).components


def program() -> str:
    """The built daemon, which is its own client."""
    return str(_components()["sandbox-runtime"] / "bin" / "tare-sandbox")


def udf(name: str, language: str = "c") -> Path:
    """A built function."""
    own = language in LANGUAGES_APART
    folder = apart(f"sandbox-udfs-{language}") if own else _components()["sandbox-udfs"]
    return Path(folder) / language / name


def built(folder: Path, text: str, *compiler: str) -> Path:
    """A function of one's own, in C."""
    source, made = folder / "own.c", folder / "own"
    source.write_text(text)
    include = loaded.folder / "udf" / "include"
    argv = [*compiler, "-O2", "-I", str(include), "-o", str(made), str(source)]
    subprocess.run(argv, check=True)
    return made


@cache
def apart(component: str) -> Path:
    """A component that only some levels need, and what it requires."""
    requirements.meet(catalog.component(component).requires, print)
    return build.component(component, print)


def as_it_runs(mode: str, argument: str) -> str:
    """An argument that names a built function, for `wasm` a module of the same name instead."""
    if mode != "wasm":
        return argument
    modules = build.variant(loaded, "wasm", print).components["sandbox-udfs-wasm"]
    for language in LANGUAGES_APART:
        if f"/sandbox-udfs-{language}-" in argument:
            program, module = (str(apart(f"sandbox-udfs-{one}{language}")) for one in ("", "wasm-"))
            return argument.replace(program, module)
    return argument.replace(str(_components()["sandbox-udfs"]), str(modules))


@cache
def environment(mode: str) -> dict[str, str]:
    """The daemon's: with the programs on its PATH that the mode's variant brings."""
    components = build.variant(loaded, mode, print).components
    own = [str(folder / "bin") for name, folder in components.items() if name == "runsc"]
    return os.environ | {"PATH": os.pathsep.join([*own, os.environ["PATH"]])}


class Refused(Exception):
    """The sandbox gave no response; its kind of failure, and a sentence."""

    @property
    def kind(self) -> str:
        """One word."""
        return str(self.args[0])


class Sandbox:
    """A daemon."""

    def __init__(
        self, mode: str, folder: Path, *options: str, around: tuple[str, ...] = ()
    ) -> None:
        """Start it, by a program `around` it that becomes it, if there is one."""
        if mode == "runc":
            wait_until(few_uncollected, lambda: "nobody collects what killed daemons left")
        self.mode, self.socket, self.log = mode, str(folder / "sock"), folder / "log"
        argv = [*around, program(), "serve", "--mode", mode, "--socket", self.socket]
        argv += [as_it_runs(mode, option) for option in options]
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, env=environment(mode)
            )
        wait_until(
            lambda: "serving in" in self.log.read_text() or self.process.poll() is not None,
            lambda: self.log.read_text(),
        )
        assert self.process.poll() is None, self.log.read_text()

    def cli(self, command: str, *arguments: str, **more: Any) -> "subprocess.CompletedProcess[Any]":
        """`tare-sandbox COMMAND`, its outputs captured."""
        argv = [program(), command, "--socket", self.socket]
        argv += [as_it_runs(self.mode, argument) for argument in arguments]
        more = {"capture_output": True, "timeout": PATIENCE_S, "check": False} | more
        return subprocess.run(argv, **more)

    def load(self, name: str, file: Path, *options: str) -> None:
        """Load a binary; AssertionError with what the sandbox says if it cannot."""
        done = self.cli("load", *options, "--", name, str(file), text=True)
        assert done.returncode == 0, done.stderr

    def unload(self, name: str) -> None:
        """Unload a binary after the calls under way."""
        done = self.cli("unload", name, text=True)
        assert done.returncode == 0, done.stderr

    def call(self, name: str, request: bytes = b"", deadline_ms: int = 0) -> dict[int, Any]:
        """Call a binary: the fields of its response. Raises Refused."""
        return dict(wire.fields(self.call_raw(name, request, deadline_ms)))

    def call_raw(self, name: str, request: bytes, deadline_ms: int = 0) -> bytes:
        """As `call`, with the response as it is."""
        ask = wire.bytes_field(1, name.encode()) + wire.bytes_field(2, request)
        ask += wire.number_field(3, deadline_ms)
        reply = wire.fields(wire.request(self.socket, wire.bytes_field(2, ask)))
        if 2 in reply:
            refusal = wire.fields(reply[2])
            raise Refused(refusal[1].decode(), refusal[2].decode())
        return bytes(wire.fields(reply[1]).get(1, b""))

    def stats(self, name: str) -> dict[str, Any]:
        """Statistics of a handle."""
        return dict(json.loads(self.cli("stats").stdout)["handles"][name])

    def broker(self) -> int | None:
        """The daemon's process that has its clients, where another one starts workers."""
        for child in children(self.process.pid):
            with contextlib.suppress(OSError):
                if b"\0--broker\0" in Path(f"/proc/{child}/cmdline").read_bytes():
                    return child
        return None

    def own(self) -> list[int]:
        """The daemon's processes, its workers apart."""
        broker = self.broker()
        return [self.process.pid] if broker is None else [self.process.pid, broker]

    def descriptors(self) -> int:
        """How many the daemon has open."""
        return sum(len(list(Path(f"/proc/{each}/fd").iterdir())) for each in self.own())

    def workers(self) -> list[int]:
        """Processes that the daemon started, and those that these started, its own apart."""
        own = self.own()
        return [each for each in descendants(self.process.pid) if each not in own]

    def stop(self) -> int:
        """Ask it to end; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """End it at once."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


class Decoys:
    """What attacks reach for: a process, a secret file, a port, sockets with names, a folder."""

    def __init__(self, folder: Path) -> None:
        folder.chmod(0o777)
        # Files that only a mode keeps from workers, not the permissions of pytest's folders.
        for above in folder.parents:
            if above.name.startswith(("pytest-", "test_")):
                above.chmod(above.stat().st_mode | 0o011)
        self.folder = folder
        self.secret = folder / "secret"
        self.secret.write_text("secret")
        self.secret.chmod(0o644)
        self.process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.name = f"tare-decoy-{os.getpid()}"
        self.abstract.bind(b"\0" + self.name.encode())
        self.abstract.listen(64)
        self.mailboxes = [
            mailbox(str(folder / "datagrams")),
            mailbox(f"\0{self.name}-datagrams"),
        ]

    def request(self, attack: str) -> bytes:
        """What the attacking function is to be told."""
        text, number = wire.bytes_field, wire.number_field
        return bytes(
            text(1, attack.encode())
            + number(2, self.process.pid)
            + text(3, str(self.secret).encode())
            + number(4, self.listener.getsockname()[1])
            + text(5, self.name.encode())
            + text(6, str(self.folder).encode())
        )

    def close(self) -> None:
        """Take them away."""
        self.process.kill()
        self.process.wait()
        self.listener.close()
        self.abstract.close()
        for each in self.mailboxes:
            each.close()


def mailbox(name: str) -> socket.socket:
    """A socket that anybody may send datagrams to."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    made.bind(name)
    if not name.startswith("\0"):
        Path(name).chmod(0o777)
    return made


@contextmanager
def decoys(folder: Path) -> Iterator[Decoys]:
    """Decoys for a while."""
    made = Decoys(folder)
    try:
        yield made
    finally:
        made.close()


def children(pid: int) -> list[int]:
    """Living processes that one started."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        # Some threads end meanwhile.
        with contextlib.suppress(OSError):
            found += map(int, (task / "children").read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    """Living processes below one."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parent = int(stat.rpartition(")")[2].split()[1])
            below.setdefault(parent, []).append(int(entry.name))
    found, next_ones = [], [pid]
    while next_ones:
        children = below.get(next_ones.pop(), [])
        found += children
        next_ones += children
    return found


def named_like_workers() -> set[int]:
    """Every process on the machine that runs a function: its command line is `udf 3`."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and (entry / "cmdline").read_bytes() == b"udf\x003\x00":
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def groups(pid: int) -> list[Path]:
    """Control groups of a daemon."""
    own = re.compile(rf"tare-sandbox.*\.{pid}\..*")
    # Passes over the groups of others that are taken away meanwhile.
    every = os.walk("/sys/fs/cgroup")
    return [Path(at, name) for at, names, _ in every for name in names if own.fullmatch(name)]


def wait_until(
    condition: Callable[[], bool], otherwise: Callable[[], str], timeout_s: float = PATIENCE_S
) -> None:
    """Poll until it holds."""
    give_up = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < give_up, otherwise()
        time.sleep(0.005)


def few_uncollected() -> bool:
    """Whether few ended processes of any slot's user wait for init to collect them.

    They count for RLIMIT_NPROC, which runc's functions have, and tests kill many daemons.
    """
    waiting: Counter[int] = Counter()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            user = process.stat().st_uid
            if user >= FIRST_USER and "State:\tZ" in (process / "status").read_text():
                waiting[user] += 1
    return max(waiting.values(), default=0) < 4


def checksum(count: int) -> int:
    """What `sort` must answer, made with another algorithm."""
    state, items, total = 1, [], 0
    for _ in range(count):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
        items.append(state)
    for item in sorted(items):
        total = (total * 31 + item) % (1 << 64)
    return total
