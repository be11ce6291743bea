from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError, UnknownName
from tare.lab.project import catalog, index

NO_VARIANT = "there is no variant of exp 'othr'; did you mean 'other'? there are: none, other"


def complaint(root: Path) -> str:
    with pytest.raises(ManifestError) as caught:
        catalog.load("exp", root=root)
    return str(caught.value)


def test_a_variant_lies_table_by_table_over_what_all_have_in_common(tmp_path: Path) -> None:
    text = 'roles = { first = { argv = ["early"] }, sut = { argv = ["other"], env = { B = "2" } } }'
    root = projects.write(tmp_path, variants={"a": text, "none": "", "zz": ""})
    loaded = catalog.load("exp", root=root)
    assert list(loaded.variants) == ["none", "a", "zz"]
    merged = loaded.variants["a"]
    assert list(merged.roles) == ["first", "sut"]
    assert merged.roles["first"].argv == ["early"] and merged.roles["first"].cpus == "support"
    assert merged.roles["sut"].argv == ["other"]
    assert merged.roles["sut"].env == {"A": "1", "B": "2"}
    assert loaded.variants["none"].roles["sut"].argv == ["server", "--fast"]


VARIANT_FAULTS = {
    "rols = {}": "rols: unknown field; remove it or correct its name",
    "ports = [1]": "ports.0: found 1, expected a valid string",
    "properties = { a = [1] }": "found [1], expected a valid boolean",
    "roles = { sut = { cpus = 'two' } }": "cpus: found 'two', expected 'server', 'client'",
    "roles = { Sut = {} }": "roles.Sut.[key]: found 'Sut', expected",
    "roles = { load = {} }": "expected roles other than 'load'",
    "build = { argv = ['x'] }": "build.outputs: missing; expected a value",
    "build = { argv = ['x'], outputs = ['y'], components = ['z'] }": "some of its components",
    "requires = [{ command = 'x' }]": "expected a remedy in words",
    "requires = [{ debian = 'x', path = 'y' }]": "exactly one of debian, command, path",
    "roles = { sut = { ready = { log = 'x' } } }": "exactly one of tcp, udp, unix, path, log",
    "version = { pattern = 'x' }": "expected a pattern with one group, the version",
    "version = { pattern = '(' }": "expected a regular expression",
    "schema = 2": "schema: found 2, expected 1",
}


