"""A small machine, emulated, for what this one does not have: it runs a script and ends."""

import gzip
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import debian

_DIRECTORY, _PROGRAM = 0o040755, 0o100755
_PATIENCE_S = 900
# The first root, in which a machine begins, cannot be left for another by pivot_root.
_INIT = """#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t tmpfs root /new
for each in /*; do [ "$each" = /new ] || $busybox cp -a "$each" /new; done
exec $busybox switch_root /new /second
"""
_SECOND = """#!/bin/busybox sh
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
echo # the firmware's last line has no end
sh /script
poweroff -f
"""


@dataclass(frozen=True)
class Architecture:
    """A kind of machine."""

    name: str
    """As Debian calls it."""
    emulator: str
    package: str
    """Debian's, with the emulator."""
    options: tuple[str, ...]
    console: str


# QEMU 7.2 gets CMPXCHG16B wrong now and then, and newer kernels use it wherever it is.
AMD64 = Architecture(
    "amd64", "qemu-system-x86_64", "qemu-system-x86", ("-cpu", "max,cx16=off"), "ttyS0"
)
# Emulating the architecture's own signatures of pointers takes most of the time.
ARM64 = Architecture(
    "arm64", "qemu-system-aarch64", "qemu-system-arm",
    ("-machine", "virt", "-cpu", "max,pauth-impdef=on"), "ttyAMA0",
)  # fmt: skip


def missing(architecture: Architecture = AMD64) -> str | None:
    """What the emulation lacks, and how to get it."""
    if shutil.which(architecture.emulator) is None:
        return f"no {architecture.emulator} (apt: {architecture.package})"
    return None


def run(
    script: str,
    files: Mapping[str, Path],
    folder: Path,
    cpus: int = 1,
    architecture: Architecture = AMD64,
) -> str:
    """What a shell script prints as root of a machine that has Debian's newest kernel, these
    files, the libraries that they need, and CPUs with nearly all that the emulator knows."""
    kernel = debian.files(f"linux-image-cloud-{architecture.name}", architecture.name)
    busybox = debian.files("busybox-static", architecture.name) / "bin" / "busybox"
    all_files = {"bin/busybox": busybox} | dict(files)
    for name, text in (("init", _INIT), ("second", _SECOND), ("script", script)):
        all_files[name] = folder / f"{name}.sh"
        all_files[name].write_text(text)
    listed = subprocess.run(["ldd", *files.values()], capture_output=True, text=True, check=False)
    for needed in re.findall(r"(/\S+) \(0x", listed.stdout):
        all_files[needed.lstrip("/")] = Path(needed)
    image = folder / "image.gz"
    image.write_bytes(gzip.compress(_archive(all_files), 1))
    machine = ["-accel", "tcg", *architecture.options, "-smp", str(cpus), "-m", "1024"]
    (booted,) = (kernel / "boot").glob("vmlinuz-*")
    start = ["-kernel", booted, "-initrd", image]
    start += ["-append", f"console={architecture.console} quiet panic=-1"]
    argv = [architecture.emulator, *machine, "-nographic", "-no-reboot", *start]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE_S, check=True
    )
    return done.stdout.decode(errors="replace").replace("\r", "")


def _archive(files: Mapping[str, Path]) -> bytes:
    """The files and their folders in the form that Linux unpacks (cpio, newc)."""
    places = {"proc", "sys", "dev", "tmp", "bin", "lib", "lib64", "new"}
    folders = {str(parent) for name in files for parent in Path(name).parents} | places
    members = [(name, _DIRECTORY, b"") for name in sorted(folders - {"."})]
    members += [(name, _PROGRAM, path.read_bytes()) for name, path in files.items()]
    packed = b""
    for number, (name, mode, content) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        packed += head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
    return packed
