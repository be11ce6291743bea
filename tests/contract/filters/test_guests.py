"""Guests that fail: each such request is rejected, counted and said, and nothing else happens."""

import contextlib
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from harness import Failed, Site, loaded, wait_until
from test_workers import all_workers, reload, workers

from tare.lab import paths
from tare.lab.project import build

pytestmark = pytest.mark.contract
GUESTS = Path(__file__).parent / "guests"
WASM = ["wasm", "wasm2c", "rlbox-wasm2c"]
LIBRARIES = [*WASM, "rlbox-noop", "luajit"]


def counts(site: Site) -> dict[str, int]:
    """What the controller says of the filter, its failures included."""
    program = Path(site.names["component"]["filter_controller"]) / "bin" / "filter-controller"
    done = subprocess.run(
        [program, "get", "--shm", f"/{site.tag}"], capture_output=True, check=True
    )
    return json.loads(done.stdout)


def make(variant: str, source: Path, folder: Path, *options: str) -> dict[str, str]:
    """The environment in which `variant` has the guest of `source`, built as its own is."""
    if variant == "luajit":
        return {"LUA_MODULE_PATH": str(source)}
    own = loaded.variant_folder(variant)
    made = build.variant(loaded, variant, print)
    environment = os.environ | {"TARE_OUT": str(folder), "TARE_ROOT": str(paths.ROOT)}
    for name, path in made.components.items():
        environment[f"TARE_COMPONENT_{name.replace('-', '_').upper()}"] = str(path)
    if variant != "wasm":
        environment["FILTER_GUEST"] = str(source)
        subprocess.run(["sh", "build.sh"], cwd=own, env=environment, check=True)
        return {"DYNAMIC_LOAD_LIB_PATH": str(folder / "url_filter.so")}
    compiler = loaded.folder / "guest" / "compile.sh"
    subprocess.run(["sh", compiler, source, folder / "guest.wasm"], check=True)
    environment["PYTHONPATH"] = environment["TARE_COMPONENT_WASMTIME"]
    limit = ["--limit", *(options or ["epoch"])]
    argv = ["python3", own / "compile.py", folder / "guest.wasm", folder / "guest.cwasm", *limit]
    subprocess.run(argv, env=environment, check=True)
    return {"WASM_MODULE_PATH": str(folder / "guest.cwasm")}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory) -> Callable[..., dict[str, str]]:
    """The environment of a variant with the hostile guest, which is built once."""
    known: dict[tuple[str, ...], dict[str, str]] = {}

    def guest(variant: str, *options: str) -> dict[str, str]:
        key = (variant, *options)
        if key not in known:
            source = GUESTS / ("hostile.lua" if variant == "luajit" else "hostile.c")
            known[key] = make(variant, source, tmp_path_factory.mktemp(variant), *options)
        return known[key]

    return guest


FAILURES = {
    "/read-outside": r"[Oo]ut.of.bounds",
    "/write-outside": r"[Oo]ut.of.bounds",
    "/write-everywhere": r"[Oo]ut.of.bounds",
    "/abort": r"[Uu]nreachable",
    "/divide": r"divide by zero",
    "/recurse": r"[Cc]all stack exhausted",
    "/answer-7": "answers neither 0 nor 1",
    "/answer-minus-1": "answers neither 0 nor 1",
}
LUA_FAILURES = {
    "/error": "hostile.lua:.*told to fail",
    "/error-without-words": "an error without words",
    "/nil": "the filter answers a nil, expected true or false",
    "/number": "the filter answers a number, expected true or false",
    "/recurse": "stack overflow",
    "/files": "attempt to (index|call)",
    "/bytecode": "attempt to call",
}
CASES = [(variant, url, why) for variant in WASM for url, why in FAILURES.items()]
CASES += [("rlbox-noop", url, why) for url, why in FAILURES.items() if "/answer" in url]
CASES += [("luajit", url, why) for url, why in LUA_FAILURES.items()]


@pytest.mark.parametrize(("variant", "url", "why"), CASES)
def test_a_guest_that_fails(site, hooks, hostile, variant, url, why):
    started = site(variant)
    started.env |= hostile(variant)
    started.start()
    before = all_workers(started)
    wire = hooks.Wire(started.host, started.port["http"])
    for _ in range(3):
        assert wire.request(b"GET " + url.encode())[0] == 403
        assert wire.request(b"GET /aaaa")[0] == 200
    assert counts(started) == {"accepted": 3, "rejected": 3, "failed": 3}
    text = (
        rf"{variant}: a request is rejected because the filter failed: .*({why}).* \(0 before it\)"
    )
    assert_logged(started, text)
    assert workers(started) == before
    hooks.oracle(started)


