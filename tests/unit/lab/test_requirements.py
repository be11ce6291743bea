import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import projects
import pytest

from tare.lab.errors import BuildError, Unavailable
from tare.lab.project import build, requirements
from tare.lab.project.catalog import load
from tare.model.fields import Requirement

NONINTERACTIVE = ["env", "DEBIAN_FRONTEND=noninteractive"]


class Apt:
    """Stands where programs are run: what is installed, and what installing answers."""

    def __init__(self, installed: Sequence[str], code: int = 0, errors: str = "") -> None:
        self.installed, self.code, self.errors = list(installed), code, errors
        self.asked: list[list[str]] = []

    def run(self, argv: list[str], **_: Any) -> "subprocess.CompletedProcess[str]":
        self.asked.append(argv)
        if argv[0] == "dpkg-query":
            lines = "".join(f"{name} installed\n" for name in self.installed)
            return subprocess.CompletedProcess(argv, 0, lines + "removed config-files\n", "")
        return subprocess.CompletedProcess(argv, self.code, "", self.errors)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """What is on the PATH."""
    found = {"apt-get", "dpkg-query", "sudo"}
    monkeypatch.setattr(
        requirements.shutil, "which", lambda name: f"/bin/{name}" if name in found else None
    )
    return found


def apt(monkeypatch: pytest.MonkeyPatch, *installed: str, uid: int = 0, **answer: Any) -> Apt:
    fake = Apt(installed, **answer)
    monkeypatch.setattr(requirements.subprocess, "run", fake.run)
    monkeypatch.setattr(requirements.os, "geteuid", lambda: uid)
    requirements._installed.cache_clear()
    return fake


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """What a fake said is installed must not be believed by the tests that follow."""
    yield
    requirements._installed.cache_clear()


def debian(*names: str) -> list[Requirement]:
    return [Requirement(debian=name) for name in names]


def ignore(_: str) -> None: ...


def test_what_is_there_needs_nothing(
    monkeypatch: pytest.MonkeyPatch, programs: set[str], tmp_path: Path
) -> None:
    fake = apt(monkeypatch, "gcc")
    programs.add("cargo")
    needs = [
        Requirement(command="cargo", remedy="r"),
        Requirement(path=str(tmp_path), remedy="r"),
        *debian("gcc"),
    ]
    requirements.meet(needs, ignore)
    assert [argv[0] for argv in fake.asked] == ["dpkg-query"]


def test_what_is_missing_is_known_without_installing_it(
    monkeypatch: pytest.MonkeyPatch, programs: set[str]
) -> None:
    fake = apt(monkeypatch, "gcc")
    assert requirements.missing(debian("gcc", "wrk")) == debian("wrk")
    assert [argv[0] for argv in fake.asked] == ["dpkg-query"]


@pytest.mark.parametrize("kind", ["command", "path"])
def test_what_cannot_be_installed_is_named_with_its_remedy(programs: set[str], kind: str) -> None:
    need = Requirement.model_validate({kind: "/no/such", "remedy": "buy one"})
    with pytest.raises(Unavailable, match=r"^/no/such is not there: buy one$"):
        requirements.meet([need], ignore)


def test_a_flag_that_the_cpu_lacks_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    info = tmp_path / "cpuinfo"
    info.write_text("processor\t: 0\nflags\t\t: fpu avx2\n\nprocessor\t: 1\n")
    monkeypatch.setattr(requirements, "_CPUINFO", info)
    requirements._cpu_flags.cache_clear()
    requirements.meet([Requirement(cpu="avx2", remedy="r")], ignore)
    with pytest.raises(Unavailable, match=r"^the CPU's ospke is not there: buy one$"):
        requirements.meet([Requirement(cpu="ospke", remedy="buy one")], ignore)
    requirements._cpu_flags.cache_clear()


