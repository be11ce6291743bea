import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare.lab import paths
from tare.lab.errors import BuildError, Interrupted
from tare.lab.interrupt import raising
from tare.lab.project import build, catalog
from tare.lab.project.outstanding import Outstanding
from tare.model.fields import Requirement
from tare.model.manifest import VariantBuild

COMPONENT = """
schema = 1
title = "Thing"

[build]
argv = {argv}
inputs = ["shared"]
outputs = ["program"]

[version]
argv = ["cat", "{{{{ build }}}}/program"]
pattern = '(\\d+)'
"""
GOOD = '["sh", "-c", "echo built; cat number > $TARE_OUT/program"]'


class Project:
    """A project with one component."""

    def __init__(self, home: Path) -> None:
        self.home, self.folder = home, home / "components" / "thing"
        self.folder.mkdir(parents=True)
        (home / "shared").mkdir()
        self.write(GOOD)
        (self.folder / "number").write_text("1\n")

    def write(self, argv: str) -> None:
        (self.folder / "component.toml").write_text(COMPONENT.format(argv=argv))

    def build(self) -> list[str]:
        """What is said, and the end of it."""
        build._content.cache_clear()
        said: list[str] = []
        try:
            out = build.component("thing", said.append)
        except BuildError as error:
            return [*said, f"FAILED {error}"]
        return [*said, f"{out} {build.version_of(out)}"]

    def start(self) -> "subprocess.Popen[str]":
        """The same in a process of its own."""
        script = "from tare.lab.project import build; print(build.component('thing', print))"
        return subprocess.Popen(
            [sys.executable, "-c", script],
            env=os.environ | {"TARE_ROOT": str(self.home), "TARE_CACHE": str(self.home / "cache")},
            stdout=subprocess.PIPE,
            text=True,
        )

    def outputs(self) -> list[Path]:
        return sorted(path for path in (self.home / "cache/built").iterdir() if path.is_dir())


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(paths, "ROOT", tmp_path)
    read, find = catalog.component.__wrapped__, catalog.component_folder
    monkeypatch.setattr(catalog, "component_folder", lambda name, root=tmp_path: find(name, root))
    monkeypatch.setattr(catalog, "component", lambda name: read(name, tmp_path))
    return Project(tmp_path)


def test_a_build_is_made_once_and_its_version_is_read(project: Project) -> None:
    *said, place = project.build()
    assert said == ["building thing …", "built thing"]
    assert place.endswith(" 1")
    assert project.build() == [place]
    (out,) = project.outputs()
    assert json.loads((out / "built.json").read_text()) == {"name": "thing", "version": "1"}


def test_it_is_known_whether_it_is_built_without_building_it(project: Project) -> None:
    assert not build.is_built("thing")
    project.build()
    assert build.is_built("thing")
    (project.folder / "number").write_text("2\n")
    build._content.cache_clear()
    assert not build.is_built("thing")


def test_a_long_build_says_how_long_and_the_time_does_not_decide(project: Project) -> None:
    file = project.folder / "component.toml"
    place = project.build()[-1]
    file.write_text(file.read_text().replace("[version]", "about_s = 200\n\n[version]"))
    assert project.build() == [place]
    (project.folder / "number").write_text("2\n")
    assert project.build()[0] == "building thing, which takes about 3 min …"


def test_builds_that_variants_lack_are_known_with_their_times(project: Project) -> None:
    (project.home / "variant").mkdir()
    own = VariantBuild(argv=["true"], outputs=["program"], about_s=90)
    here = SimpleNamespace(components=["thing"], build=own, requires=[])
    absent = Requirement(path="/no/such/file", remedy="get it")
    away = SimpleNamespace(components=[], build=own, requires=[absent])
    loaded: Any = SimpleNamespace(
        name="toy",
        variants={"here": here, "away": away},
        variant_folder=lambda _: project.home / "variant",
    )
    both = Outstanding([(loaded, ["here", "away"])])
    assert list(both.builds().items()) == [("toy-here", 90), ("thing", 10)]
    project.build()
    assert both.builds() == {"toy-here": 90}


