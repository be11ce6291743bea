"""Small disks for the contract tests of `cache`: ones that fill up, and ones whose end fails.

A disk is a file system on a loop device. Cut off the end of the file behind it, and the device
answers reads from there with an I/O error, as a disk with bad blocks would.
"""

import fcntl
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    try:
        yield Disk(image, folder)
    finally:
        # Who has files of it open is about to close them.
        give_up = time.monotonic() + 10
        while subprocess.run(["umount", str(folder)], check=False).returncode != 0:
            assert time.monotonic() < give_up, f"{folder} cannot be unmounted"
            time.sleep(0.2)
