from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tare.lab.errors import ManifestError
from tare.lab.project import render

NAMES: dict[str, Any] = {"rate": 20, "port": {"http": 80}, "cpus": [0, 1], "word": "w"}
SCALARS = st.none() | st.booleans() | st.integers() | st.text()


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{{ rate }}", 20),
        (" {{ rate * 2.5 }} ", 50.0),
        ("{{ cpus }}", [0, 1]),
        ("{{ {'kind': 'open', 'rate': rate} if rate else none }}", {"kind": "open", "rate": 20}),
        ("{{ none }}", None),
        ("{{ rate }}/s", "20/s"),
        ("{{ rate }}{{ rate }}", "2020"),
        ("{% if rate > 1 %}many{% endif %}", "many"),
        ("no braces", "no braces"),
        ({"a": {"b": ["{{ port.http }}", 7, True]}}, {"a": {"b": [80, 7, True]}}),
    ],
)
def test_a_sole_expression_keeps_its_type(template: Any, expected: Any) -> None:
    found = render.value(template, NAMES, "here")
    assert found == expected and type(found) is type(expected)


@given(st.recursive(SCALARS, lambda items: st.lists(items) | st.dictionaries(st.text(), items)))
def test_any_value_survives_as_a_name(value: Any) -> None:
    assert render.value("{{ value }}", {"value": value}, "here") == value


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{{ rat }}", "spec.a: there is no name 'rat' to render"),
        ("{{ port.https }}", "spec.a: there is no name 'port.https' to render"),
        ("{{ rat + 1 }}", "spec.a: expression ' rat + 1 ': 'rat' is undefined"),
        ("x {{ rat }}", "spec.a: template 'x {{ rat }}': 'rat' is undefined"),
        ("x {{ rate", "spec.a: template 'x {{ rate': unexpected end of template"),
        ("{{ 1 / 0 }}", "spec.a: expression ' 1 / 0 ': division by zero"),
        ("x {{ rate + word }}", "spec.a: template 'x {{ rate + word }}': unsupported operand"),
        (["y", "{{ rat }}"], "spec.a.1: there is no name 'rat' to render"),
    ],
)
def test_a_fault_names_its_place(template: Any, message: str) -> None:
    with pytest.raises(ManifestError) as caught:
        render.value({"a": template}, NAMES, "spec")
    assert str(caught.value).startswith(message)


def test_a_file_is_sought_in_the_variant_first(tmp_path: Path) -> None:
    folders = [tmp_path / "variant", tmp_path / "experiment"]
    for folder in folders:
        folder.mkdir()
        (folder / "both").write_text(f"{folder.name} {{{{ rate }}}}\n")
    (folders[1] / "common").write_text("common {{ word }}\n")
    assert render.file("both", folders, NAMES) == "variant 20\n"
    assert render.file("common", folders, NAMES) == "common w\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\nb {{ nothing }}\n", " line 2: 'nothing' is undefined"),
        ("a\n\n{% if %}\n", " line 3: Expected an expression"),
    ],
)
def test_a_fault_of_a_file_names_the_file_it_is_in(
    tmp_path: Path, content: str, message: str
) -> None:
    file = tmp_path / "experiment" / "conf"
    file.parent.mkdir()
    file.write_text(content)
    with pytest.raises(ManifestError) as caught:
        render.file("conf", [tmp_path / "variant", file.parent], NAMES)
    assert str(caught.value).startswith(f"{file}{message}")


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match=rf"{tmp_path}/conf: 'conf' not found"):
        render.file("conf", [tmp_path], NAMES)