@pytest.mark.parametrize("text", VARIANT_FAULTS)
def test_a_fault_of_a_variant_names_file_field_found_and_expected(
    tmp_path: Path, text: str
) -> None:
    projects.write(tmp_path, variants={"none": ""})
    file = tmp_path / "experiments/exp/variants/none/variant.toml"
    file.write_text("title = 'V'\n" + text + ("" if "schema" in text else "\nschema = 1"))
    found = complaint(tmp_path)
    assert found.startswith(f"{file}: ") and VARIANT_FAULTS[text] in found


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('cpus = "support"', "cpus = 3", "roles.first.cpus: found 3, expected a valid string"),
        ('cpus = "support"', "speed = 3", "roles.first.speed: unknown field"),
        ('argv = ["true"], spec = {}', "spec = {}", "instrument.argv: missing"),
        ('baseline = "none"', 'baseline = "nil"', "baseline: found 'nil', expected one of its"),
        ('title = "T"\n', "", "title: missing; expected a value"),
        ('unit = "s"', "unit = 1", "outcomes.cpu.unit: found 1, expected a valid string"),
        ("[variants]", "[variants", "not valid TOML"),
    ],
)
def test_a_fault_of_the_experiment_is_blamed_on_its_file(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert projects.EXPERIMENT.count(old) == 1
    root = projects.write(tmp_path, experiment=projects.EXPERIMENT.replace(old, new))
    found = complaint(root)
    assert found.startswith(f"{root}/experiments/exp/experiment.toml: ")
    assert message in found


@pytest.mark.parametrize("name", ["Upper", "a b", "control"])
def test_a_folder_that_cannot_name_a_variant_is_refused(tmp_path: Path, name: str) -> None:
    root = projects.write(tmp_path, variants={"none": "", name: ""})
    assert f"invalid folder name {name!r}, expected lower-case letters" in complaint(root)


def test_an_unknown_experiment_gets_a_suggestion(tmp_path: Path) -> None:
    root = projects.write(tmp_path)
    with pytest.raises(UnknownName, match=r"no experiment 'epx'; did you mean 'exp'. there are"):
        catalog.load("epx", root=root)
    assert index.experiment_names(root) == ["exp"]
    assert index.experiment_names(tmp_path / "nowhere") == []


def test_an_unknown_component_is_a_fault_of_the_manifest(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="there is no component 'x'; there are: none"):
        catalog.component("x", tmp_path)


def test_variants_are_chosen_with_the_baseline_first(tmp_path: Path) -> None:
    loaded = catalog.load("exp", root=projects.write(tmp_path))
    assert loaded.choose(None) == ["none", "other"]
    assert loaded.choose(["other", "none", "other"]) == ["none", "other"]
    with pytest.raises(UnknownName) as caught:
        loaded.choose(["othr"])
    assert str(caught.value) == NO_VARIANT


@pytest.mark.parametrize(
    ("target", "parts"), [("a", ("a", None)), ("a/b", ("a", "b")), ("a/", ("a", None))]
)
def test_a_target_is_an_experiment_or_a_variant(target: str, parts: tuple[str, str | None]) -> None:
    assert catalog.split_target(target) == parts


def test_a_component_may_lie_with_its_experiment(tmp_path: Path) -> None:
    everywhere, here = tmp_path / "components", tmp_path / "experiments" / "e" / "components"
    shared, own = everywhere / "a", here / "b"
    for folder in (shared, own):
        folder.mkdir(parents=True)
        (folder / "component.toml").touch()
    assert catalog.component_folder("a", tmp_path) == shared
    assert catalog.component_folder("b", tmp_path) == own
    with pytest.raises(ManifestError, match="there is no component 'c'; there are: a, b"):
        catalog.component_folder("c", tmp_path)
    for folder in (everywhere / "c", here / "c"):
        folder.mkdir()
        (folder / "component.toml").touch()
    with pytest.raises(ManifestError, match="several components are called 'c'"):
        catalog.component_folder("c", tmp_path)


def test_a_hidden_variant_is_there_for_who_names_it(tmp_path: Path) -> None:
    root = projects.write(tmp_path, variants={"none": "", "one": "", "test": "hidden = true"})
    loaded = catalog.load("exp", root=root)
    assert loaded.choose(None) == ["none", "one"]
    assert loaded.choose(["test"]) == ["none", "test"]
    (entry,) = index.entries(root)
    assert entry.variants == ["none", "one"]


def test_an_extended_variant_is_listed_and_measured_only_by_name(tmp_path: Path) -> None:
    root = projects.write(tmp_path, variants={"none": "", "one": "", "more": "extended = true"})
    loaded = catalog.load("exp", root=root)
    assert loaded.choose(None) == ["none", "one"]
    assert loaded.choose(["more"]) == ["none", "more"]
    assert sorted(loaded.listed()) == ["more", "none", "one"]
    (entry,) = index.entries(root)
    assert entry.variants == ["none", "more", "one"] and entry.extended == ["more"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("blocks = 3", "blocks = 0", "quick.blocks: found 0, expected greater than or equal to 1"),
        ("[quick]", "[quick", "not valid TOML"),
        ('title = "S"\n', "", "title: missing; expected a value"),
        ('judged = ["cpu"]', 'judged = ["cpu"]\nspeed = 1', "speed: unknown field"),
    ],
)
def test_a_fault_of_a_study_is_blamed_on_its_file(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert projects.STUDY.count(old) == 1
    root = projects.write(tmp_path, study=projects.STUDY.replace(old, new))
    found = complaint(root)
    assert found.startswith(f"{root}/experiments/exp/studies/main.toml: ")
    assert message in found


def test_a_study_lies_over_its_experiment(tmp_path: Path) -> None:
    own = 'baseline = "other"\nmargin_pct = 9\n[parameters]\nconnections = 7\nspecial = 1\n'
    text = projects.STUDY.replace("[factors.loop", f"{own}[factors.loop", 1)
    root = projects.write(tmp_path, more={"extra": text})
    first, extra = catalog.load("exp", root=root), catalog.load("exp", "extra", root=root)
    assert (first.title, extra.title) == ("exp/main", "exp/extra")
    assert (first.study.margin_pct, extra.study.margin_pct) == (2.0, 9)
    assert list(extra.variants) == ["other", "none"] == extra.choose(None)
    assert extra.study.parameters == first.study.parameters | {"connections": 7, "special": 1}
    with pytest.raises(UnknownName, match="no study of exp 'extar'; did you mean 'extra'"):
        catalog.load("exp", "extar", root=root)


def test_a_study_s_instrument_replaces_the_experiment_s(tmp_path: Path) -> None:
    own = '[instrument]\nargv = ["harness"]\nspec = { depth = 1, name = "all" }\n'
    more = {"extra": f"{projects.STUDY}\n{own}"}
    special = "[instruments.extra.spec]\nname = 'other'"
    root = projects.write(tmp_path, variants={"none": "", "other": special}, more=more)
    first, extra = catalog.load("exp", root=root), catalog.load("exp", "extra", root=root)
    assert first.variants["other"].instrument.argv == ["true"]
    assert first.variants["other"].instrument.spec == {}
    assert extra.variants["none"].instrument.spec == {"depth": 1, "name": "all"}
    assert extra.variants["other"].instrument.spec == {"depth": 1, "name": "other"}


def test_rules_for_levels_add_up(tmp_path: Path) -> None:
    rule = "[[{}levels]]\nwhen = 'on'\nunsupported = '{}'\n"
    text = f"{projects.EXPERIMENT}\n{rule.format('variants.', 'all')}"
    variants = {"none": "", "other": rule.format("", "own")}
    loaded = catalog.load("exp", root=projects.write(tmp_path, experiment=text, variants=variants))
    found = {name: [r.unsupported for r in each.levels] for name, each in loaded.variants.items()}
    assert found == {"none": ["all"], "other": ["all", "own"]}


def test_a_variant_cannot_have_the_name_of_another_s_trial(tmp_path: Path) -> None:
    root = projects.write(tmp_path, variants={"none": "", "none-base": ""})
    assert "'none-base' is what a trial of another is called" in complaint(root)


def test_a_variant_cannot_have_a_study_s_name(tmp_path: Path) -> None:
    root = projects.write(tmp_path, variants={"none": "", "main": ""})
    assert "'main' is the name of a study, too" in complaint(root)


def test_families_of_outcomes_are_single_ones(tmp_path: Path) -> None:
    family = """
[outcomes."wait_{}_us"]
each = { p50 = "median", p99 = "p99" }
title = "Wait, {}"
unit = "µs"
better = "lower"
value = "instrument.wait_{}_us"
"""
    text = projects.STUDY.replace('["cpu"]', '["cpu", "wait_{}_us"]') + family
    loaded = catalog.load("exp", root=projects.write(tmp_path, study=text))
    assert loaded.study.judged == ["cpu", "wait_p50_us", "wait_p99_us"]
    assert loaded.outcomes["wait_p50_us"].title == "Wait, median"
    assert loaded.outcomes["wait_p99_us"].value == "instrument.wait_p99_us"
