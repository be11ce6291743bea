"""Builds of git refs: both sides of a change, outside the user's tree."""

import subprocess
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
