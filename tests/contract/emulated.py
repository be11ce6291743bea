"""A small machine, emulated, for what this one does not have: it runs a script and ends."""

import gzip
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

_EMULATOR = shutil.which("qemu-system-x86_64")
_BUSYBOX = Path("/bin/busybox")
_DIRECTORY, _PROGRAM = 0o040755, 0o100755
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


def missing(least: tuple[int, int] = (0, 0)) -> str | None:
    """What the emulation lacks, with a kernel of at least such a version, and how to get it."""
    if _EMULATOR is None:
        return "no qemu-system-x86_64 (apt: qemu-system-x86)"
    if not _BUSYBOX.exists():
        return f"no {_BUSYBOX} (apt: busybox-static)"
    if not [kernel for kernel in _kernels() if _version(kernel) >= least]:
        version = ".".join(map(str, least))
        package = "linux-image-cloud-amd64, of backports if need be"
        return f"no kernel of version {version} in /boot (apt: {package})"
    return None


def run(script: str, files: Mapping[str, Path], folder: Path, cpus: int = 1) -> str:
    """What a shell script prints as root of a machine that has the newest kernel of /boot, these
    files, the libraries that they need, and CPUs with nearly all that the emulator knows."""
    all_files = {"bin/busybox": _BUSYBOX} | dict(files)
    for name, text in (("init", _INIT), ("second", _SECOND), ("script", script)):
        all_files[name] = folder / f"{name}.sh"
        all_files[name].write_text(text)
    listed = subprocess.run(["ldd", *files.values()], capture_output=True, text=True, check=False)
    for needed in re.findall(r"(/\S+) \(0x", listed.stdout):
        all_files[needed.lstrip("/")] = Path(needed)
    image = folder / "image.gz"
    image.write_bytes(gzip.compress(_archive(all_files), 1))
    # QEMU 7.2 gets CMPXCHG16B wrong now and then, and newer kernels use it wherever it is.
    machine = ["-accel", "tcg", "-cpu", "max,cx16=off", "-smp", str(cpus), "-m", "1024"]
    kernel = ["-kernel", max(_kernels(), key=_version), "-initrd", image]
    kernel += ["-append", "console=ttyS0 quiet panic=-1"]
    argv = [_EMULATOR, *machine, "-nographic", "-no-reboot", *kernel]
    done = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=240, check=True
    )
    return done.stdout.decode(errors="replace").replace("\r", "")


def _kernels() -> list[Path]:
    return list(Path("/boot").glob("vmlinuz-*"))


def _version(kernel: Path) -> tuple[int, int]:
    major, minor = re.findall(r"\d+", kernel.name)[:2]
    return int(major), int(minor)


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
