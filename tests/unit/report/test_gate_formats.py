"""A gate's rulings in each format."""

import json
from xml.etree import ElementTree

from tare.report.gate import Ruling
from tare.report.gate_formats import FORMATS

FOUND = [
    Ruling(variant="new", outcome="cpu", limit_pct=2.0, decision="fail", text="CPU +3 % [2, 4]"),
    Ruling(variant="new", outcome="p50", limit_pct=2.0, decision="cannot-tell", text="50\nor 51"),
]
WORDS = ["new is dearer.", "p50 is not clear."]


def told(form: str) -> str:
    return FORMATS[form](FOUND, WORDS, "run-7")


def test_people_read_rulings_and_then_sentences() -> None:
    assert told("text").splitlines() == [
        "fail: new: CPU +3 % [2, 4]",
        "cannot-tell: new: 50",
        "or 51",
        *WORDS,
    ]


def test_a_table_has_a_row_for_each_ruling() -> None:
    head, line, first, *_, last = told("markdown").splitlines()
    assert (head.count("|"), line.count("|")) == (4, 4)
    assert first == "| ❌ | new | CPU +3 % [2, 4] |" and last == WORDS[1]


def test_a_workflow_command_is_one_line_with_nothing_left_to_expand() -> None:
    assert told("github").splitlines() == [
        "::error title=tare gate::new: CPU +3 %25 [2, 4]",
        "::notice title=tare gate::new: 50%0Aor 51",
    ]


def test_json_holds_everything() -> None:
    found = json.loads(told("json"))
    assert found["failed"] and found["sentences"] == WORDS and found["run"] == "run-7"
    assert [each["decision"] for each in found["rulings"]] == ["fail", "cannot-tell"]


def test_junit_is_xml() -> None:
    assert ElementTree.fromstring(told("junit")).tag == "testsuites"


def test_nothing_failed_where_no_ruling_did() -> None:
    assert not json.loads(FORMATS["json"](FOUND[1:], WORDS, "run-7"))["failed"]
