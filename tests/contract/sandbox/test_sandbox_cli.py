"""The command line says what happened, and what to do about it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sandboxes import (
    MODES,
    Sandbox,
    as_it_runs,
    environment,
    loaded,
    program,
    udf,
    wait_until,
    wire,
)


def fails(*arguments: str) -> str:
    """What the program says when it cannot."""
    done = subprocess.run(
        [program(), *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode != 0
    return done.stderr


def test_a_sandbox_is_used_from_a_shell(mode: str, serve: Callable[..., Sandbox]) -> None:
    sandbox = serve(mode)
    assert sandbox.cli("load", "--workers", "2", "hi", str(udf("hello"))).returncode == 0
    called = sandbox.cli("call", "--times", "hi", input=b"")
    assert called.stdout == wire.bytes_field(1, b"Hello, world!")
    assert [line.split()[0] for line in called.stderr.splitlines()] == [
        b"wait",
        b"send",
        b"execute",
    ]
    stats = json.loads(sandbox.cli("stats").stdout)
    assert stats["mode"] == mode
    assert stats["handles"]["hi"]["ok"] == 1
    assert set(stats["handles"]["hi"]["phases"]) == {"wait", "send", "execute", "reap", "refill"}
    first, second = (
        json.loads(sandbox.cli("stats", "--anew").stdout)["handles"]["hi"]["phases"]["execute"]
        for _ in range(2)
    )
    assert first["p50_us"] > 0
    assert second == first | {"p50_us": 0.0, "p99_us": 0.0, "max_us": 0.0}
    assert sandbox.cli("unload", "hi").returncode == 0
    assert "no binary is loaded" in sandbox.cli("call", "hi", text=True, input="").stderr
    assert sandbox.stop() == 0


def test_what_cannot_be_loaded_is_refused_with_the_remedy(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    sandbox = serve(mode, "--load", f"hi={udf('hello')}")
    text = tmp_path / "script"
    text.write_text("#!/bin/sh\nexit 0\n")
    refusals = {
        ("x", str(text)): "no 64-bit little-endian ELF file",
        ("x", str(tmp_path / "absent")): "absent",
        ("hi", str(udf("hello"))): "unload it first",
        ("x" * 257, str(udf("hello"))): "expected at most 256",
        ("x", str(udf("hello")), "--files", "1"): "expected 8 to 128",
        ("x", str(udf("hello")), "--files", "4000"): "expected 8 to 128",
    }
    if mode != "none":
        remedy = "wasm32-wasip1" if mode == "wasm" else "-static"
        refusals[("x", sys.executable)] = remedy
    for arguments, why in refusals.items():
        done = sandbox.cli("load", *arguments, text=True)
        assert done.returncode == 1
        assert why in done.stderr, done.stderr


def test_a_daemon_that_cannot_start_says_why(serve: Callable[..., Sandbox], tmp_path: Path) -> None:
    socket = str(tmp_path / "s")
    assert "expected one of" in fails("serve", "--socket", socket, "--mode", "magic")
    load = ("serve", "--socket", socket, "--mode", "none", "--load")
    assert "NAME=FILE" in fails(*load, "hello")
    assert "absent" in fails(*load, "x=/absent")
    assert "tare-sandbox serve" in fails("stats", "--socket", socket)
    other = serve("none")
    assert "another sandbox serves here" in fails(
        "serve", "--socket", other.socket, "--mode", "none"
    )
    assert other.cli("stats").returncode == 0


LACKING = [
    # A root who may not do this, and what cannot be set up without.
    ("none", "all", "cannot make the control group"),
    ("landlock", "setuid", "become the slot's user"),
    ("namespaces", "setuid", "become the slot's user"),
    ("namespaces", "sys_admin", "namespaces of its own"),
    ("roma", "sys_admin", "namespaces of its own"),
    ("roma-original", "all", "cannot make the control group"),
    ("gvisor", "sys_admin", "namespaces of its own"),
    ("bwrap", "setuid", "become the slot's user"),
    ("crun", "sys_admin", "namespaces of its own"),
    ("runc", "sys_admin", "namespaces of its own"),
    ("kvm", "setuid", "become the slot's user"),
]


@pytest.mark.parametrize(("mode", "lacks", "why"), LACKING)
def test_isolation_that_cannot_be_set_up_fails_closed(
    mode: str, lacks: str, why: str, tmp_path: Path
) -> None:
    argv = ["setpriv", f"--bounding-set=-{lacks}", program(), "serve"]
    argv += ["--mode", mode, "--socket", str(tmp_path / "s")]
    done = subprocess.run(
        argv, capture_output=True, text=True, timeout=30, check=False, env=environment(mode)
    )
    assert done.returncode == 1
    assert why in done.stderr
    assert ("does not work here" in done.stderr) == (lacks != "all")
    assert not (tmp_path / "s").exists()


@pytest.fixture
def for_all() -> Iterator[Path]:
    """The daemon's program and its compiler where everybody may run them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        shutil.copy(Path(program()).with_name("tare-sandbox-compiler"), folder)
        yield Path(shutil.copy(program(), folder))


NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user, as root only")
def test_who_is_not_root_is_told_so_and_has_webassembly(for_all: Path) -> None:
    done = subprocess.run(
        [*NOBODY, str(for_all), "modes"], capture_output=True, text=True, timeout=60, check=True
    )
    found = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "works here" in found.pop("wasm")
    for line in found.values():
        assert "unavailable" in line and "as root" in line, line
    socket = for_all.parent / "s"
    module = as_it_runs("wasm", str(udf("hello")))
    shutil.copy(module, for_all.parent / "hello")
    daemon = subprocess.Popen(
        [*NOBODY, str(for_all), "serve", "--mode", "wasm", "--socket", str(socket), "--load",
         f"hello={for_all.parent / 'hello'}"]
    )  # fmt: skip
    try:
        wait_until(lambda: socket.exists() or daemon.poll() is not None, lambda: "not ready")
        asked = [program(), "call", "--socket", str(socket), "--daemon-user", "65534", "hello"]
        called = subprocess.run(asked, input=b"", capture_output=True, timeout=30, check=True)
        assert called.stdout == wire.bytes_field(1, b"Hello, world!")
        daemon.terminate()
        assert daemon.wait(30) == 0
    finally:
        daemon.kill()


def test_modes_are_listed_with_what_they_are() -> None:
    done = subprocess.run(
        [program(), "modes"],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        env=environment("gvisor"),
    )
    found = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(found) == set(MODES)
    if not Path("/dev/kvm").exists():
        assert "/dev/kvm" in found.pop("kvm")
    assert all("works here" in line for line in found.values()), done.stdout
    assert all("; promises " in line for line in found.values()), done.stdout


def test_the_benchmarks_run_without_the_laboratory(mode: str, tmp_path: Path) -> None:
    for language, function in (("c", "hello"), ("wasm/c", "hello")):
        target = tmp_path / "udf" / language
        target.mkdir(parents=True)
        shutil.copy(as_it_runs("wasm" if "wasm" in language else mode, str(udf(function))), target)
    out = tmp_path / "out.json"
    argv = [program(), "bench", "--modes", mode, "--filter", "workers:1"]
    env = {"BENCHMARK_OUT": str(out), "BENCHMARK_MIN_TIME": "0.01", "BENCHMARK_REPETITIONS": "2"}
    done = subprocess.run(
        [*argv, "--udfs", str(tmp_path / "udf")], capture_output=True, text=True, timeout=120,
        check=True, env=environment(mode) | env,
    )  # fmt: skip
    made = json.loads(out.read_text())
    names = [f"BM_ProcessRequest/mode:{mode}/udf:1/num_workers:{count}" for count in (1, 10)]
    assert [item["name"] for item in made["benchmarks"]] == [name for name in names for _ in "ab"]
    assert all(item["iterations"] > 0 < item["real_time"] for item in made["benchmarks"])
    assert {"date", "num_cpus", "host_name", "load_avg"} <= set(made["context"])
    assert all(name in done.stdout for name in names)


def test_the_benchmarks_have_the_payloads(mode: str, tmp_path: Path) -> None:
    for language in ("c", "wasm/c"):
        target = tmp_path / language
        target.mkdir(parents=True)
        shutil.copy(as_it_runs("wasm" if "wasm" in language else mode, str(udf("payload"))), target)
    out = tmp_path / "out.json"
    argv = [program(), "bench", "--payloads", "--modes", mode, "--filter", "Payload/1000/10/"]
    subprocess.run(
        [*argv, "--udfs", str(tmp_path)], capture_output=True, text=True, timeout=120, check=True,
        env=environment(mode) | {"BENCHMARK_OUT": str(out), "BENCHMARK_MIN_TIME": "0.01"},
    )  # fmt: skip
    names = [item["name"] for item in json.loads(out.read_text())["benchmarks"]]
    ways = ("Request", "Response", "Callback")
    assert names == [f"BM_ProcessRequest{way}Payload/1000/10/mode:{mode}" for way in ways]


