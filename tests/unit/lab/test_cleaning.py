"""`tare clean` removes what tare made and nobody uses, and nothing else."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tare.cli.main import tare
from tare.lab import paths
from tare.lab.project import build
from tare.lab.run.working_folder import working_folder

NAME = "thing-0123456789abcdef"
INSTANCE = {
    "experiment": "toy", "study": "s", "variant": "one", "started": "", "overrides": {},
    "parameters": {}, "properties": {}, "host": "", "address": {}, "port": {}, "tag": "",
    "folder": "/", "roles": {}, "try_lines": [],
}  # fmt: skip


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TARE_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def held() -> Iterator[Callable[[Path], None]]:
    """Holds a build from another process until the test ends."""
    script = (
        "import sys; from pathlib import Path; from tare.lab.project import in_use\n"
        "print(in_use.hold(Path(sys.argv[1])), flush=True); input()"
    )
    started = []

    def hold(marker: Path) -> None:
        argv = [sys.executable, "-c", script, str(marker)]
        started.append(
            subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
        assert started[-1].stdout is not None and started[-1].stdout.readline() == "True\n"

    yield hold
    for each in started:
        each.communicate("\n")


def made(folder: Path, name: str = NAME, marker: str = build.RECEIPT) -> Path:
    """A build of a megabyte, with its log."""
    out = folder / name
    out.mkdir(parents=True)
    (out / "program").write_bytes(b"x" * 1_000_000)
    (out / marker).write_text("{}")
    out.with_suffix(".log").write_text("built")
    return out


def run(name: str, *, finished: bool = True) -> Path:
    folder = paths.runs() / name
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{}")
    if finished:
        (folder / "results.json").write_text("{}")
    return folder


def copied(digest: str = "5" * 64) -> Path:
    """A copy of a user's own file, of a megabyte."""
    copy = paths.parts() / digest / "my.so"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"x" * 1_000_000)
    return copy


