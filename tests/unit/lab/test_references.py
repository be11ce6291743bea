"""Names that manifests use must exist."""

from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.catalog import load

SLOPE = "[analysis]\nkind = 'slope'\nparameter = 'connections'\ndoses = [1, 2]\noutcome = 'cpu'\n"


def study(tmp_path: Path, old: str, new: str, extra: str = "") -> str:
    """What is said of the study with a change, and with more at its end."""
    assert old in projects.STUDY + extra
    text = (projects.STUDY + extra).replace(old, new)
    root = projects.write(tmp_path, study=text)
    with pytest.raises(ManifestError) as caught:
        load("exp", root=root)
    found = str(caught.value)
    assert found.startswith(f"{root}/experiments/exp/studies/main.toml: ")
    return found.split("main.toml: ")[1]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{ duration_s = 0.5 }", "{ duratoin_s = 1 }", "quick.parameters: found 'duratoin_s'"),
        ("{ connections = 8 }", "{ conections = 8 }", "factors.loop.levels.open: found 'conect"),
        (
            '{ loop = "open" }',
            '{ lop = "open" }',
            "quick.scenarios: found 'lop', expect",
        ),
        ('{ loop = "open" }', '{ loop = "opne" }', "quick.scenarios.loop: found 'opne', expected"),
        ('judged = ["cpu"]', 'judged = ["cup"]', "judged: found 'cup', expected one of: cpu"),
        ('judged = ["cpu"]', 'shown = ["cup"]', "shown: found 'cup', expected one of: cpu"),
        (
            'judged = ["cpu"]',
            'shown = ["cpu"]\nawaited = ["cpu"]',
            "awaited: found 'cpu', expected one of: none",
        ),
        ('judged = ["cpu"]', 'judged = ["cpu"]\noverview = ["x"]', "overview: found 'x'"),
        ('judged = ["cpu"]', 'judged = ["cpu"]\nextended = [{ size = "huge" }]', "extended.size:"),
        ('judged = ["cpu"]', 'judged = ["cpu"]\nexclude = "conections"', "exclude: found 'conect"),
        (
            'judged = ["cpu"]',
            'judged = ["cpu"]\nexclude = "on and"',
            "exclude: found 'on and'",
        ),
    ],
)
def test_a_study_names_what_there_is(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert study(tmp_path, old, new).startswith(message.split("conect")[0])


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("'connections'", "'dsoe'", "analysis.parameter: found 'dsoe', expected one of: duration"),
        ("outcome = 'cpu'", "outcome = 'cup'", "analysis.outcome: found 'cup', expected one of: c"),
        ("kind = 'slope'", "kind = 'slop'", "analysis: found"),
    ],
)
def test_an_analysis_names_what_there_is(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert study(tmp_path, old, new, SLOPE).startswith(message)


def test_a_study_is_about_something(tmp_path: Path) -> None:
    assert "judged or shown outcomes" in study(tmp_path, 'judged = ["cpu"]', "")
    assert "each outcome once" in study(
        tmp_path / "twice", 'judged = ["cpu"]', 'judged = ["cpu"]\nshown = ["cpu"]'
    )


def test_default_studies_are_files(tmp_path: Path) -> None:
    text = projects.EXPERIMENT.replace('["main"]', '["main", "mian"]')
    with pytest.raises(ManifestError, match=r"studies: found 'mian', expected the name of a file"):
        load("exp", root=projects.write(tmp_path, experiment=text))


def variant(tmp_path: Path, text: str) -> str:
    root = projects.write(tmp_path, variants={"none": "", "other": text})
    with pytest.raises(ManifestError) as caught:
        load("exp", root=root)
    return str(caught.value).split("variant.toml: ")[1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('baseline = "nnoe"', "baseline: found 'nnoe', expected one of: none, other"),
        ("[[levels]]\nwhen = 'conections > 3'\nunsupported = 'x'", "levels.0.when: found 'conect"),
        ("[[levels]]\nwhen = 'on and'\nunsupported = 'x'", "levels.0.when: found 'on and', expec"),
        ("[[levels]]\nwhen = 'on'", "levels.0: found"),
        ("[[levels]]\nwhen = 'on'\nunsupported = 'x'\ncomponents = ['y']", "levels.0: found"),
        ("[instruments.mian]\nargv = ['x']", "instruments: there is no study 'mian'; did you mean"),
        ("[differences.lop.log]\nclosed = 'off'", "differences: found 'lop', expected one of: lo"),
        ("[differences.loop.log]\nopne = 'off'", "differences.loop: 'log': found 'opne', expec"),
    ],
)
def test_a_variant_names_what_there_is(tmp_path: Path, text: str, message: str) -> None:
    assert variant(tmp_path, text).startswith(message)


def test_a_rule_may_name_the_study_and_parameters_of_any(tmp_path: Path) -> None:
    rules = "[[levels]]\nwhen = \"study == 'main' and special > 2\"\nunsupported = 'no'"
    more = {"extra": projects.STUDY + "\n[parameters]\nspecial = 3\n"}
    root = projects.write(tmp_path, variants={"none": "", "other": rules}, more=more)
    assert load("exp", root=root).variants["other"].levels[0].unsupported == "no"
    assert load("exp", "extra", root=root).study.parameters["special"] == 3
