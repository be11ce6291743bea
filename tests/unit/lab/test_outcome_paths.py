"""Paths of outcomes are refused when a manifest is read, with what was found and expected."""

from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.catalog import load


def read(folder: Path, value: str, variant: str = "") -> None:
    assert projects.EXPERIMENT.count("role.sut.cpu_us") == 1
    text = projects.EXPERIMENT.replace("role.sut.cpu_us", value)
    load("exp", root=projects.write(folder, experiment=text, variants={"none": "", "own": variant}))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "role.sut.cpu_ms",
            r"value: found 'role.sut.cpu_ms', expected a probe of: cpu_us, .*'cpu_us'",
        ),
        ("role.sot.cpu_us", r"value: found 'role.sot.cpu_us', expected a role of: .*mean 'sut'"),
        ("role.own.cpu_us", "value: found 'role.own.cpu_us', expected a role of: first, sut, load"),
        ("analysis.slop", "value: found 'analysis.slop', expected analysis. with one of"),
        ("cpu_us", "value: found 'cpu_us', expected a path, as instrument.NAME"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(ManifestError, match=f"experiment.toml: outcomes.cpu.{message}"):
        read(tmp_path, value, 'roles = { own = { argv = ["x"] } }')


@pytest.mark.parametrize(
    "value",
    [
        "role.first.memory_bytes + role.load.cpu_us",
        "role.sut.ordinary_cpu_us",
        "probe.any",
    ],
)
def test_roles_that_all_variants_declare_and_the_instrument_have_probes(
    tmp_path: Path, value: str
) -> None:
    read(tmp_path, value)
