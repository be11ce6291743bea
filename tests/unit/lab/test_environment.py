"""Variables of the environment that `tare up` takes."""

import pytest

from tare.lab.errors import TareError, UnknownName
from tare.lab.project import environment
from tare.lab.project.catalog import load


def test_a_variable_sets_a_parameter() -> None:
    taken = environment.take(load("filters"), "c-module", {"DYNAMIC_LOAD_URL_PREFIX": "/b"})
    assert taken.parameters == {"prefix": "/b"} and taken.parts == {}
    assert taken.remarks == ["DYNAMIC_LOAD_URL_PREFIX is set: prefix is /b"]


@pytest.mark.parametrize(
    ("variant", "name", "part"),
    [
        ("dynamic-c", "DYNAMIC_LOAD_LIB_PATH", "library"),
        ("wasm", "WASM_MODULE_PATH", "module"),
        ("luajit", "LUA_MODULE_PATH", "script"),
    ],
)
def test_a_variable_names_the_file_of_a_part(variant: str, name: str, part: str) -> None:
    taken = environment.take(load("filters"), variant, {name: "a {{b}}'s"})
    assert taken.parts == {part: "a {{b}}'s"} and taken.parameters == {}
    assert taken.remarks == [f"{name} is set: {part} is a {{{{b}}}}'s"]


def test_an_option_wins_over_a_variable() -> None:
    taken = environment.take(
        load("filters"), "dynamic-c", {"DYNAMIC_LOAD_LIB_PATH": "x.so"}, given=["library"]
    )
    assert taken.parts == {}
    (said,) = taken.remarks
    assert said == "DYNAMIC_LOAD_LIB_PATH is set, and not taken: library is given by an option"


def test_a_variable_that_only_others_take_is_refused() -> None:
    with pytest.raises(TareError, match=r"unset it, or start filters/dynamic-c$") as refused:
        environment.take(load("filters"), "wasm", {"DYNAMIC_LOAD_LIB_PATH": "x.so"})
    assert "DYNAMIC_LOAD_LIB_PATH is set, and filters/wasm does not take it" in str(refused.value)


def test_other_variables_are_none_of_its_business() -> None:
    assert environment.take(load("filters"), "none", {"PATH": "/bin"}) == environment.Taken()


def test_a_variant_that_does_not_exist() -> None:
    with pytest.raises(UnknownName):
        environment.take(load("filters"), "nothing", {})


def test_a_run_says_what_it_does_not_take() -> None:
    found = environment.ignored(
        load("filters"), {"WASM_MODULE_PATH": "x", "DYNAMIC_LOAD_URL_PREFIX": "/x", "PATH": "/bin"}
    )
    assert sorted(found) == [
        "DYNAMIC_LOAD_URL_PREFIX is set, and tare run does not take it; use -p prefix=…",
        "WASM_MODULE_PATH is set, and tare run does not take it; use --module FILE",
    ]
