"""The flame graph, of built duels in which one function is more expensive."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from test_causes import FRAMES, run

from tare.report.causes import causes
from tare.report.charts.palette import TINTS
from tare.report.flame import flame

SVG = "{http://www.w3.org/2000/svg}"


def boxes(folder: Path, more: int) -> dict[str, tuple[float, float, str, str]]:
    """Name → row, width, colour and what is said of it."""
    made = run(folder, more=more)
    (cause,) = causes(made, "default", ["dear"])
    drawn = flame(made, "default", cause)
    assert drawn is not None
    found = {}
    for group in ElementTree.fromstring(drawn.svg).iter(f"{SVG}g"):
        title, box = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        assert title is not None and title.text and box is not None
        name = re.split(r" \(", title.text)[0]
        found[name] = (
            float(box.get("y", "")),
            float(box.get("width", "")),
            box.get("fill"),
            title.text,
        )
    return found


def test_both_builds_are_one_graph_and_what_changed_has_a_colour(tmp_path: Path) -> None:
    found = boxes(tmp_path, more=40)
    assert found.keys() == {"all", *FRAMES}, "the functions of two files are the same"
    rows = {name: row for name, (row, *_) in found.items()}
    assert rows["all"] < rows["main"] < rows["serve"] < rows["log"] < rows["write"]
    widths = {name: width for name, (_, width, *_) in found.items()}
    below = widths["parse"] + widths["log"] + widths["send"]
    assert widths["serve"] == pytest.approx(below, abs=0.3) == pytest.approx(1000, abs=0.3)
    assert found["write"][2] == TINTS["costs"][2]
    assert found["parse"][2] == found["send"][2] == TINTS["none"][0]
    assert re.fullmatch(
        r"write \(new\): \+\d+ .* ns a request", found["write"][3].replace("\n", " ")
    )


def test_what_costs_less_has_another_colour(tmp_path: Path) -> None:
    assert boxes(tmp_path, more=-28)["write"][2] in TINTS["saves"]


def test_without_profiles_there_is_none(tmp_path: Path) -> None:
    made = run(tmp_path)
    (cause,) = causes(made, "default", ["dear"])
    assert flame(made, "elsewhere", cause) is None