def assert_logged(site: Site, pattern: str) -> None:
    assert re.search(pattern, site.log("sut")), site.log("sut")[-2000:]


@pytest.mark.parametrize("variant", LIBRARIES)
def test_failures_fill_no_log(site, hooks, hostile, variant):
    started = site(variant)
    started.env |= hostile(variant)
    started.start()
    wire = hooks.Wire(started.host, started.port["http"])
    url = b"GET /error" if variant == "luajit" else b"GET /answer-7"
    begun = time.monotonic()
    for _ in range(300):
        assert wire.request(url)[0] == 403
    seconds = time.monotonic() - begun
    assert counts(started)["failed"] == 300
    assert 1 <= started.log("sut").count("the filter failed") <= seconds + 2
    wait_until(
        lambda: "because the filter failed" in started.log("controller"), "the controller is silent"
    )


@pytest.mark.parametrize("limit", ["epoch", "fuel"])
def test_a_guest_that_loops_is_stopped(site, hooks, hostile, limit):
    started = site("wasm", wasm_limit=limit)
    started.env |= hostile("wasm", limit)
    started.start()
    before = all_workers(started)
    wire = hooks.Wire(started.host, started.port["http"])
    assert wire.request(b"GET /loop")[0] == 403
    assert wire.request(b"GET /aaaa")[0] == 200
    assert_logged(started, r"it ran for more than \d+ (ms|instructions)")
    assert workers(started) == before
    hooks.oracle(started)


@pytest.mark.parametrize("limit", ["epoch", "fuel", "none"])
def test_every_limit_filters(site, hooks, limit):
    hooks.oracle(site("wasm", wasm_limit=limit, workers=2).start())


def test_an_unknown_limit(site):
    with pytest.raises(Failed, match='WASM_LIMIT: found "forever", expected epoch, fuel or none'):
        site("wasm", wasm_limit="forever").start()


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file"),
        (b"", "no compiled module"),
        (b"\0asm\1", "it does not compile: .*unexpected end"),
        (b"\x7fELF" + b"\0" * 200, "no compiled module"),
    ],
)
def test_a_wasm_module_that_does_not_load(site, tmp_path, content, why):
    file = tmp_path / "some.cwasm"
    if content is not None:
        file.write_bytes(content)
    started = site("wasm")
    started.env["WASM_MODULE_PATH"] = str(file)
    with pytest.raises(Failed, match=rf"wasm: the module {file}: .*{why}.*; expected a Web"):
        started.start()


@pytest.mark.parametrize("limit", ["epoch", "fuel", "none"])
def test_a_wasm_module_is_compiled_when_it_is_loaded(site, hooks, limit):
    started = site("wasm", wasm_limit=limit)
    started.env["WASM_MODULE_PATH"] = str(Path(started.names["build"]) / "url_filter.wasm")
    hooks.oracle(started.start())
    reload(started)
    hooks.oracle(started)


def test_a_wasm_module_cut_short(site, tmp_path):
    whole = Path(site("wasm").names["build"]) / "url_filter.epoch.cwasm"
    file = tmp_path / "some.cwasm"
    file.write_bytes(whole.read_bytes()[:-2000])
    started = site("wasm")
    started.env["WASM_MODULE_PATH"] = str(file)
    with pytest.raises(Failed, match=rf"wasm: the module {file}: .*; expected a Web"):
        started.start()


def test_a_wasm_module_for_another_limit(site):
    started = site("wasm", wasm_limit="fuel")
    started.env["WASM_MODULE_PATH"] = str(Path(started.names["build"]) / "url_filter.epoch.cwasm")
    with pytest.raises(Failed, match=r"wasm: .*; expected a WebAssembly module, .* --limit fuel"):
        started.start()


def test_a_guest_that_refuses_its_prefix(site, tmp_path):
    source = (loaded.folder / "guest" / "url_filter.c").read_text()
    broken = tmp_path / "refuses.c"
    broken.write_text(source.replace("return 0;", "return 5;"))
    for variant in (*WASM, "rlbox-noop"):
        folder = tmp_path / variant
        folder.mkdir()
        started = site(variant)
        started.env |= make(variant, broken, folder)
        with pytest.raises(Failed, match=f"{variant}: the guest refuses the prefix"):
            started.start()


