"""Variables of the environment that `tare up` takes."""

from pathlib import Path

import pytest

from tare.lab.errors import TareError, UnknownName
from tare.lab.project import environment, render
from tare.lab.project.catalog import load


def test_a_variable_sets_a_parameter() -> None:
    loaded = load("filters")
    same, parameters = environment.take(loaded, "c-module", {"DYNAMIC_LOAD_URL_PREFIX": "/b"})
    assert parameters == {"prefix": "/b"} and same == loaded


def test_a_variable_names_a_file_of_a_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    loaded = load("filters")
    for variant, name in (
        ("dynamic-c", "DYNAMIC_LOAD_LIB_PATH"),
        ("wasm", "WASM_MODULE_PATH"),
        ("luajit", "LUA_MODULE_PATH"),
    ):
        other, parameters = environment.take(loaded, variant, {name: "a {{b}}'s"})
        given = other.variants[variant].roles["sut"].env[name]
        assert render.text(given, {}, "here") == str(tmp_path / "a {{b}}'s")
        assert parameters == {} and name not in loaded.variants[variant].roles["sut"].env


def test_a_variable_that_only_others_take_is_refused() -> None:
    with pytest.raises(TareError, match=r"unset it, or start filters/dynamic-c$") as refused:
        environment.take(load("filters"), "wasm", {"DYNAMIC_LOAD_LIB_PATH": "x.so"})
    assert "DYNAMIC_LOAD_LIB_PATH is set, and filters/wasm does not take it" in str(refused.value)


def test_other_variables_are_none_of_its_business() -> None:
    loaded = load("filters")
    assert environment.take(loaded, "none", {"PATH": "/bin"}) == (loaded, {})


def test_a_variant_that_does_not_exist() -> None:
    with pytest.raises(UnknownName):
        environment.take(load("filters"), "nothing", {})
