"""Modules that are hostile in ways that only modules can be."""

import hashlib
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from holdings import files
from sandboxes import Refused, Sandbox, wait_until

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="slots have control groups, as root only")

WASI = "wasi_snapshot_preview1"
# Sections by number; types by letter.
TYPE, IMPORT, FUNCTION, TABLE, MEMORY, EXPORT, START, CODE = 1, 2, 3, 4, 5, 7, 8, 10
I32 = b"\x7f"
NOTHING = b"\x60\x00\x00"
CALLED = b"\x60\x04" + I32 * 4 + b"\x01" + I32
# fd_write(3, the buffer at 0, 1, 64): "\x01" to "\xff" of the memory's first page.
READY = (
    b"\x41\x00\x41\xe4\x00\x36\x02\x00"  # the buffer is at 100
    b"\x41\x04\x41\x01\x36\x02\x00"  # and one byte long
    b"\x41\x03\x41\x00\x41\x01\x41\xc0\x00\x10\x01\x1a"
)
ASK = (
    b"\x41\x04\x41\x20\x36\x02\x00"  # the buffer is 32 bytes long
    b"\x41\x03\x41\x00\x41\x01\x41\xc0\x00\x10\x00\x1a"
)


def text(name: str) -> bytes:
    """As names are written."""
    return bytes([len(name)]) + name.encode()


def number(value: int) -> bytes:
    """LEB128 without a sign."""
    digits = b""
    while value > 0x7F:
        digits += bytes([value & 0x7F | 0x80])
        value >>= 7
    return digits + bytes([value])


def section(kind: int, *items: bytes) -> bytes:
    """A section that lists items."""
    body = number(len(items)) + b"".join(items)
    return bytes([kind]) + number(len(body)) + body


def module(body: bytes = b"", *, functions: tuple[bytes, ...] = (), **more: bytes) -> bytes:
    """Says that it is ready, reads its request, and does `body`; `functions` follow `_start`.

    `more` has whole sections beside, or for those that it has itself.
    """
    codes = (READY + ASK + body, *functions)
    lines = [b"\x00" + code + b"\x0b" for code in codes]
    parts = {
        "types": section(TYPE, CALLED, NOTHING),
        "imports": section(
            IMPORT,
            text(WASI) + text("fd_read") + b"\x00\x00",
            text(WASI) + text("fd_write") + b"\x00\x00",
        ),
        "functions": section(FUNCTION, *[b"\x01"] * len(codes)),
        "tables": b"",
        "memories": section(MEMORY, b"\x00\x01"),
        "exports": section(EXPORT, text("memory") + b"\x02\x00", text("_start") + b"\x00\x02"),
        "start": b"",
        "codes": section(CODE, *[number(len(line)) + line for line in lines]),
    }
    return b"\0asm\x01\0\0\0" + b"".join((parts | more).values())


@pytest.fixture
def sandbox(serve: Callable[..., Sandbox]) -> Sandbox:
    return serve("wasm", "--memory-mb", "8", "--deadline-ms", "2000", "--workers", "1")


def load(sandbox: Sandbox, folder: Path, made: bytes) -> str:
    """Load a module as `udf`; what the sandbox says if it refuses."""
    file = folder / "module"
    file.write_bytes(made)
    options = ("--memory-mb", "8", "--deadline-ms", "2000", "--start-ms", "2000", "--workers", "1")
    done = sandbox.cli("load", *options, "udf", str(file), text=True)
    assert (done.returncode == 0) == (done.stderr == "")
    return str(done.stderr)


ENDS = {
    "reads beyond its memory": (module(b"\x41\x70\x28\x02\x00\x1a"), "out of bounds"),
    "writes beyond its memory": (module(b"\x41\x70\x41\x00\x36\x02\x00"), "out of bounds"),
    "calls a function of another type": (
        module(b"\x41\x00\x11\x01\x00", tables=section(TABLE, b"\x70\x00\x01")), "uninitialized",
    ),
    "calls beyond its table": (
        module(b"\x41\x7f\x11\x01\x00", tables=section(TABLE, b"\x70\x00\x01")), "table",
    ),
    "calls itself for ever": (module(b"\x10\x03", functions=(b"\x10\x03",)), "stack"),
    "gives up": (module(b"\x00"), "unreachable"),
    "says nothing": (module(), "exit code 0"),
}  # fmt: skip


