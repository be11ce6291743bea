from pathlib import Path
from typing import Any

import projects
import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.catalog import Loaded, load
from tare.lab.run import planning
from tare.model.trial import Benchmark

PRESENTED = """
[google_benchmark]
real_time = "cpu"
cpu_time = "cpu"

[[google_benchmark.names]]
within = { loop = ["open"] }
name = "BM_Open/mode:{{ properties.mode | default(variant) }}/connections:{{ connections }}"
label = "{{ variant }}!"
defaults = { size = "large" }
counters = { doubled = "{{ connections * 2 }}" }

[[google_benchmark.names]]
within = { size = ["large"] }
name = "BM_Large"
says = ["loop"]
"""
VARIANTS = {"none": "", "other": "properties = { mode = 7 }"}


def project(tmp_path: Path, presented: str = PRESENTED) -> Loaded:
    text = projects.STUDY.replace("[quick]", f"{presented}\n[quick]")
    return load("exp", root=projects.write(tmp_path, study=text, variants=VARIANTS))


def named(
    loaded: Loaded, scenarios: list[str] | None = None, **overrides: Any
) -> dict[str, dict[str, Benchmark]]:
    return planning.make(
        loaded,
        quick=False,
        variants=None,
        scenarios=scenarios or ["loop=closed|open,size=small|large"],
        blocks=None,
        seed=1,
        overrides=overrides,
    ).benchmarks


def test_scenarios_have_the_first_name_that_they_are_within(tmp_path: Path) -> None:
    found = named(project(tmp_path))
    assert {scenario: each["none"].name for scenario, each in found.items()} == {
        "loop=closed,size=large": "BM_Large",
        "loop=open,size=small": "BM_Open/mode:none/connections:8/size:small",
        "loop=open,size=large": "BM_Open/mode:none/connections:8",
    }
    large = found["loop=open,size=large"]
    assert large["other"].name == "BM_Open/mode:7/connections:8"
    assert large["control"].name == "BM_Open/mode:control/connections:8"
    assert (large["other"].label, large["other"].counters) == ("other!", {"doubled": 16})
    assert (large["other"].real_time, large["other"].cpu_time) == ("cpu", "cpu")


def test_the_command_line_s_parameters_are_in_the_name(tmp_path: Path) -> None:
    found = named(project(tmp_path), ["loop=open,size=large"], connections=3)
    assert found["loop=3,size=large"]["none"].name == "BM_Open/mode:none/connections:3"


def test_an_experiment_need_not_have_names(tmp_path: Path) -> None:
    assert named(project(tmp_path, "")) == {}


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ('real_time = "cpu"', 'real_time = "gpu"', r"google_benchmark\.real_time: found 'gpu'"),
        ('["open"]', '["opne"]', r"names\.0\.within\.loop: found 'opne'"),
        ('says = ["loop"]', 'says = ["pool"]', r"names\.1\.says: found 'pool'"),
        ('{ size = "large" }', '{ size = "huge" }', r"names\.0\.defaults\.size: found 'huge'"),
        ('connections }}"', 'conections }}"', "google_benchmark: template .*conections"),
    ],
)
def test_what_is_not_there_is_named(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    with pytest.raises(ManifestError, match=said):
        named(project(tmp_path, PRESENTED.replace(right, wrong)))
