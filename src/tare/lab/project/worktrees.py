"""Builds of a user's own git refs, in worktrees of their own outside the user's tree."""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tare.lab import paths
from tare.lab.errors import BuildError
from tare.lab.project import build, in_use
from tare.lab.project.build import Say

DONE = ".tare-built"
"""The file that a complete build holds."""
_LAST_LINES = 12
_SHOWN = 3
_POINTER = b"version https://git-lfs.github.com/spec/"
"""How a file begins that git-lfs did not fetch."""
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX")
"""What git tells its hooks of one repository and index, which would win over a worktree's own."""
_INSIDE = 2
"""The field of a line of `git status --porcelain=v2` that tells of a submodule: `S` and marks."""


@dataclass(frozen=True)
class Built:
    """A ref that was built: the folder that stands for the user's, and the commit."""

    folder: Path
    commit: str


def both(folder: Path, against: str, command: str, say: Say) -> tuple[Built, Built]:
    """Build the ref `against` and the work tree around `folder`, changes included. Where `against`
    is no ref but a folder, it is another work tree, and built in the same way.

    Return the folders that correspond to `folder`. Raises BuildError for what is no repository or
    no ref, and for a build that fails, with its last lines.
    """
    top, inner = _repository(folder)
    other = folder / against
    if commit := _commit(top, against):
        old = _build(top, commit, command, inner, say)
    elif other.is_dir():
        its_top, its_inner = _repository(other)
        old = _build(its_top, _work_tree(its_top, "old", say), command, its_inner, say)
    else:
        raise BuildError(
            f"--against {against}: {top} has no such ref, and there is no such folder; "
            "`git branch --all` and `git tag` list the refs, `git fetch` gets those of the remote"
        )
    return old, _build(top, _work_tree(top, "new", say), command, inner, say)


def _repository(folder: Path) -> tuple[Path, Path]:
    """Return the top of the work tree around a folder, and the folder's path in it."""
    try:
        top = Path(_git(folder, "rev-parse", "--show-toplevel"))
    except BuildError as error:
        if "not a git repository" not in str(error):
            raise
        raise BuildError(
            f"{folder} is not a git repository; call tare from the work tree that is to be compared"
        ) from error
    return top, folder.resolve().relative_to(top.resolve())


def _commit(top: Path, ref: str) -> str | None:
    try:
        return _git(top, "rev-parse", "--verify", f"{ref}^{{commit}}")
    except BuildError:
        return None


def _work_tree(top: Path, side: str, say: Say) -> str:
    """Return a commit of the work tree as it is, and say what differs from its last one."""
    last = _git(top, "rev-parse", "HEAD")
    commit = _snapshot(top, last)
    if untracked := _names(top, "ls-files", "--others", "--exclude-standard"):
        say(
            f"not in the build, since git does not track it: {_some(untracked)}; "
            "git add makes it part"
        )
    if inside := _changed_submodules(top):
        say(f"not in the build: changes within the submodules {_some(inside)}; commit them there")
    if commit != last:
        say(f"the work tree has changes, which are part of the {side} side")
    return commit


def _snapshot(top: Path, last: str) -> str:
    """Return a commit of all tracked files as they are: the last one if none has changed. The same
    files make the same commit, and commits of submodules are part of it.
    """
    own = Path(_git(top, "rev-parse", "--path-format=absolute", "--git-path", "index"))
    with tempfile.TemporaryDirectory() as folder:
        index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        if own.exists():
            # With its time, by which git knows files that changed just after they were staged.
            shutil.copy2(own, index["GIT_INDEX_FILE"])
        _git(top, "add", "--update", more=index)
        tree = _git(top, "write-tree", more=index)
    if tree == _git(top, "rev-parse", f"{last}^{{tree}}"):
        return last
    date = _git(top, "show", "--no-patch", "--format=%ct +0000", last)
    who = {
        f"GIT_{role}_{field}": value
        for role in ("AUTHOR", "COMMITTER")
        for field, value in (("NAME", "tare"), ("EMAIL", "tare@localhost"), ("DATE", date))
    }
    return _git(top, "commit-tree", tree, "-p", last, "-m", "The work tree", more=who)


def _changed_submodules(top: Path) -> list[str]:
    """Return the submodules whose files differ from their commits, which no commit can hold."""
    lines = _names(top, "status", "--porcelain=v2", "--ignore-submodules=none")
    fields = [line.split(" ", 8) for line in lines if line.startswith("1 ")]
    return [each[-1] for each in fields if each[_INSIDE][2:] not in ("..", "")]