def test_what_it_is_made_of_decides_and_nothing_else(project: Project) -> None:
    place = project.build()[-1]
    (project.folder / "README.md").write_text("words")
    (project.folder / ".hidden").write_text("words")
    assert project.build() == [place]
    places = {place}
    for file in (project.folder / "number", project.home / "shared" / "header"):
        file.write_text("2\n")
        places.add(project.build()[-1])
    assert len(places) == len(project.outputs()) == 3


def test_a_crates_own_tests_do_not_decide(project: Project) -> None:
    """Tests of something else do, as they may be what is built."""
    shared = project.home / "shared"
    (shared / "tests").mkdir()
    (shared / "tests" / "it.rs").write_text("a test")
    place = project.build()[-1]
    (shared / "Cargo.toml").write_text("[package]")
    crate = project.build()[-1]
    (shared / "tests" / "it.rs").write_text("another test")
    assert place != crate and project.build() == [crate]


def test_a_variant_is_built_anew_for_what_its_build_reads_alone(project: Project) -> None:
    folder = project.home / "variant"
    folder.mkdir()

    def made(uses: list[str]) -> Path:
        argv = [
            "sh",
            "-c",
            'cat "$TARE_COMPONENT_THING/program" > $TARE_OUT/program || :',
        ]
        manifest = SimpleNamespace(
            components=["thing"],
            build=VariantBuild(argv=argv, outputs=["program"], components=uses),
        )
        loaded: Any = SimpleNamespace(
            name="toy", variants={"own": manifest}, variant_folder=lambda _: folder
        )
        build._content.cache_clear()
        own = build.variant(loaded, "own", print).own
        assert own is not None
        return own

    without, reading = made([]), made(["thing"])
    assert (without / "program").read_text() == ""
    assert (reading / "program").read_text() == "1\n"
    (project.folder / "number").write_text("2\n")
    assert made([]) == without
    assert (made(["thing"]) / "program").read_text() == "2\n"


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (
            '["sh", "-c", "echo oh no; exit 3"]',
            "thing failed (exit code 3); the whole log: ",
        ),
        ('["true"]', "building thing failed (no program was made); the whole log: "),
        ('["no-such-tool"]', "building thing: cannot run no-such-tool: "),
        ('["sh", "-c", "echo x > $TARE_OUT/program"]', "version: cat "),
    ],
)
def test_a_failed_build_leaves_nothing_and_is_named(
    project: Project, argv: str, message: str
) -> None:
    project.write(argv)
    text = "\n".join(project.build())
    assert "FAILED " in text and message in text
    assert project.outputs() == []
    (log,) = (project.home / "cache/built").glob("thing-*.log")
    if "whole log" in message:
        assert f"log: {log}" in text
    assert ("oh no" in log.read_text()) == ("oh no" in argv) == ("\noh no" in text)


def test_checkouts_share_no_target_folder(project: Project) -> None:
    project.write('["sh", "-c", "echo 1 $TARE_TARGET > $TARE_OUT/program"]')
    (out, _) = project.build()[-1].split()
    assert Path(out, "program").read_text().split()[1] == str(project.home / "target")


def test_an_input_that_is_not_there_is_named(project: Project) -> None:
    (project.home / "shared").rmdir()
    assert project.build() == [f"FAILED build input {project.home}/shared does not exist"]


def test_builds_at_the_same_time_build_once(project: Project) -> None:
    builds = [project.start() for _ in range(3)]
    lines = [line for each in builds for line in each.communicate(timeout=60)[0].splitlines()]
    assert lines.count("building thing …") == 1
    assert len({line for line in lines if line.startswith("/")}) == 1


def test_what_a_killed_build_left_is_cleared_by_the_next(project: Project) -> None:
    left = project.home / "cache/built/staging-x"
    left.mkdir(parents=True)
    project.build()
    assert not left.exists()


def test_a_build_that_is_stopped_while_it_starts_is_ended(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    class Stopped(subprocess.Popen[bytes]):
        def __init__(self, *arguments: Any, **known: Any) -> None:
            super().__init__(*arguments, **known)
            started.append(self)
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(subprocess, "Popen", Stopped)
    project.write('["sleep", "600"]')
    with raising(), pytest.raises(Interrupted, match="stopped by SIGTERM"):
        project.build()
    (child,) = started
    assert child.returncode == -signal.SIGKILL
    assert project.outputs() == []
