"""Files of Debian packages for any architecture, fetched without installing them."""

import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tare.lab.paths import cache as cache_folder

_KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
_PATIENCE_S = 300


@cache
def files(package: str, architecture: str) -> Path:
    """The folder into which a package is unpacked, or the one that an empty package depends on
    first. The newest version counts, of backports too. Skips the test if it cannot be fetched.
    """
    kept = cache_folder() / "debian" / f"{package}-{architecture}"
    if kept.is_dir():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=kept.parent) as work:
        folder = Path(work)
        try:
            archive = _fetch(package, architecture, folder)
        except (OSError, subprocess.SubprocessError) as error:
            pytest.skip(f"Debian's {package} for {architecture} cannot be fetched: {error}")
        unpacked = folder / "unpacked"
        subprocess.run(["dpkg-deb", "-x", archive, unpacked], check=True)
        unpacked.rename(kept)
    return kept


def _fetch(package: str, architecture: str, folder: Path) -> Path:
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    (folder / "status").touch()
    where = _run("apt-get", "indextargets", "--format", "$(REPO_URI) $(CODENAME)")
    uri, codename = _archive(where)
    line = f"deb [signed-by={_KEYRING}] {uri} {{}} main\n"
    suites = (codename, f"{codename}-backports")
    (folder / "sources.list").write_text("".join(line.format(suite) for suite in suites))
    options = {
        "APT::Architecture": architecture,
        "APT::Architectures::": architecture,
        "APT::Sandbox::User": "root",
        "Dir::State": folder / "state",
        "Dir::State::status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "-",
    }
    own = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    _run("apt-get", *own, "update", folder=folder)
    newest = _field(_run("apt-cache", *own, "show", package, folder=folder), "Version")
    about = _run("apt-cache", *own, "show", f"{package}={newest}", folder=folder)
    # A kernel's package without a version only names the newest one.
    first = re.match(r"(linux-image-\d\S*)", _field(about, "Depends"))
    wanted = first[1] if first else f"{package}={newest}"
    _run("apt-get", *own, "download", wanted, folder=folder)
    (archive,) = folder.glob("*.deb")
    return archive


def _archive(targets: str) -> tuple[str, str]:
    """The address and the name of the main suite, from apt's list of what it knows."""
    for line in targets.splitlines():
        uri, _, codename = line.partition(" ")
        if uri.rstrip("/").endswith("/debian") and "-" not in codename:
            return uri, codename
    raise OSError("apt knows no archive of Debian's")


def _field(text: str, name: str) -> str:
    """The first of an answer's fields of this name: apt shows the newest version first."""
    found = re.search(rf"^{name}: (.*)$", text, re.M)
    return found[1] if found else ""


def _run(*argv: str, folder: Path | None = None) -> str:
    done = subprocess.run(
        argv, cwd=folder, check=True, capture_output=True, text=True, timeout=_PATIENCE_S
    )
    return done.stdout
