"""What single levels need is prepared when they are wanted, and lacking it is told."""

from pathlib import Path

import projects
import pytest

from tare.lab.errors import ManifestError
from tare.lab.project.catalog import load
from tare.lab.project.preparation import Prepared, prepare, with_observers
from tare.lab.run import planning
from tare.probes import rights

NEEDS = """
[[levels]]
when = "connections == 8"
requires = [{ command = "no-such-program", remedy = "write it" }]

[[levels]]
when = "connections != 8"
requires = [{ command = "sh", remedy = "where is it?" }]
"""
LOOPS = ("closed", "open")
VERSION = """
[version]
argv = ["echo", "1.2"]
pattern = '(.*)'
"""


def test_a_level_s_needs_are_no_other_level_s(tmp_path: Path) -> None:
    variants = {"none": VERSION, "other": VERSION + NEEDS}
    loaded = load("exp", root=projects.write(tmp_path, variants=variants))
    closed, opened = (planning.scenario_at(loaded, {"loop": each}, {}) for each in LOOPS)
    prepared = prepare(loaded, ["none", "other"], print, [closed, opened])
    assert set(prepared.built) == {"none", "other"}
    assert prepared.unavailable_in(opened, loaded, "none") is None
    assert prepared.unavailable_in(closed, loaded, "other") is None
    why = prepared.unavailable_in(opened, loaded, "other")
    assert why == "no-such-program is not there: write it"
    unwanted = prepare(loaded, ["other"], print, [closed])
    assert unwanted.lacking == {"other": []}, "nobody asked for it"


def test_a_level_that_a_variant_does_not_take_needs_nothing(tmp_path: Path) -> None:
    never = "[[levels]]\nwhen = \"connections == 8\"\nunsupported = 'it never does'\n"
    own = f"{VERSION}{NEEDS}{never}"
    loaded = load("exp", root=projects.write(tmp_path, variants={"none": VERSION, "other": own}))
    opened = planning.scenario_at(loaded, {"loop": "open"}, {})
    prepared = prepare(loaded, ["other"], print, [opened])
    assert prepared.lacking == {"other": []}
    why = prepared.unavailable_in(opened, loaded, "other")
    assert why is not None and "it never does" in why


def test_needs_are_of_levels_that_there_are(tmp_path: Path) -> None:
    wrong = VERSION + NEEDS.replace("connections", "conections")
    root = projects.write(tmp_path, variants={"none": VERSION, "other": wrong})
    with pytest.raises(ManifestError, match=r"levels\.0\.when: found 'conections'"):
        load("exp", root=root)


@pytest.mark.parametrize(
    ("bits", "enough"),
    [("0000000000000000", False), ("0000000000200000", True), ("000000c000000000", True),
     ("0000008000000000", False)],
)  # fmt: skip
def test_bpf_needs_its_two_rights_or_the_one_that_has_them(
    tmp_path: Path, bits: str, enough: bool
) -> None:
    status = tmp_path / "status"
    status.write_text(f"Name:\tx\nCapEff:\t{bits}\nCapBnd:\tffffffffffffffff\n")
    assert rights.may_load_bpf(status) == enough


def test_without_the_right_to_look_nothing_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tare.lab.project.preparation.may_load_bpf", lambda: False)
    said: list[str] = []
    found = with_observers(Prepared(), said.append, why=True)
    assert found.profiler == "BPF programs need root, or CAP_BPF and CAP_PERFMON"
    assert said == [f"--why: {found.profiler}; only what /proc counts is compared"]
