"""`tare hosts check`, of benches and hosts that are made up."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tare.cli.hosts import command
from tare.lab.errors import TareError
from tare.lab.run.benches import alike, sources
from tare.lab.run.hosts import checking
from tare.model.hosts import HostsFile

BENCHES = """
schema = 1
[coordinator]
address = "127.0.0.1"
[benches.left]
address = "127.0.0.1"
[benches.right]
address = "127.0.0.1"
"""


def checked(
    folder: Path, monkeypatch: pytest.MonkeyPatch, found: dict[str, Any], *options: str
) -> Result:
    file = folder / "benches.toml"
    file.write_text(BENCHES)
    monkeypatch.setattr(alike, "look", lambda benches, wait_s: dict(found))
    return CliRunner().invoke(command, ["check", str(file), *options])


def bench(**changes: Any) -> dict[str, Any]:
    return {"cpu": "a CPU", "kernel": "6", "sources": sources.of_laboratory()} | changes


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_benches_that_cannot_take_part_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...]
) -> None:
    both = {"left": bench(), "right": bench()}
    assert checked(tmp_path, monkeypatch, both, *options).exit_code == 0
    troubled = {"name": "a", "control": "ssh", "address": "127.0.0.1", "troubles": ["no way"]}
    for right in (bench(sources="others"), bench(hosts=[troubled])):
        done = checked(tmp_path, monkeypatch, both | {"right": right}, *options)
        assert done.exit_code == 1, done.output
    done = checked(tmp_path, monkeypatch, {"left": bench()}, *options)
    assert done.exit_code == 1 and "start it there with: tare hosts worker right" in done.stderr
    if options:
        assert json.loads(done.stdout)["right"] is None


def test_a_bench_of_another_commit_is_told_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"left": bench(), "right": bench(sources="others")}
    told = checked(tmp_path, monkeypatch, found).stdout
    assert "right: a CPU, kernel 6\n  trouble: its files of the laboratory differ" in told


def test_a_host_without_a_way_keeps_its_other_troubles(monkeypatch: pytest.MonkeyPatch) -> None:
    file = HostsFile.model_validate(
        {
            "default": "a",
            "hosts": {"a": {"address": "127.0.0.2"}, "b": {"address": "127.0.0.3"}},
        }
    )

    def no_way(*_: object) -> Any:
        raise TareError("refused")

    monkeypatch.setattr(checking, "_reached", lambda *_: no_way)
    seen = {"troubles": ["another commit"], "remarks": []}
    monkeypatch.setattr(checking, "_seen", lambda _: seen)
    for each in checking.check(file):
        assert each.troubles[0] == "another commit"
        assert each.troubles[1].startswith("no way to ")
