import errno
import os
import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import TareError
from tare.lab.run.store import Store, write_json
from tare.model.trial import Trial, parse_trials


def trial(name: str, **changes: Any) -> Trial:
    fields = {
        "id": name,
        "block": 0,
        "scenario": "default",
        "label": name,
        "variant": name,
        "attempt": 1,
        "status": "valid",
        "started": "now",
        "wall_s": 1.0,
    }
    return Trial.model_validate(fields | changes)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path)
    store.prepare()
    return store


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for the ballast and little more."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    mount = ["mount", "-t", "tmpfs", "-o", "size=1100k", "tmpfs", str(tmp_path)]
    if subprocess.run(mount, check=False).returncode != 0:
        pytest.skip("a tmpfs cannot be mounted here")
    yield tmp_path
    subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)


def test_trials_are_read_in_the_order_they_were_made(store: Store) -> None:
    made = [trial(name) for name in ("b", "a", "c")]
    assert all(store.append([each]) for each in made)
    assert store.trials() == made


@pytest.mark.parametrize("length", [0, 1, 10, 1 << 16, (1 << 16) - 1, 3 << 16])
def test_a_line_that_was_cut_off_is_replaced_whatever_its_length(store: Store, length: int) -> None:
    file = store.folder / "trials.jsonl"
    assert store.append([trial("a")])
    whole = file.read_bytes()
    file.write_bytes(whole + b"x" * length)
    assert store.append([trial("b")])
    assert file.read_bytes().startswith(whole) and store.trials() == [trial("a"), trial("b")]
    file.write_bytes(b"x" * length)
    assert store.append([trial("b")]) and store.trials() == [trial("b")]


def test_every_line_is_synced_before_append_returns(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    file = store.folder / "trials.jsonl"
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(file.read_bytes()))
    store.append([trial("a")])
    store.append([trial("b")])
    assert [len(parse_trials(content)[0]) for content in synced] == [1, 2]


def test_a_torn_last_line_is_dropped_and_written_over(store: Store) -> None:
    store.append([trial("a")])
    with (store.folder / "trials.jsonl").open("a") as stream:
        stream.write('{"id": "torn", "blo')
    assert [each.id for each in store.trials()] == ["a"]
    store.append([trial("b")])
    assert [each.id for each in store.trials()] == ["a", "b"]


def test_lines_that_are_damaged_or_repeated_are_set_aside_and_the_rest_is_used(
    store: Store,
) -> None:
    first, last = (trial(name).model_dump_json() for name in ("a", "b"))
    lines = [first, first[:40], last.replace("1.0", "NaN"), "\0\xff", last, first, ""]
    (store.folder / "trials.jsonl").write_bytes("\n".join(lines).encode("latin-1"))
    assert [each.id for each in store.trials()] == ["a", "b"]
    damaged, not_finite, binary, repeated = store.set_aside()
    assert damaged.startswith("trials.jsonl: line 2 is damaged (JSON: Invalid JSON")
    assert "line 3 is damaged (wall_s: Input should be a finite number)" in not_finite
    assert "line 4 is damaged" in binary
    assert repeated == "trials.jsonl: line 6 repeats trial a"
    store.append([trial("c")])
    assert [each.id for each in store.trials()] == ["a", "b", "c"]


@pytest.mark.parametrize("content", ["{", "3", '["a"]'])
def test_a_damaged_environment_is_told_of_with_a_remedy(store: Store, content: str) -> None:
    (store.folder / "environment.json").write_text(content)
    with pytest.raises(TareError, match=r"environment\.json is damaged: .*; remove it, and"):
        store.environment()


def test_a_full_disk_takes_the_ballast(small_disk: Path) -> None:
    store = Store(small_disk)
    store.prepare()
    with pytest.raises(OSError, match="No space left"), (small_disk / "filler").open("wb") as file:
        while True:
            file.write(b"x" * 4096)
            file.flush()
    assert store.append([trial("a", reason="x" * 9000)])
    assert not (small_disk / "ballast").exists()
    assert [each.id for each in store.trials()] == ["a"]


def test_what_finds_no_room_is_kept_and_told_of(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert not store.append([trial("a")])
        assert store.trials() == []
        with pytest.raises(TareError, match="no room to store a; make room and resume"):
            store.finish()
    assert store.append([trial("b")])
    assert [each.id for each in store.trials()] == ["a", "b"]
    store.finish()


def test_a_line_that_was_cut_off_leaves_nothing(store: Store) -> None:
    first, second = (trial(name, reason="x" * 5000) for name in ("first", "second"))
    assert store.append([first])
    # Enough for each half of the second line by itself.
    room = (store.folder / "trials.jsonl").stat().st_size + 3000
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        assert not store.append([second])
        assert store.trials() == [first]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    third = trial("third")
    assert store.append([third])
    assert store.trials() == [first, second, third]


def test_what_a_cut_off_trial_left_is_cleared_and_what_a_failed_one_left_is_kept(
    store: Store,
) -> None:
    store.append([trial("failed", status="failed")])
    for name in ("failed", "cut-off"):
        (store.work / name / "sut").mkdir(parents=True)
    store.prepare()
    assert [path.name for path in store.work.iterdir()] == ["failed"]


@pytest.mark.parametrize(
    ("status", "kept"), [("valid", False), ("invalid", False), ("failed", True)]
)
def test_logs_are_kept_and_the_rest_only_of_a_failure(
    store: Store, status: str, kept: bool
) -> None:
    folder = store.work / "a" / "sut"
    folder.mkdir(parents=True)
    (folder / "sut.log").write_text("said\n")
    store.clear_work(trial("a", status=status))
    assert (store.folder / "logs" / "a" / "sut.log").read_text() == "said\n"
    assert folder.exists() is kept
    store.finish()
    assert store.work.exists() is kept and not (store.folder / "ballast").exists()


def test_json_is_replaced_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "x.json"
    write_json(file, {"a": "ü"})
    assert file.read_text() == '{\n "a": "ü"\n}\n'

    def torn(path: Path, text: str) -> None:
        with path.open("w") as stream:
            stream.write(text[:3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", torn)
    with pytest.raises(OSError, match="No space"):
        write_json(file, {"b": 1})
    assert file.read_text() == '{\n "a": "ü"\n}\n'
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("content", [None, "{", "{}"])
def test_what_is_no_run_is_told_of(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "plan.json").write_text(content)
    with pytest.raises(TareError, match=r"plan\.json: not the plan of a run"):
        Store(tmp_path).plan()
