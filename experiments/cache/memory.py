"""Count and drop the pages of given files in memory."""

import contextlib
import ctypes
import mmap
import os
import sys
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

_PIDFD_OPEN = 434
_PROCESS_MADVISE = 440
"""Numbers of system calls: the same on all architectures."""
_MADV_PAGEOUT = 21
_LIBC = ctypes.CDLL(None, use_errno=True)


class _Part(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


def drop(files: Iterable[Path]) -> None:
    """Write the files to the disk, and forget their pages, also those that a process has mapped."""
    wanted = list(files)
    for file in wanted:
        with file.open("rb") as opened:
            os.fsync(opened.fileno())  # what is not yet written would stay
    _page_out({str(file.resolve()) for file in wanted})
    for file in wanted:
        with file.open("rb") as opened:
            os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def resident(files: Iterable[Path]) -> tuple[int, int]:
    """Return the pages of the files that are in memory, and all pages of the files."""
    pages = found = 0
    for file in files:
        if file.stat().st_size == 0:
            continue
        with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, mmap.MAP_PRIVATE) as mapped:
            count = -(-len(mapped) // mmap.PAGESIZE)
            vector = (ctypes.c_ubyte * count)()
            start = ctypes.c_char.from_buffer(mapped)
            if _LIBC.mincore(ctypes.byref(start), ctypes.c_size_t(len(mapped)), vector) != 0:
                sys.exit(f"fill: {file}: mincore: {os.strerror(ctypes.get_errno())}")
            del start
        pages += count
        found += sum(page & 1 for page in bytes(vector))
    return found, pages


def read_by_users(files: Iterable[Path]) -> int:
    """Return the bytes that processes with one of the files open have read from disks since they
    began. Exit if there is no such process.
    """
    wanted = {str(file.resolve()) for file in files}
    users = total = 0
    for pid in _processes():
        # A process may end, or be somebody else's.
        with contextlib.suppress(OSError):
            if wanted & set(_open_files(pid)):
                lines = Path(f"/proc/{pid}/io").read_text().splitlines()
                total += int(dict(line.split(": ") for line in lines)["read_bytes"])
                users += 1
    if not users:
        sys.exit("fill: no process has a file of the cache open, so reads cannot be counted")
    return total


def _processes() -> Iterator[int]:
    return (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())


def _open_files(pid: int) -> Iterator[str]:
    for entry in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed meanwhile
            yield str(entry.readlink())


def _page_out(wanted: Set[str]) -> None:
    """Pages that a process has mapped stay until it is told, or made, to let go of them."""
    for pid in _processes():
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        for line in lines:
            addresses, _, _, _, _, *name = line.split(maxsplit=5)
            if name and name[0] in wanted:
                _page_out_part(pid, addresses)


def _page_out_part(pid: int, addresses: str) -> None:
    first, last = (int(part, 16) for part in addresses.split("-"))
    descriptor = _LIBC.syscall(_PIDFD_OPEN, pid, 0)
    while first < last:
        part = _Part(first, last - first)
        done = _LIBC.syscall(_PROCESS_MADVISE, descriptor, ctypes.byref(part), 1, _MADV_PAGEOUT, 0)
        if done <= 0:
            sys.exit(f"fill: process_madvise: {os.strerror(ctypes.get_errno())}")
        first += done
    os.close(descriptor)