@pytest.mark.parametrize(
    ("script", "why"),
    [
        (None, r"the script \".*\" cannot be read \(No such file or directory\): set LUA_MODULE"),
        ("return function(", "unexpected|expected near"),
        ("return 7", "the script returns a number, expected a function of the prefix"),
        ("error('no')", "no"),
        ("return function(p) return p end", "the script returns a string, expected a function"),
        ("\x1bLJ\x02", "attempt to load chunk with wrong mode"),
    ],
)
def test_a_script_that_does_not_load(site, tmp_path, script, why):
    file = tmp_path / "some.lua"
    if script is not None:
        file.write_text(script)
    started = site("luajit")
    started.env["LUA_MODULE_PATH"] = str(file)
    with pytest.raises(Failed, match=rf"luajit: .*({why})"):
        started.start()


@pytest.mark.parametrize("variant", LIBRARIES)
def test_a_library_without_a_controller(site, hooks, variant):
    started = site(variant, workers=2)
    with pytest.raises(Failed, match="start the controller first: there is no shared memory"):
        started.start("sut")
    started.manifest = started.manifest.model_copy(deep=True)
    del started.manifest.roles["sut"].env["FILTER_SHM"]
    started.start("sut")
    hooks.oracle(started)
    before = hooks.counters(started)
    started.names["prefix"] = started.parameters["prefix"] = "/bbbb"
    started.render("sut")
    reload(started)
    assert hooks.counters(started) == before
    hooks.oracle(started)


@pytest.mark.parametrize("variant", LIBRARIES)
def test_a_prefix_too_long_for_a_library(site, variant):
    started = site(variant, prefix="/" + "x" * 4092)
    started.manifest = started.manifest.model_copy(deep=True)
    del started.manifest.roles["sut"].env["FILTER_SHM"]
    with pytest.raises(Failed, match=f"{variant}: the prefix has 4093 bytes; give one of at most"):
        started.start("sut")


@pytest.mark.parametrize("variant", LIBRARIES)
def test_a_new_prefix_reaches_running_guests(site, hooks, variant):
    started = site(variant, workers=2).start()
    hooks.oracle(started)
    for prefix in ("/bbbb", "", "/" + "c" * 4000, "/d"):
        started.processes["controller"].stdin.write(f"prefix {prefix}\n".encode())
        started.processes["controller"].stdin.flush()
        wait_until(
            lambda p=prefix: f'prefix is now "{p}"\n' in started.log("controller"), "unheard"
        )
        started.parameters["prefix"] = prefix
        hooks.oracle(started)


@pytest.mark.parametrize("variant", WASM)
def test_a_fault_outside_the_guest_is_not_hidden(site, hooks, variant):
    started = site(variant).start()
    hooks.oracle(started)
    (worker,) = all_workers(started)

    # A fault comes again until somebody deals with it; a signal that was sent does not.
    def sent_again() -> bool:
        with contextlib.suppress(ProcessLookupError):  # it may end just now
            if worker in workers(started):
                os.kill(worker, signal.SIGSEGV)
        return f"{worker} exited on signal 11" in started.log("sut")

    wait_until(sent_again, "the fault was eaten")


@pytest.mark.parametrize("variant", ["wasm", "luajit"])
def test_a_reload_with_a_broken_guest_changes_nothing(site, hooks, tmp_path, variant):
    started = site(variant)
    own = "url_filter.lua" if variant == "luajit" else "url_filter.epoch.cwasm"
    file = tmp_path / own
    file.write_bytes((Path(started.names["build"]) / own).read_bytes())
    started.env["LUA_MODULE_PATH" if variant == "luajit" else "WASM_MODULE_PATH"] = str(file)
    started.start()
    file.write_bytes(b"return 7")
    # Its port is open before it is ready for signals, and with a worker it is.
    all_workers(started)
    started.processes["sut"].send_signal(signal.SIGHUP)
    wait_until(lambda: "refuses the prefix" in started.log("sut"), "the reload was not refused")
    (worker,) = all_workers(started)
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: workers(started) not in (set(), {worker}), "not replaced")
    hooks.oracle(started)


@pytest.mark.parametrize("variant", WASM)
def test_without_room_for_addresses_nginx_does_not_start(site, variant):
    started = site(variant)
    started.manifest = started.manifest.model_copy(deep=True)
    role = started.manifest.roles["sut"]
    role.argv[:0] = ["prlimit", "--as=2000000000"]
    with pytest.raises(Failed, match=rf"{variant}: .*(8 GiB of addresses|memory)"):
        started.start()
