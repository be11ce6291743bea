"""What is special in the controller of the eBPF filter: its program, and the memory with it."""

import re
import signal
from pathlib import Path

import pytest
from harness import Failed, wait_until
from test_controller import SHM, controller
from test_workers import all_workers, reload

pytestmark = pytest.mark.contract


def program(site) -> str:
    return str(Path(site.names["build"]) / "filter.bpf.o")


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


def test_memory_with_another_program_is_refused(site, tmp_path):
    started = site("ebpf").start("controller")
    shm = f"/{started.tag}"
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


def mapped(pid: int, name: str) -> list[tuple[int, int]]:
    """Return the size of each mapping of a file, and what the process has of it, in kB."""
    found: list[int] = []
    ours = False
    for line in Path(f"/proc/{pid}/smaps").read_text().splitlines():
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            ours = line.endswith(name)
        elif ours and (match := re.match(r"(Size|Rss): +(\d+) kB", line)):
            found.append(int(match[2]))
    return list(zip(found[::2], found[1::2], strict=True))


def test_workers_have_every_page_of_the_maps_before_their_first_request(site):
    started = site("ebpf", workers=2).start()
    for pid in all_workers(started):
        # It is there once it was forked, a moment before it begins.
        wait_until(
            lambda pid=pid: all(size == has for size, has in mapped(pid, started.tag)),
            "pages are missing",
        )
        assert mapped(pid, started.tag)
