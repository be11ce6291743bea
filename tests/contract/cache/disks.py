"""Small disks for the contract tests of `cache`: that fill up, whose end fails, that are slow.

A disk is a file system on a loop device. Cut off the end of the file behind it, and the device
answers reads from there with an I/O error, as a disk with bad blocks would.
"""

import fcntl
import os
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tare.lab.machine import limits
from tare.lab.machine.cgroup import Group

BLOCK = 4096
_FIBMAP = 1


class Disk:
    """A mounted file system of so many MiB."""

    def __init__(self, image: Path, folder: Path) -> None:
        self.image, self.folder = image, folder
        self._lost = b""

    def blocks(self, file: Path) -> list[int]:
        """Where on the disk the file's blocks are."""
        with file.open("rb") as opened:
            count = -(-file.stat().st_size // BLOCK)
            asked = (fcntl.ioctl(opened, _FIBMAP, struct.pack("i", each)) for each in range(count))
            return [struct.unpack("i", answer)[0] for answer in asked]

    def fail_from(self, block: int) -> None:
        """Reads from that block on are I/O errors."""
        with self.image.open("r+b") as opened:
            opened.seek(block * BLOCK)
            self._lost = opened.read()
            opened.truncate(block * BLOCK)

    def repair(self) -> None:
        """What was lost is back."""
        with self.image.open("ab") as opened:
            opened.write(self._lost)

    def forget(self) -> None:
        """Nothing of it is in memory any more, not even a file's name."""
        _unmount(self.folder)
        with self.image.open("rb") as opened:
            os.fsync(opened)
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        _mount(self.image, self.folder)

    def slow_down(self, group: Group, reads_per_s: int) -> None:
        """What runs in the group gets so many reads a second; 0: as many as it likes.

        Also from the disk that the image is on: newer kernels let reads of names, and of what else
        is not a file's content, pass a limit of the disk itself.
        """
        for device in (_number(self.folder), limits.disk(self.image.parent)):
            if group.kind == "v2":
                (group.folders["v2"] / "io.max").write_text(
                    f"{device} riops={reads_per_s or 'max'}"
                )
            else:
                file = group.folders["blkio"] / "blkio.throttle.read_iops_device"
                file.write_text(f"{device} {reads_per_s}")

    @contextmanager
    def reading_ahead(self, size_kb: int) -> Iterator[None]:
        """So far beyond what is asked for."""
        file = Path("/sys/dev/block") / _number(self.folder) / "queue" / "read_ahead_kb"
        before = file.read_text()
        file.write_text(str(size_kb))
        yield
        file.write_text(before)

    def fill_up(self) -> Path:
        """A file that takes all that was left."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as opened:
            for size in (1 << 20, BLOCK, 1):
                try:
                    while True:
                        opened.write(bytes(size))
                except OSError:
                    continue
        return filler


@contextmanager
def mounted(image: Path, folder: Path, size_mb: int) -> Iterator[Disk]:
    """A new disk on `folder`, which is made if need be."""
    folder.mkdir(exist_ok=True)
    with image.open("wb") as opened:
        opened.truncate(size_mb << 20)
    # Without a journal, whose blocks could be among those that fail, and all inodes at the front.
    features = ["-O", "^has_journal", "-E", "lazy_itable_init=0", "-m", "0", "-b", str(BLOCK)]
    subprocess.run(["mkfs.ext4", "-q", *features, str(image)], check=True)
    _mount(image, folder)
    try:
        yield Disk(image, folder)
    finally:
        _unmount(folder)


def _number(folder: Path) -> str:
    number = folder.stat().st_dev
    return f"{os.major(number)}:{os.minor(number)}"


def _mount(image: Path, folder: Path) -> None:
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)


def _unmount(folder: Path) -> None:
    # Who has files of it open is about to close them.
    give_up = time.monotonic() + 10
    while subprocess.run(["umount", str(folder)], check=False).returncode != 0:
        assert time.monotonic() < give_up, f"{folder} cannot be unmounted"
        time.sleep(0.2)