def clean(*options: str) -> Result:
    done = CliRunner().invoke(tare, ["clean", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done


def test_it_says_what_it_would_remove_and_removes_nothing() -> None:
    out = made(paths.builds())
    told = clean().output
    assert (
        f"{out}\n" in told
        and "1 builds and copies, 1.0 MB; tare clean --apply removes them" in told
    )
    assert (out / "program").exists()


def test_a_build_goes_with_its_log() -> None:
    out = made(paths.builds())
    assert "removed: 1 builds and copies, 1.0 MB" in clean("--apply").output
    assert not out.exists() and not out.with_suffix(".log").exists()
    assert clean().output == "nothing to remove\n"


def test_the_logs_of_failed_builds_and_what_was_cut_off_go() -> None:
    log = made(paths.builds()).with_suffix(".log")
    log.rename(log.with_name("failed-0123456789abcdef.log"))
    (paths.builds() / "staging-xyz" / "out").mkdir(parents=True)
    clean("--apply")
    assert [path.name for path in paths.builds().iterdir()] == ["lock"]


def test_what_another_command_uses_stays(held: Callable[[Path], None]) -> None:
    out = made(paths.builds())
    held(out / build.RECEIPT)
    assert f"stays: {out}: in use by another command" in clean("--apply").output
    assert (out / "program").exists() and out.with_suffix(".log").exists()


def test_what_is_up_stays() -> None:
    out, other = made(paths.builds()), made(paths.builds(), "other-0123456789abcdef")
    state = paths.instances() / "toy" / "one" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps(INSTANCE | {"builds": [str(out)]}))
    found = json.loads(clean("--apply", "--json").output)
    assert {each["path"]: each["removed"] for each in found} == {str(out): False, str(other): True}
    assert "tare down toy/one" in next(each["stays"] for each in found if each["stays"])
    assert out.exists() and not other.exists() and state.exists()


@pytest.mark.parametrize("runs", [(), ("--runs",)])
def test_what_others_put_there_stays(tmp_path: Path, runs: tuple[str, ...]) -> None:
    elsewhere = made(tmp_path / "elsewhere")
    paths.builds().mkdir(parents=True)
    (paths.builds() / "link-0123456789abcdef").symlink_to(elsewhere)
    made(paths.builds(), "no-digest")
    (paths.builds() / "unmarked-0123456789abcdef").mkdir()
    (paths.builds() / "notes.txt").write_text("mine")
    (paths.runs() / "mine").mkdir(parents=True)
    before = sorted(path for path in tmp_path.rglob("*"))
    told = clean("--apply", *runs).output
    assert told.count("not made by tare") == 4 + len(runs)
    assert sorted(path for path in tmp_path.rglob("*") if path.name != "lock") == before


def test_runs_go_only_when_asked_for_and_finished() -> None:
    done, going, cut = run("done"), run("going"), run("cut", finished=False)
    (going / "ballast").write_text("")
    clean("--apply")
    assert done.exists()
    told = clean("--runs", "--apply").output
    assert (
        "removed: 1 builds, copies and runs" in told and "tare resume cut goes on with it" in told
    )
    assert not done.exists() and going.exists() and cut.exists()


def test_what_a_killed_command_left_beside_the_runs_goes_with_them() -> None:
    left = paths.runs() / "own-0a1b2c3d"
    left.mkdir(parents=True)
    (left / "events.log").write_text("")
    assert "nothing to remove" in clean().output
    assert "removed: 1 builds, copies and runs" in clean("--runs", "--apply").output
    assert not left.exists()
    with working_folder() as home:
        told = clean("--runs", "--apply").output
        assert f"stays: {home}: in use by another command of tare" in told and home.exists()


@pytest.mark.parametrize("name", ["bench-b1", "host-server"])
def test_the_folder_of_a_bench_or_a_host_is_not_called_strange(name: str) -> None:
    folder = paths.runs() / name
    folder.mkdir(parents=True)
    told = clean("--runs", "--apply").output
    assert f"stays: {folder}: the folder of a bench or a host of this name" in told
    assert folder.exists()


def test_a_worktree_goes_from_its_repository_too(tmp_path: Path) -> None:
    repository = tmp_path / "project"
    git(tmp_path, "init", "--quiet", str(repository))
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "One")
    # In a process of its own, which holds the build for as long as it lives.
    script = (
        "import sys; from pathlib import Path; from tare.lab.project import worktrees\n"
        "worktrees.both(Path(sys.argv[1]), 'HEAD', 'touch built', print)"
    )
    subprocess.run([sys.executable, "-c", script, str(repository)], check=True)
    (tree,) = paths.refs().glob("project-*")
    assert len(git(repository, "worktree", "list").splitlines()) == 2
    assert "removed: 1 builds" in clean("--apply").output
    assert not tree.exists()
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_worktree_whose_build_was_cut_off_goes_too(tmp_path: Path) -> None:
    repository, tree = tmp_path / "project", paths.refs() / f"project-{'0' * 16}"
    git(tmp_path, "init", "--quiet", str(repository))
    git(repository, "commit", "--quiet", "--allow-empty", "-m", "One")
    git(repository, "worktree", "add", "--quiet", "--detach", str(tree))
    told = clean("--apply").output
    assert "removed: 1 builds" in told and not tree.exists(), told
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def git(folder: Path, *arguments: str) -> str:
    name = ("-c", "user.name=Somebody", "-c", "user.email=somebody@example.org")
    argv = ["git", "-C", str(folder), *name, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


def test_a_copy_of_an_exchanged_part_goes_unless_a_run_still_needs_it() -> None:
    free, needed = copied(), copied("6" * 64)
    finished, unfinished = run("a"), run("b", finished=False)
    for folder, copy in ((finished, free), (unfinished, needed)):
        plan = {"parts": {"library": {"sha256": copy.parent.name}}}
        (folder / "plan.json").write_text(json.dumps(plan))
    told = clean("--apply").output
    assert "removed: 1 builds and copies, 1.0 MB" in told
    assert f"stays: {needed.parent}: tare resume b needs it" in told
    assert not free.parent.exists() and needed.exists()
    (unfinished / "results.json").write_text("{}")
    clean("--apply")
    assert not needed.parent.exists()


def test_a_copy_in_use_or_of_others_stays(held: Callable[[Path], None]) -> None:
    used, strange = copied(), copied("not-a-digest")
    held(used)
    told = clean("--apply").output
    assert f"stays: {used.parent}: in use by another command of tare" in told
    assert f"stays: {strange.parent}: not made by tare" in told
    assert used.exists() and strange.exists()


def test_a_copy_of_what_is_up_stays() -> None:
    copy = copied()
    up = INSTANCE | {"part": {"library": str(copy)}}
    state = paths.instances() / "toy" / "one" / "state.json"
    state.parent.mkdir(parents=True)
    state.write_text(json.dumps(up))
    assert "toy/one is up; tare down toy/one takes it down" in clean("--apply").output
    assert copy.exists()
