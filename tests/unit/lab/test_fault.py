"""The machine's failures are no variant's: such a trial is invalid, marked, and made again."""

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import projects
import pytest

from tare.lab.machine import host
from tare.lab.project.build import Built
from tare.lab.project.catalog import load
from tare.lab.trial import fault
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.site import Site
from tare.lab.trial.trial import run_trial
from tare.model.trial import PlannedTrial, Trial

EXPERIMENT = projects.EXPERIMENT.replace(
    'argv = ["server", "--fast"]\nready = { tcp = ["1"] }',
    'argv = ["sh", "-c", "{{ does }}"]\nready = { tcp = ["{{ port.http }}"], timeout_s = 20 }',
).replace("[variants]\n", '[variants]\nports = ["http"]\n')
PLANNED = PlannedTrial(block=0, scenario="default", label="none", variant="none", id="t")
Make = Callable[[str], Trial]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    loaded = load("exp", root=projects.write(tmp_path, experiment=EXPERIMENT))
    cpus = host.assign(host.by_core(), server=1, client=1)
    found = open_bench(loaded, {"none": Built()}, folder=tmp_path, name="site", cpus=cpus)
    yield found
    found.close()


@pytest.fixture
def make(bench: Bench, tmp_path: Path) -> Make:
    """Makes a trial of a variant whose server is a shell script."""

    def made(script: str) -> Trial:
        done = run_trial(
            bench,
            PLANNED,
            1,
            {"does": script},
            seed=1,
            version="1",
            work=tmp_path / "work",
            progress=lambda _: None,
        )
        return done.trial

    return made


def test_a_variant_that_just_ends_has_failed(make: Make) -> None:
    made = make("echo no >&2; exit 3")
    assert made.status == "failed" and not made.machine_fault
    assert made.reason is not None and "ended with exit code 3: no" in made.reason


def test_a_port_that_is_stolen_before_it_is_bound_is_the_machine_s_fault(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    thieves: list[socket.socket] = []
    launch = Site.launch

    def steal(site: Site, *arguments: object, **more: object) -> object:
        thieves.append(socket.create_server((site.host, site.port["http"])))
        return launch(site, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(Site, "launch", steal)
    made = make("echo Address already in use >&2; exit 1")
    for thief in thieves:
        thief.close()
    assert made.status == "invalid" and made.machine_fault
    assert made.reason is not None
    assert "machine: another process has taken port " in made.reason
    assert "Address already in use" in made.reason


def test_a_variant_that_is_in_its_own_way_has_failed(make: Make) -> None:
    made = make("echo Address already in use >&2; exit 1")
    assert made.status == "failed" and not made.machine_fault


def test_a_role_that_finds_no_room_is_no_failure_of_the_variant(make: Make) -> None:
    made = make("echo cannot write: No space left on device >&2; exit 1")
    assert made.status == "invalid" and made.machine_fault


def test_a_role_may_say_that_the_machine_is_at_fault(make: Make) -> None:
    made = make(f"echo 5 of 9 pages >&2; exit {os.EX_TEMPFAIL}")
    assert made.status == "invalid" and made.machine_fault
    assert made.reason is not None and "5 of 9 pages" in made.reason


def test_a_full_disk_is_found_whoever_ran_into_it(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = os.statvfs_result((4096, 4096, 9000, 1, 1, 100, 100, 100, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    made = make("exit 1")
    assert made.status == "invalid" and made.machine_fault
    assert made.reason is not None and "is full" in made.reason


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.ENOMEM, errno.EMFILE])
def test_the_laboratory_s_own_lack_is_no_variant_s(
    make: Make, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def lack(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "write_text", lack)
    monkeypatch.setattr(Path, "mkdir", lack)
    made = make("exec sleep 60")
    assert made.status == "invalid" and made.machine_fault


def test_no_more_processes_is_the_machine_s_fault(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(*_: object, **__: object) -> None:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("tare.lab.machine.process.subprocess.Popen", lack)
    made = make("exec sleep 60")
    assert made.status == "invalid" and made.machine_fault
    assert made.reason is not None and "cannot start sh" in made.reason


def test_a_server_that_the_kernel_ended_for_want_of_memory_is_no_failure(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    kills = iter(range(100))
    monkeypatch.setattr("tare.lab.machine.process.out_of_memory_kills", lambda: next(kills))
    made = make("kill -9 $$")
    assert made.status == "invalid" and made.machine_fault
    assert made.reason is not None and "out of memory" in made.reason


def test_a_server_that_somebody_killed_has_failed(make: Make) -> None:
    assert make("kill -9 $$").status == "failed"


def test_an_error_is_seen_through_to_its_cause() -> None:
    try:
        try:
            raise OSError(errno.EDQUOT, os.strerror(errno.EDQUOT))
        except OSError as error:
            raise ValueError("a hook's") from error
    except ValueError as error:
        assert fault.lack(error) == os.strerror(errno.EDQUOT)
    assert fault.lack(OSError(errno.ECONNRESET, "reset")) is None