def _build(top: Path, commit: str, command: str, inner: Path, say: Say) -> Built:
    """Build one commit, unless the same command has built it before in the same folder."""
    asked = os.fsencode(f"{top}\0{commit}\0{command}\0{inner}")
    tree = paths.refs() / f"{top.name}-{hashlib.sha256(asked).hexdigest()[:16]}"
    if not in_use.hold(tree / DONE):
        waiting = f"{commit[:12]}: waiting for another build to end"
        with build.alone(lambda: say(waiting), paths.refs()):
            if not in_use.hold(tree / DONE):
                _make(top, commit, command, tree, inner, say)
    return Built(tree / inner, commit)


def _make(top: Path, commit: str, command: str, tree: Path, inner: Path, say: Say) -> None:
    """Build a commit in a new worktree, which a build that fails or is stopped does not leave."""
    say(f"building {commit[:12]}: {command}")
    _remove(top, tree)
    try:
        _git(top, "worktree", "add", "--force", "--quiet", "--detach", str(tree), commit)
        if (tree / ".gitmodules").exists():
            _git(tree, "submodule", "update", "--init", "--recursive", "--quiet")
        if not (tree / inner).is_dir():
            raise BuildError(f"{commit[:12]} has no folder {inner}; call tare from one that it has")
        if pointers := _pointers(tree):
            say(
                f"git-lfs did not fetch {_some(pointers)}, so the build of {commit[:12]} has only "
                "pointers to them; `git lfs install` makes git fetch them"
            )
        _run(commit, command, tree / inner)
        (tree / DONE).touch()
    except BaseException:
        _remove(top, tree)
        raise
    in_use.hold(tree / DONE)


def _run(commit: str, command: str, folder: Path) -> None:
    """Run the command. Raises BuildError with its last lines if it fails."""
    # To a file: a pipe would stay open for as long as a daemon that the build starts.
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        code = build.run(["/bin/sh", "-c", command], folder, _environment(), log)
        log.seek(0)
        lines = log.read().strip().splitlines()[-_LAST_LINES:] if code else []
    if code:
        told = "\n  ".join(lines) or "it printed nothing"
        raise BuildError(
            f"the build of {commit[:12]} ended with exit code {code}: {command}\n  {told}"
        )


def _pointers(tree: Path) -> list[str]:
    """Return the files of a work tree that git-lfs was to fetch and did not."""
    files = _names(tree, "ls-files", ":(attr:filter=lfs)")
    return [each for each in files if _begins(tree / each, _POINTER)]


def _begins(file: Path, with_: bytes) -> bool:
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        return stream.read(len(with_)) == with_


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")


def remove(tree: Path) -> None:
    """Remove a build, and from its repository's list of worktrees if that still exists."""
    try:
        repository = _git(tree, "rev-parse", "--path-format=absolute", "--git-common-dir")
    except BuildError:
        shutil.rmtree(tree)
    else:
        _remove(Path(repository), tree)


def _remove(top: Path, tree: Path) -> None:
    if tree.exists():
        shutil.rmtree(tree)
    # And no other worktree: one of the user's may be away for now.
    with suppress(BuildError):
        _git(top, "worktree", "remove", "--force", str(tree))


def _names(folder: Path, *arguments: str) -> list[str]:
    """Return what git lists, names as they are."""
    command, *rest = arguments
    return [each for each in _git(folder, command, "-z", *rest).split("\0") if each]


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}


def _git(folder: Path, *arguments: str, more: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments],
        capture_output=True,
        env=_environment() | {"LC_ALL": "C"} | dict(more or {}),
        encoding="utf-8",
        errors="surrogateescape",
        check=False,
    )
    if done.returncode != 0:
        raise BuildError(f"{_command(arguments)}: {_reason(done.stderr) or 'failed'}")
    return done.stdout.strip()


def _reason(told: str) -> str:
    """Return git's last error, with the remedy that it gives on further lines."""
    lines = [line.strip() for line in told.splitlines() if line.strip()]
    begins = [at for at, line in enumerate(lines) if line.startswith(("fatal: ", "error: "))]
    return " ".join(lines[begins[-1] if begins else -1 :])


def _command(arguments: Sequence[str]) -> str:
    return "git " + " ".join(arguments)
