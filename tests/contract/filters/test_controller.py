"""Controllers: first to start, a new prefix at run time, nothing left behind."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from harness import Failed, wait_until
from test_workers import reload

pytestmark = pytest.mark.contract
SHM = Path("/dev/shm")


# With a controller of their own; that of c-module is also the libraries'.
controlled = pytest.mark.parametrize("variant", ["c-module", "ebpf"])


def controller(site, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = site.argv("controller")[0]
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10)


def tell(site, line: str) -> None:
    pipe = site.processes["controller"].stdin
    pipe.write(line.encode() + b"\n")
    pipe.flush()


@controlled
def test_nginx_without_its_controller(site, variant):
    started = site(variant)
    with pytest.raises(Failed) as failed:
        started.start("sut")
    message = str(failed.value)
    assert "start the controller first: there is no shared memory" in message
    program = Path(started.argv("controller")[0]).name
    assert re.search(rf"{program} .*--shm /{started.tag} --prefix", message)


@pytest.mark.parametrize("content", [b"", b"x" * 144, b"x" * 8384])
def test_nginx_with_memory_of_another_layout(site, content):
    started = site("c-module")
    memory = SHM / started.tag
    memory.write_bytes(content)
    try:
        with pytest.raises(Failed, match=r"start the controller first: .* does not have layout"):
            started.start("sut")
    finally:
        memory.unlink()


@controlled
def test_a_new_prefix_without_a_restart(site, hooks, variant):
    started = site(variant, workers=2).start()
    for prefix in ("/bbbb", "", "/" + "c" * 4091, "/d"):
        tell(started, f"prefix {prefix}")
        wait_until(
            lambda p=prefix: f'prefix is now "{p}"\n' in started.log("controller"), "unheard"
        )
        started.parameters["prefix"] = prefix
        hooks.oracle(started)
    done = controller(started, "set", "--shm", f"/{started.tag}", "--prefix", "/aaaa")
    assert done.returncode == 0, done.stderr
    started.parameters["prefix"] = "/aaaa"
    hooks.oracle(started)
    # The controller has the prefix: a reload does not bring back nginx's own.
    tell(started, "prefix /e")
    wait_until(lambda: 'prefix is now "/e"\n' in started.log("controller"), "unheard")
    reload(started)
    started.parameters["prefix"] = "/e"
    hooks.oracle(started)


@controlled
def test_an_unusable_line_changes_nothing(site, hooks, variant):
    started = site(variant).start()
    tell(started, "perfix /bbbb")
    tell(started, "prefix /" + "x" * 4092)
    wait_until(lambda: "give one of at most 4092" in started.log("controller"), "unheard")
    assert 'found "perfix /bbbb", expected: prefix /bbbb' in started.log("controller")
    hooks.oracle(started)


@controlled
def test_counters_each_second_and_on_request(site, hooks, variant):
    started = site(variant).start()
    wire = hooks.Wire(started.host, started.port["http"])
    for line in (b"GET /aaaa", b"GET /aaaa", b"GET /b"):
        wire.request(line)
    found = controller(started, "get", "--shm", f"/{started.tag}")
    assert hooks.counters(started) == {"accepted": 2, "rejected": 1}
    assert json.loads(found.stdout) == {"accepted": 2, "rejected": 1, "failed": 0}
    wait_until(lambda: "accepted 2 (2/s) rejected 1 (1/s)\n" in started.log("controller"), "silent")


@controlled
def test_a_killed_controller_is_recovered_while_nginx_runs(site, hooks, variant):
    started = site(variant).start()
    hooks.oracle(started)
    before = hooks.counters(started)
    killed = started.processes["controller"]
    killed.kill()
    killed.wait()
    started.start("controller")
    assert f"from process {killed.pid}, which is gone" in started.log("controller")
    assert hooks.counters(started) == before
    tell(started, "prefix /b")
    wait_until(lambda: "prefix is now" in started.log("controller"), "unheard")
    started.parameters["prefix"] = "/b"
    hooks.oracle(started)


@controlled
def test_a_second_controller_is_refused(site, variant):
    started = site(variant).start("controller")
    again = started.argv("controller")
    done = subprocess.run(again, capture_output=True, text=True, timeout=10, check=False)
    owner = started.processes["controller"].pid
    assert done.returncode == 1
    assert f"belongs to a running controller, process {owner}; stop it" in done.stderr


@controlled
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_controller_removes_its_memory(site, variant, stop):
    started = site(variant).start("controller")
    process = started.processes["controller"]
    process.send_signal(stop)
    assert process.wait(5) == 0
    assert not (SHM / started.tag).exists()
