from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.model.fields import Selection
from tare.model.manifest import Factor, Variant
from tare.model.scenario import (
    Scenario,
    every,
    expand,
    first,
    level_parameters,
    parse_selection,
    supported,
)

FACTORS = {
    "loop": Factor(levels={"closed": {"rate": 0}, "open": {"rate": 5}}),
    "size": Factor(levels={"small": {}, "large": {"rate": 9}}),
}


def variant(**changes: Any) -> Variant:
    fields: dict[str, Any] = {
        "schema": 1,
        "title": "v",
        "version": {"argv": ["v"], "pattern": "(.*)"},
        "roles": {},
        "instrument": {"argv": ["i"], "spec": {}},
    }
    return Variant.model_validate(fields | changes)


def names(selections: list[Selection]) -> list[str]:
    return [scenario.name for scenario in expand(FACTORS, selections)]


def test_a_factor_left_out_takes_its_first_level() -> None:
    assert names([{}]) == ["loop=closed,size=small"]
    assert names([{"size": "large"}]) == ["loop=closed,size=large"]


def test_several_levels_multiply_and_repetitions_vanish() -> None:
    assert names([{"loop": ["open", "closed"]}, {}]) == [
        "loop=open,size=small",
        "loop=closed,size=small",
    ]


def test_the_whole_matrix() -> None:
    assert [each.name for each in every(FACTORS)] == [
        f"loop={loop},size={size}" for loop in ("closed", "open") for size in ("small", "large")
    ]


def test_without_factors_there_is_one_scenario() -> None:
    assert [each.model_dump() for each in every({})] == [{"name": "default", "levels": {}}]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"speed": "x"}, "no factor 'speed'; there are: loop, size"),
        ({"loop": ["open", "x"]}, "factor 'loop' has no level 'x'; it has: closed, open"),
    ],
)
def test_what_does_not_exist_is_named(selection: Selection, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        expand(FACTORS, [selection])


def test_selections_are_parsed() -> None:
    assert parse_selection("loop=open, size = small | large") == {
        "loop": ["open"],
        "size": ["small", "large"],
    }


@pytest.mark.parametrize("text", ["", "loop", "loop=", "=open", "loop=open,"])
def test_half_a_selection_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected FACTOR=LEVEL"):
        parse_selection(text)


def test_a_factor_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match=r"loop twice; join levels by \|"):
        parse_selection("loop=open,loop=closed")


@settings(derandomize=True)
@given(
    st.fixed_dictionaries(
        {
            name: st.lists(st.sampled_from(list(each.levels)), min_size=1, unique=True)
            for name, each in FACTORS.items()
        }
    )
)
def test_what_is_written_is_what_is_parsed(selection: dict[str, list[str]]) -> None:
    text = ",".join(f"{name}={'|'.join(levels)}" for name, levels in selection.items())
    assert parse_selection(text) == selection
    assert len(expand(FACTORS, [parse_selection(text)])) == len(selection["loop"]) * len(
        selection["size"]
    )


def test_later_factors_win() -> None:
    parameters = {each.name: level_parameters(FACTORS, each) for each in every(FACTORS)}
    assert parameters["loop=open,size=small"] == {"rate": 5}
    assert parameters["loop=open,size=large"] == {"rate": 9}


def test_an_unsupported_level_is_named_and_avoided() -> None:
    one = variant(supports={"loop": ["open"]})
    closed, open_ = expand(FACTORS, [{}, {"loop": "open"}])
    assert supported(one, closed) == "loop=closed is not one of its levels (open)"
    assert supported(one, open_) is None
    assert first(FACTORS, one).name == "loop=open,size=small"
    nowhere = variant(supports={"loop": []})
    assert (
        first(FACTORS, variant()).name == first(FACTORS, nowhere).name == "loop=closed,size=small"
    )


def test_a_level_that_a_variant_is_without_says_why() -> None:
    one = variant(without={"loop": {"open": "it has no clock"}})
    closed, open_ = expand(FACTORS, [{}, {"loop": "open"}])
    assert supported(one, open_) == "it has no clock"
    assert supported(one, closed) is None


def test_levels_that_do_not_go_together() -> None:
    scenario = Scenario(name="s", levels={"loop": "open", "size": "large", "mode": "a"})
    together: Selection = {"loop": ["open", "other"], "size": "large"}
    assert (
        supported(variant(excludes=[together]), scenario)
        == "loop=open, size=large do not go together"
    )
    apart = variant(excludes=[{"loop": "open", "size": "small"}])
    assert supported(apart, scenario) is None
