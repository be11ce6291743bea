"""A gate's rulings as JUnit XML, read back."""

from xml.etree import ElementTree

from tare.report.gate import Decision, Ruling
from tare.report.junit import document


def ruling(decision: Decision, outcome: str = "cpu") -> Ruling:
    text = f"{outcome} <{decision}> & more"
    return Ruling(variant="new", outcome=outcome, limit_pct=2.0, decision=decision, text=text)


def test_each_ruling_is_a_test() -> None:
    made = [ruling("fail"), ruling("pass", "p50"), ruling("cannot-tell", "p99")]
    suites = ElementTree.fromstring(document(made, ["One.", "Two <&>."], "run-7", None))
    (suite,) = suites
    assert suite.attrib == {
        "name": "tare gate",
        "id": "run-7",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
    }
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        f"{name} at most 2 % worse" for name in ("cpu", "p50", "p99")
    ]
    assert [[child.tag for child in case] for case in cases] == [
        ["failure"],
        ["system-out"],
        ["skipped"],
    ]
    assert cases[0][0].get("message") == "cpu <fail> & more"
    assert suite.findtext("system-out") == "One.\nTwo <&>."