def test_benchmarks_refuse_wrong_answers_and_wrong_names(tmp_path: Path) -> None:
    (tmp_path / "c").mkdir()
    shutil.copy(udf("payload"), tmp_path / "c" / "hello")
    argv = ("bench", "--udfs", str(tmp_path), "--modes")
    assert "a wrong answer" in fails(*argv, "none", "--filter", "workers:1")
    assert "expected one of" in fails(*argv, "magic")
    assert "no benchmark" in fails(*argv, "none", "--filter", "BM_Nothing")
    assert "no benchmark" in fails(*argv, "none", "--filter", "Payload"), "only with --payloads"
    assert "sieve" in fails(*argv, "none", "--filter", "Sieve")


def test_a_stopped_daemon_ends_the_calls_under_way_first(
    mode: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('sieve')}")
    answers: list[bytes] = []
    request = wire.number_field(1, 20_000_000)
    caller = threading.Thread(target=lambda: answers.append(sandbox.call_raw("udf", request)))
    caller.start()
    while sandbox.stats("udf")["ready"] and not answers:
        pass
    assert sandbox.stop() == 0
    caller.join()
    assert wire.fields(answers[0]) == {1: 1_270_607}


def blocks(language: str) -> list[str]:
    """Of the page about own functions, the blocks in a language."""
    text = (loaded.folder / "udf" / "README.md").read_text()
    return [block.split("```")[0] for block in text.split(f"```{language}\n")[1:]]


@pytest.mark.parametrize("language", ["c", "rust", "go"])
def test_the_page_about_own_functions_can_be_followed(
    language: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    """docs: experiments/sandbox/udf/README.md, its blocks run as they stand."""
    (source,) = blocks(language)
    if language == "go" and shutil.which("go") is None:
        pytest.skip("there is no go")
    program_c, program_rust, program_go, module_c, module_rust = blocks("sh")
    shells = {
        "c": {"namespaces": program_c, "wasm": module_c},
        "rust": {"namespaces": program_rust, "wasm": module_rust},
        "go": {"namespaces": program_go},
    }
    (tmp_path / "src").mkdir()
    name = {"c": "shout.c", "rust": "src/main.rs", "go": "main.go"}[language]
    (tmp_path / name).write_text(source)
    path = f"{Path(program()).parent}:{os.environ['PATH']}"
    for mode, shell in shells[language].items():
        env = {"TARE_SANDBOX": serve(mode).socket, "ROOT": str(loaded.folder.parents[1])}
        done = subprocess.run(
            ["sh", "-euc", shell], cwd=tmp_path, capture_output=True, text=True, timeout=300,
            check=False, env=os.environ | env | {"PATH": path},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert done.stdout.endswith("HELLO, UDF\n"), done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="it takes two users")
def test_a_client_sends_nothing_to_another_users_daemon() -> None:
    listen = (
        "import os, socket, sys; os.setuid(65534); made = socket.socket(socket.AF_UNIX);"
        "made.bind(sys.argv[1]); made.listen(); print('there', flush=True);"
        "print(len(made.accept()[0].recv(9)))"
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        place = f"{folder}/socket"
        argv = [sys.executable, "-c", listen, place]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as other:
            assert other.stdout and other.stdout.readline() == "there\n"
            assert "found user 65534" in fails("stats", "--socket", place)
            assert other.stdout.read() == "0\n"


def test_links_that_others_plant_lead_a_daemon_nowhere(
    serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    (tmp_path / "victim" / "empty").mkdir(parents=True)
    # As a folder was called that a daemon left, whose number no process has.
    link = Path(tempfile.gettempdir()) / "tare-sandbox.4194304.0"
    link.symlink_to(tmp_path / "victim")
    try:
        serve("wasm")
    finally:
        link.unlink()
    assert (tmp_path / "victim" / "empty").is_dir()
