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


@dataclass(frozen=True)
class Built:
    """A ref that was built: the folder that stands for the user's, and the commit."""

    folder: Path
    commit: str


def both(folder: Path, against: str, command: str, say: Say) -> tuple[Built, Built]:
    """Build the ref `against` and the work tree around `folder`, changes included.

    Return the folders that correspond to `folder`. Raises BuildError for what is no repository or
    no ref, and for a build that fails, with its last lines.
    """
    top = Path(_git(folder, "rev-parse", "--show-toplevel"))
    old = _git(folder, "rev-parse", "--verify", f"{against}^{{commit}}")
    new = _git(folder, "stash", "create") or _git(folder, "rev-parse", "HEAD")
    if untracked := _git(top, "ls-files", "--others", "--exclude-standard").splitlines():
        shown = ", ".join(untracked[:3]) + (" …" if len(untracked) > 3 else "")
        say(f"not in the build, since git does not track it: {shown}; git add makes it part")
    if new != _git(folder, "rev-parse", "HEAD"):
        say("the work tree has changes, which are part of the new side")
    inner = folder.resolve().relative_to(top.resolve())
    built = [_build(top, commit, command, inner, say) for commit in (old, new)]
    return built[0], built[1]


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
