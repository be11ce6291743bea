"""The spec of an instrument that loads two sites in turns."""

from pathlib import Path
from typing import Any

import pytest

from tare.lab.errors import ManifestError
from tare.lab.trial.instrument import Assignment
from tare.lab.trial.turns import BASELINE, VARIANT, in_turns
from tare.model.study import Slices

SLICES = Slices(length_ms=5.0, lead_in_ms=1.0)
SPEC = {"url": "http://h:1/", "connections": 4, "seed": 1, "expect": {"status": [200]}}


def sides(**changes: Any) -> dict[str, Assignment]:
    def side(name: str, spec: dict[str, Any]) -> Assignment:
        return Assignment(f"e/{name}: instrument", ["load"], "client", spec)

    return {VARIANT: side("new", SPEC | changes), BASELINE: side("old", SPEC | {"seed": 2})}


def test_each_side_is_a_target_and_the_rest_is_of_both() -> None:
    own = {"url": "http://h:2/", "expect": {"status": [403]}}
    found = in_turns(sides(**own), SLICES)
    assert found.argv == ["load"] and found.cpus == "client"
    targets = sorted(found.spec["targets"], key=lambda target: target["name"], reverse=True)
    assert found.spec | {"targets": targets} == {
        "connections": 4,
        "seed": 1,
        "targets": [
            {"name": VARIANT, **own},
            {"name": BASELINE, "url": "http://h:1/", "expect": {"status": [200]}},
        ],
        "slices": {"length_ms": 5.0, "lead_in_ms": 1.0, "gap_us": 100.0},
    }


def test_sides_expect_their_own_answers_to_the_same_mix() -> None:
    def mixed(url: str, status: int) -> dict[str, Any]:
        return {"mix": [{"url": url, "expect": {"status": [status]}}]}

    both = sides(**mixed("/a", 200))
    other = both[BASELINE].spec | mixed("/a", 404)
    both[BASELINE] = Assignment("e/old: instrument", ["load"], "client", other)
    targets = {each["name"]: each["mix"] for each in in_turns(both, SLICES).spec["targets"]}
    assert targets[BASELINE][0]["expect"] == {"status": [404]}
    both[BASELINE].spec.update(mixed("/b", 200))
    with pytest.raises(ManifestError, match="mix differs"):
        in_turns(both, SLICES)


def test_either_side_may_be_first_by_the_seed() -> None:
    def first(seed: int) -> str:
        return str(in_turns(sides(seed=seed), SLICES).spec["targets"][0]["name"])

    firsts = [first(seed) for seed in range(200)]
    assert 70 < firsts.count(VARIANT) < 130
    assert firsts == [first(seed) for seed in range(200)]


def test_each_side_has_accounts_of_its_own() -> None:
    accounts = {VARIANT: {"sut": Path("/new/cpu.stat")}, BASELINE: {}}
    targets = in_turns(sides(), SLICES, accounts).spec["targets"]
    files = {target["name"]: target.get("accounts") for target in targets}
    assert files == {VARIANT: {"sut": "/new/cpu.stat"}, BASELINE: None}


@pytest.mark.parametrize("changes", [{"connections": 5}, {"tls": {"version": "1.3"}}])
def test_sides_that_get_another_load_cannot_be_loaded_in_turns(changes: dict[str, Any]) -> None:
    (field,) = changes
    with pytest.raises(ManifestError, match=f"e/new: instrument: {field} differs from e/old"):
        in_turns(sides(**changes), SLICES)


def test_bodies_of_files_are_the_same_if_their_contents_are(tmp_path: Path) -> None:
    for name, text in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(text)
    both = sides(body={"file": str(tmp_path / "a")})
    old = both[BASELINE]
    for name, same in (("b", True), ("c", False)):
        spec = old.spec | {"body": {"file": str(tmp_path / name)}}
        each = both | {BASELINE: Assignment(old.where, old.argv, old.cpus, spec)}
        if same:
            assert in_turns(each, SLICES).spec["body"] == {"file": str(tmp_path / "a")}
        else:
            with pytest.raises(ManifestError, match="body differs"):
                in_turns(each, SLICES)


def test_an_instrument_without_a_url_cannot_take_turns() -> None:
    both = {
        side: Assignment(each.where, each.argv, each.cpus, {"program": "x"})
        for side, each in sides().items()
    }
    with pytest.raises(ManifestError, match="found no url"):
        in_turns(both, SLICES)
