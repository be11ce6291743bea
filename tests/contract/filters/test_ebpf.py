"""The controller of the eBPF filter: loads the program before nginx starts, or says why not."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from harness import Failed, wait_until
from test_controller import SHM, tell
from test_workers import reload

pytestmark = pytest.mark.contract


def controller(site, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = Path(site.names["build"]) / "bin" / "filter-ebpf-controller"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=10)


def program(site) -> str:
    return str(Path(site.names["build"]) / "filter.bpf.o")


def test_nginx_without_its_controller(site):
    started = site("ebpf")
    with pytest.raises(Failed) as failed:
        started.start("sut")
    message = str(failed.value)
    assert "start the controller first: there is no shared memory" in message
    assert f"filter-ebpf-controller --object filter.bpf.o --shm /{started.tag} --prefix" in message


def test_nginx_without_the_name_of_the_memory(site):
    started = site("ebpf")
    started.manifest = started.manifest.model_copy(deep=True)
    started.manifest.roles["sut"].env.clear()
    with pytest.raises(Failed, match="FILTER_SHM is not set; set it to the name"):
        started.start("sut")


@pytest.mark.parametrize("content", [b"x" * 144, b"x" * 20000])
def test_nginx_with_memory_of_another_layout(site, content):
    started = site("ebpf")
    memory = SHM / started.tag
    memory.write_bytes(content)
    try:
        with pytest.raises(Failed, match=r"has another layout .*; remove /dev/shm"):
            started.start("sut")
    finally:
        memory.unlink()


def test_a_new_prefix_without_a_restart(site, hooks):
    started = site("ebpf", workers=2).start()
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


def test_an_unusable_line_changes_nothing(site, hooks):
    started = site("ebpf").start()
    tell(started, "perfix /bbbb")
    tell(started, "prefix /" + "x" * 4092)
    wait_until(lambda: "give one of at most 4092" in started.log("controller"), "unheard")
    assert 'found "perfix /bbbb", expected: prefix /bbbb' in started.log("controller")
    hooks.oracle(started)


def test_counters_each_second_and_on_request(site, hooks):
    started = site("ebpf").start()
    wire = hooks.Wire(started.host, started.port["http"])
    for line in (b"GET /aaaa", b"GET /aaaa", b"GET /b"):
        wire.ask(line)
    found = controller(started, "get", "--shm", f"/{started.tag}")
    assert hooks.counters(started) == {"accepted": 2, "rejected": 1}
    assert hooks.counters(started).items() <= json.loads(found.stdout).items()
    wait_until(lambda: "accepted 2 (2/s) rejected 1 (1/s)\n" in started.log("controller"), "silent")


def test_cycles_leave_no_shared_memory(site):
    started = site("ebpf")
    for _ in range(50):
        started.start()
        assert (SHM / started.tag).exists()
        started.stop()
        assert not list(SHM.glob(f"{started.tag}*"))


def test_a_killed_controller_is_recovered_while_nginx_runs(site, hooks):
    started = site("ebpf").start()
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


def test_a_second_controller_and_another_program_are_refused(site, tmp_path):
    started = site("ebpf").start("controller")
    shm = f"/{started.tag}"
    done = controller(started, "--object", program(started), "--shm", shm, "--prefix", "/bbbb")
    owner = started.processes["controller"].pid
    assert done.returncode == 1
    assert f"belongs to a running controller, process {owner}; stop it" in done.stderr
    started.processes["controller"].kill()
    started.processes["controller"].wait()
    other = tmp_path / "other.bpf.o"
    # The same code with a byte more behind it is another file.
    other.write_bytes(Path(program(started)).read_bytes() + b"\0")
    done = controller(started, "--object", str(other), "--shm", shm, "--prefix", "/bbbb")
    assert done.returncode == 1
    assert re.search(r"holds another program than \S+; remove /dev/shm", done.stderr)
    (SHM / started.tag).unlink()


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"no object" * 100])
def test_a_file_that_is_no_program_is_refused(site, tmp_path, content):
    started = site("ebpf")
    file = tmp_path / "bad.bpf.o"
    file.write_bytes(content)
    shm = f"/{started.tag}"
    done = controller(started, "--object", str(file), "--shm", shm, "--prefix", "/a")
    assert done.returncode == 1
    assert re.search(r"the program \S+bad\.bpf\.o is refused; correct it", done.stderr)
    assert not (SHM / started.tag).exists()


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_controller_removes_its_memory(site, stop):
    started = site("ebpf").start("controller")
    process = started.processes["controller"]
    process.send_signal(stop)
    assert process.wait(5) == 0
    assert not (SHM / started.tag).exists()


def test_a_reload_needs_the_memory_and_takes_up_a_new_one(site, hooks):
    started = site("ebpf", workers=2).start()
    hooks.oracle(started)
    before = hooks.counters(started)
    process = started.processes["controller"]
    process.terminate()
    process.wait(5)
    started.processes["sut"].send_signal(signal.SIGHUP)
    wait_until(lambda: "start the controller first" in started.log("sut"), "not refused")
    assert hooks.counters(started) == before
    hooks.oracle(started)
    started.names["prefix"] = started.parameters["prefix"] = "/new"
    started.start("controller")
    reload(started)
    assert hooks.counters(started) == {"accepted": 0, "rejected": 0}
    hooks.oracle(started)
