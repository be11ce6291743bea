"""What becomes of a role when the laboratory is stopped just as it starts it."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import projects
import pytest

from tare.lab.errors import Interrupted, ManifestError
from tare.lab.interrupt import raising
from tare.lab.machine import host
from tare.lab.machine.proc import ended
from tare.lab.project.build import Built
from tare.lab.project.catalog import load
from tare.lab.trial.bench import Bench, open_bench
from tare.lab.trial.site import Site


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    loaded = load("exp", root=projects.write(tmp_path))
    cpus = host.assign(host.by_core(), server=1, client=1)
    found = open_bench(loaded, {"none": Built()}, folder=tmp_path, name="site", cpus=cpus)
    yield found
    found.close()


def test_a_role_that_is_being_started_is_stopped_as_the_others(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enrolled = tmp_path / "enrolled"

    def stop_the_laboratory(pid: int) -> None:  # in the new process, which is not the role yet
        enrolled.write_text(str(pid))
        os.kill(os.getppid(), signal.SIGINT)

    monkeypatch.setattr(bench.ledger, "add_session", stop_the_laboratory)
    site = Site(bench, "none", {}, seed=0, name="site", folder=tmp_path / "work")
    with raising(), pytest.raises(Interrupted):
        site.launch("sut", ["sleep", "60"], "server", {})
    assert site.stop() == []
    assert ended(int(enrolled.read_text()))


def test_what_a_window_that_went_wrong_left_is_killed_before_the_next(
    bench: Bench, tmp_path: Path
) -> None:
    site = Site(bench, "none", {}, seed=0, name="site", folder=tmp_path / "work")
    left, next_ = (site.launch("instrument", ["sleep", "60"], "client", {}) for _ in range(2))
    assert ended(left.pid) and not ended(next_.pid)
    assert site.stop() == []
    assert ended(next_.pid)


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "a/../../x", "{{ '..' }}/x", "{{ '/tmp' }}/x"])
def test_a_file_of_a_role_may_not_leave_its_folder(tmp_path: Path, name: str) -> None:
    own = f'[roles.sut]\nfiles = {{ "{name}" = "t.j2" }}\n'
    root = projects.write(tmp_path, variants={"none": own})
    (root / "experiments" / "exp" / "t.j2").write_text("")
    with pytest.raises(ManifestError, match=r"files.*expected a file in the role's folder"):
        loaded = load("exp", root=root)
        cpus = host.assign(host.by_core(), server=1, client=1)
        opened = open_bench(loaded, {"none": Built()}, folder=tmp_path, name="s", cpus=cpus)
        site = Site(opened, "none", {}, seed=0, name="site", folder=tmp_path / "work")
        try:
            site.start()
        finally:
            site.stop()
            opened.close()
