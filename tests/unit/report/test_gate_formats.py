"""A gate's rulings in each format."""

import json
from xml.etree import ElementTree

from tare.report.gate import Ruling
from tare.report.gate_formats import ERRORS, FORMATS

FOUND = [
    Ruling(variant="new", outcome="cpu", limit_pct=2.0, decision="fail", text="CPU +3 % [2, 4]"),
    Ruling(variant="new", outcome="p50", limit_pct=2.0, decision="cannot-tell", text="50\nor 51"),
]
WORDS = ["new is dearer.", "p50 is not clear."]


ALARM = "Do not believe this run: old differs from itself."
HOSTILE = "in drop_in_place<T> (a|b), __f* and `g`\x1b[0m\x00 & ~x"


def told(form: str, alarm: str | None = None) -> str:
    return FORMATS[form](FOUND, WORDS, "run-7", alarm)


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
    assert not json.loads(FORMATS["json"](FOUND[1:], WORDS, "run-7", None))["failed"]


def test_an_alarm_comes_first_in_every_format() -> None:
    assert told("text", ALARM).splitlines()[:2] == [ALARM, "fail: new: CPU +3 % [2, 4]"]
    assert told("markdown", ALARM).splitlines()[0] == f"**{ALARM}**"
    assert told("github", ALARM).splitlines()[0] == f"::warning title=tare gate::{ALARM}"
    assert next(iter(json.loads(told("json", ALARM)).items())) == ("alarm", ALARM)
    assert json.loads(told("json"))["alarm"] is None
    (suite,) = ElementTree.fromstring(told("junit", ALARM))
    assert (suite.get("tests"), suite.get("skipped")) == ("3", "2")
    first = suite[0]
    assert (first.get("name"), first[0].tag) == ("A/A control", "skipped")
    assert first[0].get("message") == ALARM


def test_names_of_functions_and_processes_break_no_format() -> None:
    said = FORMATS["markdown"](FOUND, [HOSTILE], "run-7", None).splitlines()[-1]
    assert said.startswith(r"in drop\_in\_place\<T\> (a\|b), \_\_f\* and \`g\`")
    made = FORMATS["junit"](FOUND, [HOSTILE, "±1 µs"], "run-7", None)
    assert made.isascii() and made.startswith("<?xml version='1.0' encoding='us-ascii'?>")
    (suite,) = ElementTree.fromstring(made)
    shown = HOSTILE.replace("\x1b", "\ufffd").replace("\x00", "\ufffd")
    assert suite.findtext("system-out") == f"{shown}\n±1 µs"


LOG = "new ends: ]]> 100 %\r\n::set-env name=A::b\n<a b='c'> & ```` \x1b[2J\x00\udcff\ufffe"


def test_an_error_is_an_error_of_a_test_in_junit() -> None:
    made = ERRORS["junit"](LOG, "run-7")
    assert made.isascii()
    (suite,) = ElementTree.fromstring(made)
    assert suite.attrib == {
        "name": "tare gate",
        "tests": "1",
        "failures": "0",
        "errors": "1",
        "skipped": "0",
        "id": "run-7",
    }
    (found,) = suite.findall("testcase/error")
    assert found.get("message") == "new ends: ]]> 100 %"
    assert found.text is not None
    assert found.text.split("\n")[1:] == [
        "::set-env name=A::b",
        "<a b='c'> & ```` \ufffd[2J\ufffd\ufffd\ufffd",
    ]
    (suite,) = ElementTree.fromstring(ERRORS["junit"]("x", None))
    assert "id" not in suite.attrib


def test_an_error_is_one_command_to_a_workflow() -> None:
    (line,) = ERRORS["github"](LOG, None).splitlines()
    assert line.startswith("::error title=tare gate::The gate decided nothing")
    assert "new ends: ]]> 100 %25" in line and "%0A::set-env name=A::b%0A<a" in line
    assert "\x1b" not in line and "\x00" not in line


def test_an_error_is_a_field_in_json_and_nothing_failed_or_passed() -> None:
    made = ERRORS["json"](LOG, "run-7")
    found = json.loads(made)
    assert made.isascii() and found["error"] == LOG
    assert found["failed"] is None and found["rulings"] == [] and found["run"] == "run-7"
    assert found.keys() == json.loads(told("json")).keys()
    assert json.loads(told("json"))["error"] is None


def test_an_error_is_a_sentence_and_its_lines_in_markdown() -> None:
    first, _, fence, *lines, last = ERRORS["markdown"](LOG, None).split("\n")
    assert first == "**The gate decided nothing, because of an error.**"
    assert fence == last == "`" * 5
    assert lines[1:] == ["::set-env name=A::b", "<a b='c'> & ```` \ufffd[2J\ufffd\ufffd\ufffe"]
