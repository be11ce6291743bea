"""Builds of a user's own git refs, in worktrees of their own outside the user's tree."""

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tare.lab import paths
from tare.lab.errors import BuildError
from tare.lab.project import in_use
from tare.lab.project.build import Say

DONE = ".tare-built"
"""The file that a complete build holds."""
_LAST_LINES = 12
_SHOWN = 3
_POINTER = b"version https://git-lfs.github.com/spec/"
"""How a file begins that git-lfs did not fetch."""


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
    commit = _git(top, "stash", "create") or last
    if untracked := _git(top, "ls-files", "--others", "--exclude-standard").splitlines():
        say(
            f"not in the build, since git does not track it: {_some(untracked)}; "
            "git add makes it part"
        )
    if commit != last:
        say(f"the work tree has changes, which are part of the {side} side")
    return commit


def _build(top: Path, commit: str, command: str, inner: Path, say: Say) -> Built:
    """Build one commit, unless the same command has built it before."""
    digest = hashlib.sha256(f"{top}\0{commit}\0{command}".encode()).hexdigest()[:16]
    tree = paths.refs() / f"{top.name}-{digest}"
    if not in_use.hold(tree / DONE):
        say(f"building {commit[:12]}: {command}")
        _remove(top, tree)
        tree.parent.mkdir(parents=True, exist_ok=True)
        _git(top, "worktree", "add", "--quiet", "--detach", str(tree), commit)
        if (tree / ".gitmodules").exists():
            _git(tree, "submodule", "update", "--init", "--recursive", "--quiet")
        if pointers := _pointers(tree):
            say(
                f"git-lfs did not fetch {_some(pointers)}, so the build of {commit[:12]} has only "
                "pointers to them; `git lfs install` makes git fetch them"
            )
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=tree / inner,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode != 0:
            _remove(top, tree)
            lines = "\n  ".join(done.stdout.strip().splitlines()[-_LAST_LINES:])
            raise BuildError(
                f"the build of {commit[:12]} ended with exit code {done.returncode}: {command}\n"
                f"  {lines or 'it printed nothing'}"
            )
        (tree / DONE).touch()
        in_use.hold(tree / DONE)
    return Built(tree / inner, commit)


def _pointers(tree: Path) -> list[str]:
    """Return the files of a work tree that git-lfs was to fetch and did not."""
    files = _git(tree, "ls-files", ":(attr:filter=lfs)").splitlines()
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
    _git(top, "worktree", "prune")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        told = done.stderr.strip().splitlines()
        raise BuildError(f"{_command(arguments)}: {told[-1] if told else 'failed'}")
    return done.stdout.strip()


def _command(arguments: Sequence[str]) -> str:
    return "git " + " ".join(arguments)
