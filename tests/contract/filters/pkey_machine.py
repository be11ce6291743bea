"""A machine with protection keys, emulated, for those without: it runs the probe and ends."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

EMULATOR = shutil.which("qemu-system-x86_64")
KERNELS = sorted(Path("/boot").glob("vmlinuz-*"))
INIT = Path(__file__).with_name("pkey_init.c")
_DIRECTORY, _PROGRAM = 0o040755, 0o100755


def missing() -> str | None:
    """What the emulation lacks, and how to get it."""
    if EMULATOR is None:
        return "no CPU with protection keys and no qemu-system-x86_64 (apt: qemu-system-x86)"
    if not KERNELS:
        return "no CPU with protection keys and no kernel in /boot (apt: linux-image-cloud-amd64)"
    return None


def run(probe: Path, library: Path, folder: Path) -> str:
    """What the probe prints, on a CPU that has all that the emulator can emulate."""
    init = folder / "init"
    flags = ["-O1", "-static", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, str(INIT), "-o", str(init)], check=True)
    files = {"init": init, "probe": probe, "url_filter.so": library}
    listed = subprocess.run(["ldd", probe, library], capture_output=True, text=True, check=True)
    for needed in re.findall(r"(/\S+) \(0x", listed.stdout):
        files[needed.lstrip("/")] = Path(needed)
    image = folder / "image.gz"
    image.write_bytes(gzip.compress(_archive(files), 1))
    argv = [EMULATOR, "-accel", "tcg", "-cpu", "max", "-m", "512", "-nographic", "-no-reboot"]
    argv += ["-kernel", KERNELS[-1], "-initrd", image, "-append", "console=ttyS0 quiet panic=-1"]
    done = subprocess.run(argv, capture_output=True, timeout=200, check=True)
    return done.stdout.decode(errors="replace").replace("\r", "")


def _archive(files: dict[str, Path]) -> bytes:
    """The files and their folders in the form that Linux unpacks (cpio, newc)."""
    folders = {str(parent) for name in files for parent in Path(name).parents} | {"proc"}
    members = [(name, _DIRECTORY, b"") for name in sorted(folders - {"."})]
    members += [(name, _PROGRAM, path.read_bytes()) for name, path in files.items()]
    packed = b""
    for number, (name, mode, content) in enumerate([*members, ("TRAILER!!!", 0, b"")], 1):
        path = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(path), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
        packed += head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
    return packed
