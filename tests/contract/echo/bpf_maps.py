"""How many entries the BPF maps of another process hold (bpf(2), pidfd_getfd(2))."""

import ctypes
import os
from pathlib import Path

_BPF, _PIDFD_GETFD = 321, 438  # of x86-64 and, the second, of all
_GET_NEXT_KEY = 4
_KEY_BYTES = 64
_HASHES = (1, 18)  # BPF_MAP_TYPE_HASH, BPF_MAP_TYPE_SOCKHASH
_libc = ctypes.CDLL(None, use_errno=True)


class _Attributes(ctypes.Structure):
    _fields_ = [
        ("map", ctypes.c_uint32),
        ("key", ctypes.c_uint64),
        ("next", ctypes.c_uint64),
    ]


def hash_entries(pid: int) -> int:
    """Entries of all hash maps, those of sockets included, that the process has open."""
    process = os.pidfd_open(pid)
    try:
        return sum(
            _entries(process, int(info.name))
            for info in Path(f"/proc/{pid}/fdinfo").iterdir()
            if _is_hash(info)
        )
    finally:
        os.close(process)


def _is_hash(info: Path) -> bool:
    try:
        text = info.read_text()
    except FileNotFoundError:
        return False  # a socket that has been closed since the folder was listed
    return any(f"map_type:\t{kind}\n" in text for kind in _HASHES)


def _entries(process: int, number: int) -> int:
    own = _libc.syscall(_PIDFD_GETFD, process, number, 0)
    assert own >= 0, os.strerror(ctypes.get_errno())
    key, following = (
        ctypes.create_string_buffer(_KEY_BYTES),
        ctypes.create_string_buffer(_KEY_BYTES),
    )
    attributes = _Attributes(own, 0, ctypes.addressof(following))
    count = 0
    while (
        _libc.syscall(_BPF, _GET_NEXT_KEY, ctypes.byref(attributes), ctypes.sizeof(attributes)) == 0
    ):
        count += 1
        key, following = following, key
        attributes.key, attributes.next = ctypes.addressof(key), ctypes.addressof(following)
    os.close(own)
    return count
