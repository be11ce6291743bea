"""Builds of git refs: both sides of a change, outside the user's tree."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tare.lab.errors import BuildError
from tare.lab.project import worktrees

BUILD = "cp source built && echo once >> log"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Somebody")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "somebody@example.org")
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "sub" / "source").write_text("one")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "One")
    (folder / "sub" / "source").write_text("two")
    git(folder, "commit", "--quiet", "-am", "Two")
    return folder


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout


def test_both_refs_are_built_where_the_user_stands(repository: Path) -> None:
    said: list[str] = []
    old, new = worktrees.both(repository / "sub", "HEAD~1", BUILD, said.append)
    assert (old.folder / "built").read_text() == "one"
    assert (new.folder / "built").read_text() == "two"
    assert old.folder.name == new.folder.name == "sub"
    assert not (repository / "sub" / "built").exists(), "the user's tree stays as it is"
    assert git(repository, "status", "--porcelain") == ""
    assert [line.split()[0] for line in said] == ["building", "building"]


def test_a_commit_is_built_once_for_a_command(repository: Path) -> None:
    for _ in range(2):
        old, new = worktrees.both(repository / "sub", "HEAD~1", BUILD, lambda _: None)
    assert (old.folder / "log").read_text() == (new.folder / "log").read_text() == "once\n"
    other, _ = worktrees.both(repository / "sub", "HEAD~1", "true", lambda _: None)
    assert other.folder != old.folder


def test_the_same_command_builds_each_folder_that_it_is_called_from(repository: Path) -> None:
    for inner in (".", "sub"):
        old, new = worktrees.both(repository / inner, "HEAD~1", "touch built", lambda _: None)
        assert (old.folder / "built").exists() and (new.folder / "built").exists(), inner


def test_changes_of_the_work_tree_are_the_new_side(repository: Path) -> None:
    (repository / "sub" / "source").write_text("three")
    (repository / "notes").write_text("x")
    said: list[str] = []
    old, new = worktrees.both(repository / "sub", "HEAD", BUILD, said.append)
    assert (old.folder / "built").read_text() == "two"
    assert (new.folder / "built").read_text() == "three"
    assert any("does not track it: notes" in line for line in said)
    assert "the work tree has changes, which are part of the new side" in said
    assert git(repository, "stash", "list") == ""


def test_the_same_changes_are_built_once_and_nothing_is_staged(repository: Path) -> None:
    (repository / "sub" / "source").write_text("three")
    before = git(repository, "status", "--porcelain")
    for _ in range(2):
        _, new = worktrees.both(repository / "sub", "HEAD", BUILD, lambda _: None)
    assert (new.folder / "log").read_text() == "once\n"
    assert git(repository, "status", "--porcelain") == before


def test_a_change_in_the_moment_of_staging_is_seen(repository: Path) -> None:
    source, index = repository / "sub" / "source", repository / ".git" / "index"
    then = time.time_ns() - 10**9
    source.write_text("333")
    os.utime(source, ns=(then, then))
    git(repository, "add", ".")
    source.write_text("444")
    for file in (source, index):
        os.utime(file, ns=(then, then))
    _, new = worktrees.both(repository / "sub", "HEAD", BUILD, lambda _: None)
    assert (new.folder / "built").read_text() == "444"


def test_a_build_that_fails_is_told_by_its_last_lines(repository: Path) -> None:
    command = "seq 1 50; echo no such header >&2; exit 2"
    with pytest.raises(BuildError, match="exit code 2") as caught:
        worktrees.both(repository, "HEAD~1", command, lambda _: None)
    assert str(caught.value).endswith("no such header") and "\n  49" in str(caught.value)
    assert "\n  1\n" not in str(caught.value)


def test_what_is_no_ref_or_no_repository_is_named_with_what_to_do(
    repository: Path, tmp_path: Path
) -> None:
    with pytest.raises(
        BuildError, match=r"no-such-branch: .*`git branch --all` and `git tag` list"
    ):
        worktrees.both(repository, "no-such-branch", "true", lambda _: None)
    with pytest.raises(BuildError, match="is not a git repository; call tare from the work tree"):
        worktrees.both(tmp_path, "HEAD", "true", lambda _: None)


def test_a_repository_of_another_user_is_told_with_git_s_remedy(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    with pytest.raises(BuildError, match=r"dubious ownership .*config --global --add safe\.dir"):
        worktrees.both(repository, "HEAD", "true", lambda _: None)


def test_a_folder_may_be_the_old_side(repository: Path) -> None:
    other = repository.parent / "other"
    git(repository, "worktree", "add", "--quiet", "--detach", str(other), "HEAD~1")
    (other / "sub" / "source").write_text("another")
    said: list[str] = []
    old, new = worktrees.both(repository / "sub", str(other / "sub"), BUILD, said.append)
    assert (old.folder / "built").read_text() == "another"
    assert (new.folder / "built").read_text() == "two"
    assert said[0] == "the work tree has changes, which are part of the old side"


def test_what_git_lfs_did_not_fetch_is_said(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.big filter=lfs -text\n")
    (repository / "a.big").write_text(
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    )
    (repository / "b.big").write_text("whole")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "Three")
    said: list[str] = []
    worktrees.both(repository / "sub", "HEAD~1", BUILD, said.append)
    (line,) = (each for each in said if "git-lfs" in each)
    assert "git-lfs did not fetch a.big, so the build" in line


@pytest.fixture
def library(repository: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A submodule of the repository, at the first of its two commits."""
    for name, value in (
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "protocol.file.allow"),
        ("GIT_CONFIG_VALUE_0", "always"),
    ):
        monkeypatch.setenv(name, value)
    source = repository.parent / "library"
    git(repository.parent, "init", "--quiet", "--initial-branch", "main", str(source))
    for text in ("old", "new"):
        (source / "code").write_text(text)
        git(source, "add", ".")
        git(source, "commit", "--quiet", "-m", text)
    git(repository, "submodule", "--quiet", "add", str(source), "library")
    git(repository / "library", "checkout", "--quiet", "HEAD~1")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "A library")
    return repository / "library"


