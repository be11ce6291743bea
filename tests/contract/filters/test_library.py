"""The drop-in interface: what loads, what is refused and in which words, who wins."""

import signal
import subprocess
from pathlib import Path

import psutil
import pytest
from harness import Failed, wait_until
from test_workers import reload

pytestmark = pytest.mark.contract
ORIGINAL = Path(__file__).parent / "original_filter.c"


@pytest.fixture
def library(tmp_path):
    """Compiles a filter library from source text."""

    def compile_(source: str) -> Path:
        made = tmp_path / f"lib{len(list(tmp_path.glob('lib*.so')))}.so"
        command = ["cc", "-shared", "-fPIC", "-Wall", "-Werror", "-x", "c", "-", "-o", str(made)]
        subprocess.run(command, input=source.encode(), check=True)
        return made

    return compile_


def start_with(site, path, prefix: str | None = None):
    started = site("dynamic-c")
    started.env["DYNAMIC_LOAD_LIB_PATH"] = str(path)
    if prefix is not None:
        started.env["DYNAMIC_LOAD_URL_PREFIX"] = prefix
    return started.start()


def test_a_library_for_the_original_interface_loads_unchanged(site, hooks, library):
    started = start_with(site, library(ORIGINAL.read_text()))
    hooks.oracle(started)


def test_the_environment_overrides_the_directives(site, hooks):
    started = site("dynamic-c", prefix="/aaaa")
    started.env["DYNAMIC_LOAD_URL_PREFIX"] = "/bbbb"
    started.start()
    started.parameters["prefix"] = "/bbbb"
    hooks.oracle(started)


def test_a_missing_library(site):
    with pytest.raises(
        Failed, match=r'the filter library "/nowhere.so" does not load: .*: correct'
    ):
        start_with(site, "/nowhere.so")


def test_a_file_that_is_no_library(site):
    with pytest.raises(Failed, match=r"does not load: .*invalid ELF header"):
        start_with(site, __file__)


@pytest.mark.parametrize("symbol", ["initialize", "url_filter", "get_counters"])
def test_a_missing_symbol(site, library, symbol):
    source = ORIGINAL.read_text().replace(f"module_{symbol}(", f"other_{symbol}(")
    with pytest.raises(Failed, match=f'has no module_{symbol}; expected ".*module_{symbol}'):
        start_with(site, library(source))


def test_a_library_that_refuses(site, library):
    source = ORIGINAL.read_text().replace("return 0;", "return 7;")
    with pytest.raises(Failed, match=r"refuses the prefix .*returned 7, expected 0"):
        start_with(site, library(source))


def test_a_prefix_too_long_for_the_library(site):
    with pytest.raises(Failed, match="has 4093 bytes; give one of at most 4092"):
        site("dynamic-c", prefix="/" + "x" * 4092).start()


def configure(site, prefix: str) -> None:
    """Another prefix in the configuration, to be read at the next reload."""
    site.names["prefix"] = site.parameters["prefix"] = prefix
    site.render("sut")


def test_a_reload_takes_the_new_prefix_and_keeps_the_counters(site, hooks):
    started = site("dynamic-c", workers=2).start()
    hooks.oracle(started)
    before = hooks.counters(started)
    configure(started, "/bbbb")
    reload(started)
    assert hooks.counters(started) == before
    hooks.oracle(started)


def test_a_refused_reload_changes_nothing(site, hooks):
    started = site("dynamic-c").start()
    configure(started, "/bbbb")
    with (started.folder / "sut" / "nginx.conf").open("a") as file:
        file.write("no_such_directive;\n")
    started.processes["sut"].send_signal(signal.SIGHUP)
    wait_until(lambda: 'unknown directive "no_such_directive"' in started.log("sut"), "unheard")
    started.parameters["prefix"] = "/aaaa"
    worker = _only_worker(started)
    worker.kill()
    wait_until(lambda: _only_worker(started) not in (None, worker), "not replaced")
    hooks.oracle(started)


def _only_worker(site):
    children = psutil.Process(site.processes["sut"].pid).children()
    return children[0] if len(children) == 1 else None