@pytest.mark.parametrize("how", ENDS)
def test_what_a_module_may_not_ends_its_call_alone(
    how: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    made, why = ENDS[how]
    assert load(sandbox, tmp_path, made) == ""
    for _ in range(2):
        with pytest.raises(Refused) as refused:
            sandbox.call("udf")
        assert refused.value.kind == "died"
        assert why in refused.value.args[1]
    assert sandbox.stats("udf")["failures"] == {"died": 2}


def test_a_loop_without_memory_meets_the_deadline(sandbox: Sandbox, tmp_path: Path) -> None:
    assert load(sandbox, tmp_path, module(b"\x03\x40\x0c\x00\x0b")) == ""
    with pytest.raises(Refused) as refused:
        sandbox.call("udf")
    assert refused.value.kind == "deadline"


# Counts at 200 of its memory, for longer than a guest runs at a time.
COUNT = (
    b"\x03\x40\x41\x00\x41\x00\x28\x02\xc8\x01\x41\x01\x6a\x36\x02\xc8\x01"
    b"\x41\x00\x28\x02\xc8\x01\x41" + number(1 << 26) + b"\x49\x0d\x00\x0b"
)  # fmt: skip


def test_a_module_that_took_long_to_get_ready_keeps_no_timer(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    assert load(sandbox, tmp_path, module(functions=(COUNT,), start=b"\x08\x01\x03")) == ""
    wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "not ready")
    assert "anon_inode:[timerfd]" not in files(sandbox.process.pid)


def imports(from_: str, name: str, kind: bytes) -> bytes:
    """A module that also wants this: a function of a type (0, type), or memory (2, …)."""
    memory, start = text("memory") + b"\x02\x00", text("_start") + b"\x00"
    more = {"memories": b""} if kind[0] == 2 else {}
    return module(
        imports=section(
            IMPORT,
            text(WASI) + text("fd_read") + b"\x00\x00",
            text(WASI) + text("fd_write") + b"\x00\x00",
            text(from_) + text(name) + kind,
        ),
        exports=section(EXPORT, memory, start + (b"\x02" if kind[0] == 2 else b"\x03")),
        **more,
    )


REFUSED = {
    "a system call": (imports("env", "syscall", b"\x00\x00"), "env.syscall, which is not offered"),
    "a function of another WASI": (imports("wasi_unstable", "fd_read", b"\x00\x00"), "not offered"),
    "one that WASI has not": (imports(WASI, "proc_fork", b"\x00\x00"), "proc_fork"),
    "one of another type": (imports(WASI, "path_open", b"\x00\x01"), "not offered"),
    "the host's memory": (imports("env", "memory", b"\x02\x00\x01"), "env.memory"),
    "more memory than its limit": (
        module(memories=section(MEMORY, b"\x00" + number(1000))), "memory",
    ),
    "memory of 64 bits": (module(memories=section(MEMORY, b"\x04\x01")), "memory64"),
    "shared memory": (module(memories=section(MEMORY, b"\x03\x01\x01")), "shared"),
    "two memories": (module(memories=section(MEMORY, b"\x00\x01", b"\x00\x01")), "memories"),
    "a huge table": (module(tables=section(TABLE, b"\x70\x00" + number(1 << 30))), "table"),
    "nothing to start": (module(exports=section(EXPORT, text("memory") + b"\x02\x00")), "_start"),
    "half of itself": (module()[:-3], "unexpected end"),
    "a loop before its start": (
        module(functions=(b"\x03\x40\x0c\x00\x0b",), start=b"\x08\x01\x03"), "no ready byte within",
    ),
    "a crash before its start": (
        module(functions=(b"\x00",), start=b"\x08\x01\x03"), "unreachable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_can_never_run_is_not_loaded(what: str, sandbox: Sandbox, tmp_path: Path) -> None:
    made, why = REFUSED[what]
    assert why in load(sandbox, tmp_path, made)
    # What is refused takes nothing of the next one's place.
    assert load(sandbox, tmp_path, module()) == ""


def slow() -> bytes:
    """A module of 0.3 MB that takes minutes and gigabytes: many loops over many locals."""
    locals_, loops = 2000, 20000
    body = b"".join(
        b"\x03\x40\x20" + number(index % locals_)
        + b"\x21" + number((index * 7 + 1) % locals_)
        + b"\x20" + number(index * 3 % locals_) + b"\x0d\x00\x0b"
        for index in range(loops)
    )  # fmt: skip
    code = b"\x01" + number(locals_) + I32 + body + b"\x0b"
    return b"\0asm\x01\0\0\0" + b"".join(
        [
            section(TYPE, NOTHING),
            section(FUNCTION, b"\x00"),
            section(CODE, number(len(code)) + code),
        ]
    )


COMPILING = {
    # On a busy machine four times as long passes before.
    "time": (("--compile-s", "1", "--compile-mb", "8192"), "more than (1 s of CPU time|4 s)", "-s"),
    "memory": (("--compile-s", "100", "--compile-mb", "128"), "more than 128 MiB", "-mb"),
}


@pytest.mark.parametrize("limit", COMPILING)
def test_compiling_is_limited(limit: str, serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    options, what, option = COMPILING[limit]
    sandbox = serve("wasm", *options)
    refusal = load(sandbox, tmp_path, slow())
    assert re.search(what, refusal)
    assert f"larger --compile{option}" in refusal
    status = Path(f"/proc/{sandbox.process.pid}/status").read_text()
    peak = re.search(r"VmHWM:\s+(\d+) kB", status)
    # The daemon has not compiled itself.
    assert peak is not None and int(peak[1]) < 100_000
    assert load(sandbox, tmp_path, module(b"\x41\x01\x1a")) == ""
    assert not sandbox.workers()


def test_what_was_compiled_is_kept_whole_and_for_the_daemons_user_alone(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    made = module(b"\x41" + number(os.getpid() % 64) + b"\x1a")
    kept = Path("/run/tare-sandbox/modules")
    name = f"{hashlib.sha256(made).hexdigest()}.*"
    for file in kept.glob(name):
        file.unlink()
    assert load(sandbox, tmp_path, made) == ""
    (file,) = kept.glob(name)
    whole = file.read_bytes()
    assert [path.stat().st_mode & 0o777 for path in (kept, file)] == [0o700, 0o600]
    sandbox.unload("udf")
    made_first = file.stat().st_ino
    assert load(sandbox, tmp_path, made) == ""
    sandbox.unload("udf")
    assert file.stat().st_ino == made_first
    # What was changed is compiled again.
    file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert load(sandbox, tmp_path, made) == ""
    assert file.read_bytes() == whole
