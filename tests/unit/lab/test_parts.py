"""Parts of variants, exchanged for a user's own files."""

from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError, TareError, UnknownName
from tare.lab.project import catalog, levels, parts
from tare.lab.project.catalog import Loaded
from tare.lab.project.preparation import Prepared, fingerprint
from tare.lab.run import planning

SCRIPT = """
[differences.loop]
"x" = { closed = "1" }

[parts.script]
kind = "text"
about = "a script"
remedy = "write one"
"""
BESIDE = """
[parts.name]
kind = "template"
about = "what it is called"
needs = ["port.http"]
remedy = "name it"
beside = ["script"]
studies = ["main"]
sets = { connections = 7 }
"""
LIMITED = """
[[levels]]
when = "'script' in part"
unsupported = "it has none"
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TARE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def loaded(tmp_path: Path) -> Loaded:
    variants = {"none": LIMITED, "one": SCRIPT + BESIDE, "two": SCRIPT, "hidden": "hidden = true\n"}
    variants["hidden"] += SCRIPT
    variants["refuses"] = SCRIPT + LIMITED
    root = projects.write(tmp_path / "project", variants=variants, more={"other": projects.STUDY})
    return catalog.load("exp", root=root)


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def test_a_file_is_in_the_place_of_a_part_in_the_chosen_variants(loaded: Loaded) -> None:
    made = parts.exchange(loaded, {"script": write("my.lua", "1")}, ["none", "one"])
    own = made.parts["script"]
    assert own.variants == ["one"] and own.bytes == 1 and own.file == str(Path("my.lua").resolve())
    assert list(parts.files(made, "one")) == ["script"] and parts.files(made, "two") == {}
    assert made.variants["one"].differences == {} and made.variants["two"].differences
    assert parts.version(made, "one", "1.2") == f"1.2 with script my.lua {own.sha256[:12]}"
    assert parts.version(made, "two", "1.2") == "1.2"
    (said,) = parts.remarks(made.parts)
    assert said.startswith(f"script of one is {own.file} (1 bytes, SHA-256 {own.sha256[:12]}")


def test_what_is_measured_stays_when_the_file_changes(loaded: Loaded) -> None:
    made = parts.exchange(loaded, {"script": write("my.lua", "1")}, ["one"])
    write("my.lua", "2")
    assert parts.files(made, "one")["script"].read_text() == "1"
    assert parts.again(loaded, made.parts).parts == made.parts
    other = parts.exchange(loaded, {"script": "my.lua"}, ["one"])
    assert parts.files(other, "one")["script"].read_text() == "2"
    assert fingerprint(made, Prepared()) != fingerprint(other, Prepared())
    assert fingerprint(made, Prepared()) != fingerprint(loaded, Prepared())


def test_a_run_goes_on_with_the_file_only_if_it_is_the_same(loaded: Loaded) -> None:
    made = parts.exchange(loaded, {"script": write("my.lua", "1")}, ["one"])
    parts.files(made, "one")["script"].unlink()
    assert parts.again(loaded, made.parts).parts == made.parts
    assert parts.files(made, "one")["script"].read_text() == "1"
    parts.files(made, "one")["script"].unlink()
    write("my.lua", "2")
    with pytest.raises(TareError, match=r"my\.lua has changed since the run was planned"):
        parts.again(loaded, made.parts)
    Path("my.lua").unlink()
    with pytest.raises(TareError, match="there is no such file"):
        parts.again(loaded, made.parts)


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ("missing", "script missing: there is no such file; write one"),
        (".", "script .: it is no file; write one"),
        ("binary", "script binary: it is no text in UTF-8 (byte 0); write one"),
        ("empty", "script empty: it is empty; write one"),
    ],
)
def test_a_file_that_does_not_fit_ends_in_a_sentence(loaded: Loaded, file: str, words: str) -> None:
    Path("binary").write_bytes(b"\xff")
    Path("empty").touch()
    with pytest.raises(TareError) as refused:
        parts.exchange(loaded, {"script": file}, ["one"])
    assert str(refused.value) == words


def test_parts_that_go_together_are_found_again_together(loaded: Loaded) -> None:
    given = {"script": write("my.lua", "1"), "name": write("n", "{{ port.http }}")}
    made = parts.exchange(loaded, given, ["one", "two"])
    parts.files(made, "one")["name"].unlink()
    again = parts.again(loaded, made.parts)
    assert again.parts == made.parts and again.parts["name"].variants == ["one"]
    assert sorted(parts.files(again, "one")) == ["name", "script"]


def test_a_link_keeps_its_name(loaded: Loaded) -> None:
    Path("my.lua").symlink_to(write("my.lua.1", "1"))
    made = parts.exchange(loaded, {"script": "my.lua"}, ["one"])
    assert made.parts["script"].name == "my.lua"


def test_a_part_that_no_chosen_variant_has_is_refused(loaded: Loaded) -> None:
    for given, chosen, words in (
        ({"script": "x"}, ["none"], r"hidden, one, two can$"),
        ({"scrip": "x"}, ["one"], r"its parts are: script, name$"),
        ({"name": "x"}, ["one"], r"one can in main, beside --script$"),
    ):
        with pytest.raises(UnknownName, match=words):
            parts.exchange(loaded, given, chosen)


def test_a_variant_that_cannot_be_measured_with_a_part_does_not_take_it(loaded: Loaded) -> None:
    made = parts.exchange(loaded, {"script": write("my.lua", "1")}, ["one", "refuses"])
    assert made.parts["script"].variants == ["one"]
    assert levels.unsupported_with(made, "refuses", ["script"]) == "it has none"
    assert levels.unsupported_with(made, "refuses", ["name"]) is None


def test_scenarios_are_told_from_those_of_the_variants_own_files(loaded: Loaded) -> None:
    given = {"script": write("my.lua", "1"), "name": write("n", "{{ port.http }}")}
    made = parts.exchange(loaded, given, list(loaded.variants))
    assert parts.takers(loaded, "script", given) == ["one", "two"]
    scenario = planning.scenario_at(made, {}, {})
    # The study has the parameter `name`, too, and `connections` are the part's.
    assert scenario.parameters["name"] == "n" and scenario.parameters["connections"] == 7
    assert scenario.name == "loop=closed,size=small,script=my.lua,connections=7,name=n"
    assert levels.unsupported(made, "none", scenario) == "it has none"
    assert levels.unsupported(loaded, "none", scenario) is None


def test_a_plan_holds_what_was_exchanged(loaded: Loaded) -> None:
    made = parts.exchange(loaded, {"script": write("my.lua", "1")}, ["one", "two"])
    plan = planning.make(
        made, quick=False, variants=["one"], scenarios=[], blocks=1, seed=1, overrides={}
    )
    assert plan.parts == made.parts
    assert type(plan).model_validate_json(plan.model_dump_json()).parts == plan.parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SCRIPT + 'beside = ["scrip"]\n', "parts.script.beside: found 'scrip', expected one of"),
        (SCRIPT + 'studies = ["mian"]\n', "parts.script.studies: found 'mian'"),
        (SCRIPT + "sets = { nane = 1 }\n", "parts.script.sets: found 'nane'"),
        ('from = "nnoe"\n', "from: found 'nnoe', expected one of: none, one"),
        ('[environment]\nA = { part = "script" }\n', "environment.A: found 'script'"),
        ("[environment]\nA = {}\n", "either parameter or part"),
    ],
)
def test_a_manifest_that_names_what_is_not_there_is_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    root = projects.write(tmp_path / "p", variants={"none": "", "one": text})
    with pytest.raises(ManifestError) as refused:
        catalog.load("exp", root=root)
    assert words in str(refused.value)