def test_a_device_that_the_machine_lacks_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "0000:6d:00.0").mkdir()
    (tmp_path / "0000:6d:00.0/vendor").write_text("0x8086\n")
    (tmp_path / "0000:6d:00.0/device").write_text("0x2710\n")
    monkeypatch.setattr(requirements, "_PCI", tmp_path)
    requirements.meet([Requirement(pci="8086:271[04]", remedy="r")], ignore)
    with pytest.raises(Unavailable, match=r"^a PCI device 8086:4940 is not there: buy one$"):
        requirements.meet([Requirement(pci="8086:4940", remedy="buy one")], ignore)


def test_who_is_not_root_is_told_before_anything_is_installed(
    monkeypatch: pytest.MonkeyPatch, programs: set[str]
) -> None:
    needs = [*debian("zlib"), Requirement(root=True, remedy="run it with sudo")]
    fake = apt(monkeypatch, uid=1000)
    with pytest.raises(Unavailable, match=r"^this needs root: run it with sudo$"):
        requirements.meet(needs, ignore)
    assert [argv[0] for argv in fake.asked] == ["dpkg-query"]
    requirements._installed.cache_clear()
    apt(monkeypatch, "zlib", uid=0)
    requirements.meet(needs, ignore)


@pytest.mark.parametrize(
    ("uid", "prefix"), [(0, [*NONINTERACTIVE]), (1000, ["sudo", "-n", *NONINTERACTIVE])]
)
def test_packages_are_installed_together(
    monkeypatch: pytest.MonkeyPatch, programs: set[str], uid: int, prefix: list[str]
) -> None:
    fake, said = apt(monkeypatch, "gcc", uid=uid), []
    requirements.meet(debian("zlib", "gcc", "curl", "removed"), said.append)
    assert said == ["installing curl removed zlib …"]
    assert fake.asked[1:] == [
        [*prefix, "apt-get", "update", "-q"],
        [*prefix, "apt-get", "install", "-y", "--no-install-recommends", "curl", "removed", "zlib"],
    ]


def test_a_password_is_not_asked_for(monkeypatch: pytest.MonkeyPatch, programs: set[str]) -> None:
    apt(monkeypatch, uid=1000, code=1, errors="sudo: a password is required")
    with pytest.raises(Unavailable, match="needs a password; run: sudo apt-get update && sudo apt"):
        requirements.meet(debian("zlib"), ignore)


def test_without_sudo_the_line_for_root_is_told(
    monkeypatch: pytest.MonkeyPatch, programs: set[str]
) -> None:
    apt(monkeypatch, uid=1000)
    programs.remove("sudo")
    with pytest.raises(Unavailable, match=r"there is no sudo; as root: .* zlib$"):
        requirements.meet(debian("zlib"), ignore)


def test_a_failed_installation_shows_what_was_said(
    monkeypatch: pytest.MonkeyPatch, programs: set[str]
) -> None:
    apt(monkeypatch, code=100, errors="no network")
    with pytest.raises(BuildError, match=r"update -q failed; by hand: (.|\n)*no network"):
        requirements.meet(debian("zlib"), ignore)


def test_other_systems_go_on_with_what_is_there(
    monkeypatch: pytest.MonkeyPatch, programs: set[str]
) -> None:
    fake, said = apt(monkeypatch), []
    programs.clear()
    requirements.meet(debian("zlib"), said.append)
    assert fake.asked == []
    assert said == ["this system is not Debian: install the equivalents of zlib yourself"]


BUILD = """
requires = [{ command = "cargo", remedy = "install Rust" }, { debian = "some-library" }]

[build]
argv = ["true"]
outputs = ["program"]
"""


def test_what_is_built_needs_no_program_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = projects.write(tmp_path, variants={"none": "", "other": BUILD})
    loaded = load("exp", root=root)
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    assert [item.command or item.debian for item in requirements.of(loaded, "other")] == [
        "cargo",
        "some-library",
    ]
    monkeypatch.setattr(build, "_complete", lambda *_: True)
    assert [item.debian for item in requirements.of(loaded, "other")] == ["some-library"]


def test_a_built_component_needs_no_program_that_builds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for complete in (False, True):
        monkeypatch.setattr(build, "_complete", lambda *_, complete=complete: complete)
        found = [item.command for item in requirements.of_components(["load"])]
        assert ("cargo" in found) is not complete
