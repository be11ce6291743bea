import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.model.fields import Selection
from tare.model.scenario import (
    Scenario,
    effective_levels,
    expand,
    level_parameters,
    name_of,
    parse_selection,
    repeated,
)
from tare.model.study import Factor

FACTORS = {
    "loop": Factor(levels={"closed": {"rate": 0}, "open": {"rate": 5}}),
    "size": Factor(levels={"small": {}, "large": {"rate": 9}}),
}


def names(selections: list[Selection]) -> list[str]:
    return [name_of(levels) for levels in expand(FACTORS, selections)]


def test_a_factor_left_out_takes_its_first_level() -> None:
    assert names([{}]) == ["loop=closed,size=small"]
    assert names([{"size": "large"}]) == ["loop=closed,size=large"]


def test_several_levels_multiply_and_repetitions_vanish() -> None:
    assert names([{"loop": ["open", "closed"]}, {}]) == [
        "loop=open,size=small",
        "loop=closed,size=small",
    ]


def test_without_factors_there_is_one_scenario() -> None:
    assert [name_of(levels) for levels in expand({}, [{}])] == ["default"]


def test_levels_may_follow_from_a_parameter_s_values() -> None:
    found = Factor.model_validate({"parameter": "size", "values": [64, 1024]})
    assert found.levels == {"64": {"size": 64}, "1024": {"size": 1024}}
    with pytest.raises(ValueError, match="levels, or a parameter and its values"):
        Factor.model_validate({"about": "nothing"})


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
    assert level_parameters(FACTORS, {"loop": "open", "size": "small"}) == {"rate": 5}
    assert level_parameters(FACTORS, {"loop": "open", "size": "large"}) == {"rate": 9}


LEVELS = {
    "load": Factor(levels={"closed": {"loop": "closed"}, "open-20k": {"loop": "open", "rate": 20}}),
    "size": Factor.model_validate({"parameter": "bytes", "values": [64, 1024]}),
    "readers": Factor(levels={"16": {"readers": 16, "cold": 300}}),
}


@pytest.mark.parametrize(
    ("overrides", "changed"),
    [
        ({}, {}),
        ({"bytes": 64}, {}),
        ({"bytes": 3}, {"size": "3"}),
        ({"bytes": 1024}, {"size": "1024"}),
        ({"rate": 5}, {"load": "open-20k(rate:5)"}),
        ({"readers": 4}, {"readers": "4"}),
        ({"readers": 4, "cold": 1}, {"readers": "16(readers:4;cold:1)"}),
        ({"url": "/x", "duration_s": 9, "warmup_s": 1}, {"url": "/x"}),
    ],
)
def test_a_level_says_what_was_really_used(
    overrides: dict[str, object], changed: dict[str, str]
) -> None:
    levels = {"load": "open-20k", "size": "64", "readers": "16"}
    assert effective_levels(LEVELS, levels, overrides) == levels | changed


def test_equal_scenarios_are_found() -> None:
    one, other = Scenario(name="a"), Scenario(name="b")
    assert repeated([one, other]) is None and repeated([one, other, one]) == "a"
