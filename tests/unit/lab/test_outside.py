"""Variants of the user's own folder: found, copied, compared with another baseline."""

from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError, TareError, UnknownName
from tare.lab.paths import ROOT
from tare.lab.project import catalog, copying
from tare.lab.project.build import Built
from tare.lab.project.index import entries, experiment_names
from tare.lab.project.preparation import Prepared, fingerprint
from tare.lab.run import planning


def write(folder: Path, text: str = "") -> Path:
    folder.mkdir(parents=True)
    (folder / "variant.toml").write_text(projects.VARIANT + text)
    return folder


def test_a_variant_of_the_users_folder_is_one_of_the_experiment(tmp_path: Path) -> None:
    root, outside = projects.write(tmp_path / "project"), tmp_path / "own"
    mine = write(outside / "exp" / "mine")
    loaded = catalog.load("exp", root=root, outside=outside)
    assert list(loaded.variants) == ["none", "other", "mine"]
    assert loaded.variant_folder("mine") == mine
    assert loaded.variant_folder("other") == loaded.folder / "variants" / "other"
    assert "mine" not in catalog.load("exp", root=root).variants
    ((entry),) = entries(root, outside)
    assert entry.variants == ["none", "mine", "other"]
    prepared = Prepared(built={"mine": Built()})
    before = fingerprint(loaded, prepared)
    (mine / "x.j2").write_text("x")
    assert fingerprint(loaded, prepared) != before


def test_a_name_that_the_experiment_has_is_refused(tmp_path: Path) -> None:
    root = projects.write(tmp_path / "project")
    write(tmp_path / "own" / "exp" / "other")
    with pytest.raises(ManifestError, match=r"exp has a variant 'other' itself; rename yours"):
        catalog.load("exp", root=root, outside=tmp_path / "own")


def test_all_are_compared_with_the_chosen_baseline(tmp_path: Path) -> None:
    variants = {"none": "", "other": "", "third": 'baseline = "other"\n'}
    loaded = catalog.load("exp", root=projects.write(tmp_path, variants=variants))
    made = loaded.compared_with("third")
    assert list(made.variants) == ["third", "none", "other"]
    plan = planning.make(
        made, quick=False, variants=["other"], scenarios=[], blocks=1, seed=1, overrides={}
    )
    assert plan.baseline == "third" and plan.baselines == {} and plan.variants == ["third", "other"]
    with pytest.raises(UnknownName, match="did you mean 'third'"):
        loaded.compared_with("thrid")


COPIED = [
    (name, variant)
    for name in experiment_names()
    for variant in catalog.load(name).variants
    if not any(catalog.load(name).variant_folder(variant).rglob("Cargo.toml"))
]


@pytest.mark.parametrize(("name", "variant"), COPIED)
def test_a_copy_is_what_its_source_is(tmp_path: Path, name: str, variant: str) -> None:
    loaded = catalog.load(name)
    made = copying.copy(loaded, variant, "mine", tmp_path)
    assert made == tmp_path / name / "mine"
    copied = catalog.load(name, outside=tmp_path)
    mine, source = copied.variants["mine"], loaded.variants[variant]
    assert copied.variant_folder("mine") == made
    assert mine.from_ == variant and mine.title == f"{source.title} (mine)"
    assert not mine.hidden and not mine.extended
    same = {"title": source.title, "from_": None}
    same |= {"hidden": source.hidden, "extended": source.extended}
    assert mine.model_copy(update=same) == source
    assert f"#:schema {ROOT}/docs/schema/variant.json\n" in (made / "variant.toml").read_text()


def test_a_copy_of_a_copy_still_says_what_it_is(tmp_path: Path) -> None:
    copying.copy(catalog.load("sandbox"), "landlock", "mine", tmp_path)
    loaded = catalog.load("sandbox", outside=tmp_path)
    copying.copy(loaded, "mine", "again", tmp_path)
    catalog.load.cache_clear()
    assert catalog.load("sandbox", outside=tmp_path).variants["again"].from_ == "landlock"


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        ("nginy", "mine", "did you mean 'nginx'"),
        ("nginx", "Mine", "'Mine': expected lower-case letters"),
        ("nginx", "../mine", "expected lower-case letters"),
        ("nginx", "control", "neither control nor the name of a study of proxies"),
        ("nginx", "steady", "neither control nor the name of a study of proxies"),
        ("nginx", "caddy", "proxies has a variant 'caddy'; choose another name"),
    ],
)
def test_a_copy_that_cannot_be_is_refused(
    tmp_path: Path, source: str, name: str, words: str
) -> None:
    with pytest.raises(UnknownName, match=words):
        copying.copy(catalog.load("proxies"), source, name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_copy_lies_outside_and_replaces_nothing(tmp_path: Path) -> None:
    loaded = catalog.load("proxies")
    with pytest.raises(TareError, match="lies in the project"):
        copying.copy(loaded, "nginx", "mine", ROOT / "own")
    copying.copy(loaded, "nginx", "mine", tmp_path)
    with pytest.raises(TareError, match="is there already"):
        copying.copy(loaded, "nginx", "mine", tmp_path)
    with pytest.raises(TareError, match=r"program/Cargo.toml, a member of the project's Cargo"):
        copying.copy(catalog.load("filters"), "ebpf", "mine", tmp_path)
