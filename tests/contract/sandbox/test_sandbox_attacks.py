"""What a hostile function gets in each mode is what `attacks.toml` says; no call sees another."""

import contextlib
import re
import threading
import tomllib
from collections.abc import Callable
from pathlib import Path

from sandboxes import Refused, Sandbox, decoys, loaded, udf, wait_until

TABLE = tomllib.loads((loaded.folder / "attacks.toml").read_text())
SOURCE = (loaded.folder / "udf" / "attack" / "attack.h").read_text()
# What these do is seen from outside: see test_sandbox_limits.py and test_sandbox_leftovers.py. The
# last ones need shared memory or a log: see test_sandbox_shared.py and test_sandbox_logs.py.
SEEN_FROM_OUTSIDE = {
    "memory_bomb", "cpu_bomb", "shared_memory_bomb", "orphan", "plant", "seek", "hold",
    "endless_loop", "hang",
    "crash", "leave", "varint_overflow", "length_over_limit", "half_response", "huge_response",
    "after_close", "callback_flood", "deaf_callbacks",
    "write_request", "map_request", "resize_memory", "execute_response", "claim_more", "claim_all",
    "claim_unwritten", "answer_aside", "shake_response", "keep_memory", "fill_response",
    "cut_log", "babble",
}  # fmt: skip
ATTACKS = sorted(set(re.findall(r"each\((\w+)\)", SOURCE)) - SEEN_FROM_OUTSIDE)


def test_the_table_knows_every_mode_and_no_other_attack() -> None:
    assert set(TABLE["open"]) == set(loaded.variants)
    assert {attack for row in TABLE["open"].values() for attack in row} <= set(ATTACKS)


def test_attacks_end_as_the_table_says(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox = serve(mode, "--workers", "2", "--load", f"udf={udf('attack')}")
    with decoys(folder) as made:
        found = {attack: sandbox.call("udf", made.request(attack)) for attack in ATTACKS}
    got = sorted(attack for attack, verdict in found.items() if verdict[1] == b"open")
    assert all(verdict[1] in (b"open", b"blocked") for verdict in found.values()), found
    assert got == sorted(TABLE["open"][mode]), {name: found[name] for name in got}


def test_no_call_finds_what_another_left(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox = serve(mode, "--workers", "1", "--load", f"udf={udf('attack')}")
    with decoys(folder) as made:
        planted = sandbox.call("udf", made.request("plant"))
        found = [sandbox.call("udf", made.request("seek")) for _ in range(3)]
    expected = b"open" if mode in TABLE["leaks"] else b"blocked"
    assert planted[1] == expected, planted
    if mode in TABLE["registers"]:
        assert {verdict[2] for verdict in found if verdict[1] == b"open"} <= {b"a segment register"}
        return
    assert found[0][1] == expected, found
    assert [verdict[1] for verdict in found[1:]] == [b"blocked", b"blocked"]


def test_no_call_notices_what_another_does(
    mode: str, serve: Callable[..., Sandbox], tmp_path: Path
) -> None:
    folder = tmp_path / "decoys"
    folder.mkdir()
    sandbox = serve(mode, "--workers", "2", "--load", f"udf={udf('attack')}")
    wait_until(lambda: sandbox.stats("udf")["ready"] == 2, lambda: "not ready")
    with decoys(folder) as made:

        def hold() -> None:
            with contextlib.suppress(Refused):
                sandbox.call("udf", made.request("hold"), deadline_ms=1500)

        holder = threading.Thread(target=hold)
        holder.start()
        wait_until(lambda: sandbox.stats("udf")["ready"] == 1, lambda: "nobody took the worker")
        found = []
        while holder.is_alive():
            found.append(sandbox.call("udf", made.request("seek"))[1])
        holder.join()
    assert found and (b"open" in found) == (mode in TABLE["leaks"]), found
