"""A disk that fails, fills up or is slow: each variant serves what stock nginx would, and no
request is left without an end."""

import os

import pytest
from asking import forget, get, get_all, kept, right
from caches import variants
from disks import mounted

pytestmark = [
    pytest.mark.contract,
    pytest.mark.skipif(os.geteuid() != 0, reason="takes root to mount a disk"),
]
SIZE = 300_000


def log_of(site) -> str:
    """All that the cache said; its workers have not ended by themselves."""
    log: str = (site.folder / "sut" / "sut.log").read_text()
    assert "exited" not in log, log
    return log


@pytest.mark.parametrize("variant", variants)
def test_a_disk_that_fails(start, tmp_path, variant):
    """Whole files fail and the end of one; all others are served, and all again after a repair."""
    site = start(variant)
    paths = [f"/any/failing-{number}-{SIZE}" for number in range(12)]
    expected = {path: right(path, SIZE) for path in paths}
    with mounted(tmp_path / "image", site.folder / "sut" / "disk0", 64) as disk:
        assert dict(zip(paths, get_all(site, paths), strict=True)) == expected
        files = {path: kept(disk.folder, path) for path in paths}
        for file in files.values():
            forget(file)
        where = {path: disk.blocks(file) for path, file in files.items()}
        order = sorted(paths, key=lambda path: max(where[path]))
        torn = order[8]
        # From the second half of that file on.
        cut = sorted(where[torn])[len(where[torn]) // 2]
        good = [path for path in paths if max(where[path]) < cut]
        assert len(good) >= 4 and where[torn][0] < cut
        disk.fail_from(cut)

        found = dict(zip(paths * 2, get_all(site, paths * 2), strict=True))
        assert {path: found[path] for path in good} == {path: expected[path] for path in good}
        for path in set(paths) - set(good):
            status, body = found[path]
            # Not even its head, or cut short after it.
            assert (status, body) == (0, b"") or status >= 500, f"{path} with bad blocks: {status}"
        assert "Input/output error" in log_of(site)

        disk.repair()
        assert dict(zip(paths, get_all(site, paths), strict=True)) == expected
        log_of(site)


@pytest.mark.parametrize("variant", variants)
def test_a_disk_that_is_full(start, tmp_path, variant):
    """What the cache has is served, and what it has not is again once there is room."""
    site = start(variant)
    paths = [f"/any/full-{number}-{SIZE}" for number in range(8)]
    new = [f"/any/new-{number}-{SIZE}" for number in range(4)]
    with mounted(tmp_path / "image", site.folder / "sut" / "disk0", 16) as disk:
        expected = [right(path, SIZE) for path in paths]
        assert get_all(site, paths) == expected
        filler = disk.fill_up()
        for path in paths:
            forget(kept(disk.folder, path))
        assert get_all(site, paths) == expected
        # nginx hands out what it can store, and ends there: with its own threads as with any.
        for path, found in zip(new, get_all(site, new), strict=True):
            assert found in (right(path, SIZE), (0, b"")) or found[0] >= 500
        assert get_all(site, paths) == expected
        filler.unlink()
        assert get_all(site, new) == [right(path, SIZE) for path in new]
        log_of(site)


@pytest.mark.parametrize("variant", variants)
def test_a_disk_that_is_slow(start, variant):
    """Every answer comes whole, also of more readers than there are threads."""
    slow = {"disk_mb_per_s": 16, "memory_mb": 0, "cold_count": 4, "pool_threads": 2}
    site = start(variant, slow, study="stall", readers="16")
    paths = [f"/1m/cold-{number}" for number in range(4)]
    assert get_all(site, paths) == [right(path, 1 << 20) for path in paths]
    assert get(site, "/10k/hot-1") == right("/10k/hot-1", 10_240)
