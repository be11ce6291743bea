"""What says of a file that it is in memory, and takes it out."""

import importlib.util
import mmap
import os

import pytest

from tare.lab.paths import ROOT

SIZE = 64 * mmap.PAGESIZE
spec = importlib.util.spec_from_file_location(
    "memory", ROOT / "experiments" / "cache" / "memory.py"
)
memory = importlib.util.module_from_spec(spec)
spec.loader.exec_module(memory)


@pytest.fixture
def file(tmp_path):
    made = tmp_path / "file"
    made.write_bytes(os.urandom(SIZE))
    return made


def test_what_was_written_is_there_until_it_is_dropped(file, tmp_path):
    (tmp_path / "empty").touch()
    assert memory.resident([file, tmp_path / "empty"]) == (64, 64)
    memory.drop([file])
    assert memory.resident([file]) == (0, 64)
    with file.open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
        opened.seek(SIZE // 2)
        os.read(opened.fileno(), 1)
    assert 1 <= memory.resident([file])[0] < 64


def test_what_a_process_has_mapped_is_dropped_too(file):
    content = file.read_bytes()
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[0] ^= 1
        assert sum(mapped[:]) >= 0 and memory.resident([file]) == (64, 64)
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        assert memory.resident([file])[0] > 0, "else there was nothing to see to"
        memory.drop([file])
        assert memory.resident([file]) == (0, 64)
        assert mapped[1:] == content[1:] and mapped[0] == content[0] ^ 1


def test_who_reads_from_the_disk_is_seen(file):
    with file.open("rb", buffering=0) as opened:
        memory.drop([file])
        before = memory.read_by_users([file])
        opened.read(SIZE)
        assert memory.read_by_users([file]) >= before + SIZE
        once = memory.read_by_users([file])
        opened.seek(0)
        opened.read(SIZE)
        assert memory.read_by_users([file]) == once


def test_where_nobody_reads_it_cannot_be_seen_that_nobody_read(file):
    with pytest.raises(SystemExit, match="no process has a file of the cache open"):
        memory.read_by_users([file])