def test_another_commit_of_a_submodule_is_part_of_the_work_tree(
    repository: Path, library: Path
) -> None:
    git(library, "checkout", "--quiet", "main")
    said: list[str] = []
    old, new = worktrees.both(repository, "HEAD", "cp library/code built", said.append)
    assert ((old.folder / "built").read_text(), (new.folder / "built").read_text()) == (
        "old",
        "new",
    )
    assert "the work tree has changes, which are part of the new side" in said


def test_changes_within_a_submodule_are_said_to_be_left_out(
    repository: Path, library: Path
) -> None:
    (library / "code").write_text("changed")
    said: list[str] = []
    _, new = worktrees.both(repository, "HEAD", "cp library/code built", said.append)
    assert (new.folder / "built").read_text() == "old"
    left_out = "not in the build: changes within the submodules library; commit them there"
    assert left_out in said


def test_a_hook_of_git_may_call_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = repository / ".git" / "index"
    before = index.read_bytes()
    monkeypatch.setenv("GIT_INDEX_FILE", str(index))
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    command = "git rev-parse --show-toplevel > built"
    old, _ = worktrees.both(repository / "sub", "HEAD~1", command, lambda _: None)
    assert (old.folder / "built").read_text().strip() == str(old.folder.parent)
    assert index.read_bytes() == before


def test_a_ref_without_the_folder_is_refused_with_what_to_do(repository: Path) -> None:
    (repository / "later").mkdir()
    (repository / "later" / "file").touch()
    git(repository, "add", ".")
    with pytest.raises(BuildError, match="has no folder later; call tare from one that it has"):
        worktrees.both(repository / "later", "HEAD", "true", lambda _: None)


def test_names_of_any_letters_are_told_as_they_are(repository: Path) -> None:
    (repository / ".gitattributes").write_text("*.big filter=lfs -text\n")
    (repository / "größe.big").write_text("version https://git-lfs.github.com/spec/v1\n")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "Three")
    (repository / "notiz ä").touch()
    said: list[str] = []
    worktrees.both(repository / "sub", "HEAD~1", BUILD, said.append)
    assert any("does not track it: notiz ä;" in line for line in said)
    assert any("git-lfs did not fetch größe.big, so" in line for line in said)


def test_a_daemon_that_a_build_leaves_is_not_waited_for(repository: Path) -> None:
    begun = time.monotonic()
    worktrees.both(repository, "HEAD", "sleep 20 & echo $! > daemon", lambda _: None)
    (tree,) = (repository.parent / "cache" / "refs").glob("project-*")
    os.kill(int((tree / "daemon").read_text()), signal.SIGKILL)
    assert time.monotonic() - begun < 15


def test_a_build_that_is_stopped_leaves_nothing(repository: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from tare.lab import interrupt\n"
        "from tare.lab.project import worktrees\n"
        "with interrupt.raising():\n"
        "    worktrees.both(Path(sys.argv[1]), 'HEAD', sys.argv[2], print)"
    )
    note = repository.parent / "pid"
    command = f"(echo $BASHPID > {note}; exec sleep 60) | cat; true"
    argv = [sys.executable, "-c", script, str(repository), f"bash -c '{command}'"]
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        give_up = time.monotonic() + 30
        while not (note.exists() and note.read_text()) and time.monotonic() < give_up:
            time.sleep(0.05)
        child.terminate()
        child.wait(30)
    stat = Path(f"/proc/{note.read_text().strip()}/stat")
    assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
    assert not list((repository.parent / "cache" / "refs").glob("project-*"))
    assert len(git(repository, "worktree", "list").splitlines()) == 1


def test_a_worktree_of_the_user_s_that_is_away_stays_known(repository: Path) -> None:
    other = repository.parent / "other"
    git(repository, "worktree", "add", "--quiet", "--detach", str(other))
    other.rename(repository.parent / "away")
    worktrees.both(repository, "HEAD", "true", lambda _: None)
    assert str(other) in git(repository, "worktree", "list")
