"""Check what a variant requires, and install it where a package manager can."""

import os
import shutil
import subprocess
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from tare.lab.errors import BuildError, Unavailable
from tare.lab.project import build, catalog
from tare.lab.project.build import Say
from tare.model.fields import Requirement
from tare.model.manifest import LevelRule

_CPUINFO = Path("/proc/cpuinfo")
_PCI = Path("/sys/bus/pci/devices")


def of(loaded: catalog.Loaded, variant: str) -> list[Requirement]:
    """A variant's requirements, its components' included, each once: without the programs that
    build what is built already.
    """
    manifest = loaded.variants[variant]
    own = _lacking(manifest.requires, built=build.is_variant_built(loaded, variant))
    return list(dict.fromkeys([*own, *of_components(manifest.components)]))


def of_rule(rule: LevelRule) -> list[Requirement]:
    """Those of single levels, likewise."""
    return list(dict.fromkeys([*rule.requires, *of_components(rule.components)]))


def of_components(names: Iterable[str]) -> list[Requirement]:
    """The requirements of components, and of those that these are built from: likewise."""
    found = []
    for name in names:
        manifest = catalog.component(name)
        own = _lacking(manifest.requires, built=build.is_built(name))
        found += [*own, *of_components(manifest.components)]
    return found


def _lacking(required: Iterable[Requirement], *, built: bool) -> list[Requirement]:
    """Return all but the programs of something built: they built it, and nothing else."""
    return [item for item in required if not (built and item.command)]


def missing(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Those that are not met."""
    return [item for item in requirements if not _met(item)]


def attainable(requirements: Iterable[Requirement]) -> bool:
    """Return true if what is missing can be installed."""
    return all(item.debian and not item.root for item in missing(requirements))


def meet(requirements: Iterable[Requirement], say: Say) -> None:
    """Install what is missing. Raises Unavailable with the remedy where it cannot, and then
    nothing is installed.
    """
    lacking = missing(requirements)
    for item in lacking:
        if item.root:
            raise Unavailable(f"this needs root: {item.remedy}")
        if not item.debian:
            raise Unavailable(f"{_name(item)} is not there: {item.remedy}")
    packages = sorted({item.debian for item in lacking if item.debian})
    if packages and is_debian():
        _install(packages, say)
    elif packages:
        say(f"this system is not Debian: install the equivalents of {' '.join(packages)} yourself")


def _name(item: Requirement) -> str | None:
    if item.cpu:
        return f"the CPU's {item.cpu}"
    return f"a PCI device {item.pci}" if item.pci else item.command or item.path


def is_debian() -> bool:
    """Return true if packages can be installed by apt."""
    return shutil.which("apt-get") is not None and shutil.which("dpkg-query") is not None


def _met(item: Requirement) -> bool:
    if item.command:
        return shutil.which(item.command) is not None
    if item.path:
        return Path(item.path).exists()
    if item.cpu:
        return item.cpu in _cpu_flags()
    if item.pci:
        return any(fnmatchcase(device, item.pci) for device in _pci_devices())
    if item.root:
        return os.geteuid() == 0
    assert item.debian is not None
    return is_debian() and item.debian in _installed()


@cache
def _cpu_flags() -> frozenset[str]:
    """Those that the processor, and the kernel for it, have."""
    for line in _CPUINFO.read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() in ("flags", "Features"):
            return frozenset(value.split())
    return frozenset()


def _pci_devices() -> list[str]:
    """VENDOR:DEVICE of each."""
    found = []
    for folder in _PCI.glob("*"):
        vendor, device = ((folder / name).read_text().strip() for name in ("vendor", "device"))
        found.append(f"{vendor.removeprefix('0x')}:{device.removeprefix('0x')}")
    return found


@cache
def _installed() -> frozenset[str]:
    form = "${Package} ${db:Status-Status}\n"
    listed = subprocess.run(
        ["dpkg-query", "-W", f"-f={form}"], capture_output=True, text=True, check=True
    ).stdout
    pairs = (line.split() for line in listed.splitlines())
    return frozenset(pair[0] for pair in pairs if pair[1:] == ["installed"])


def _install(packages: list[str], say: Say) -> None:
    install = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    by_hand = f"sudo apt-get update && sudo {' '.join(install)}"
    # sudo drops the environment, so env sets it behind sudo.
    prefix = ["env", "DEBIAN_FRONTEND=noninteractive"]
    if not (root := os.geteuid() == 0):
        if shutil.which("sudo") is None:
            raise Unavailable(f"packages are missing and there is no sudo; as root: {by_hand}")
        prefix = ["sudo", "-n", *prefix]
    say(f"installing {' '.join(packages)} …")
    for argv in (["apt-get", "update", "-q"], install):
        done = subprocess.run(prefix + argv, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            continue
        if not root and "password" in done.stderr:
            raise Unavailable(f"installing packages needs a password; run: {by_hand}")
        tail = "\n".join((done.stdout + done.stderr).splitlines()[-8:])
        raise BuildError(f"{' '.join(prefix + argv)} failed; by hand: {by_hand}\n{tail}")
    _installed.cache_clear()
