"""A gate's rulings as JUnit XML, which most CI systems show as tests.

The format is the subset that CI systems have in common; no standard defines it.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from tare.report.gate import Ruling

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write, and a name of a process may have."""


def document(
    rulings: Sequence[Ruling], sentences: Sequence[str], run: str, alarm: str | None
) -> str:
    """Return the file's text, in ASCII: a test per ruling. What cannot be told is a skipped test,
    and so is the A/A control that raises an alarm.
    """
    count = {
        decision: sum(each.decision == decision for each in rulings)
        for decision in ("fail", "cannot-tell")
    }
    suite = ElementTree.Element(
        "testsuite",
        name="tare gate",
        id=run,
        tests=str(len(rulings) + bool(alarm)),
        failures=str(count["fail"]),
        errors="0",
        skipped=str(count["cannot-tell"] + bool(alarm)),
    )
    if alarm:
        case = ElementTree.SubElement(suite, "testcase", classname="tare gate", name="A/A control")
        ElementTree.SubElement(case, "skipped", message=_written(alarm))
    for each in rulings:
        name = f"{each.outcome} at most {each.limit_pct:g} % worse"
        case = ElementTree.SubElement(suite, "testcase", classname=each.variant, name=name)
        match each.decision:
            case "fail":
                ElementTree.SubElement(case, "failure", message=_written(each.text))
            case "cannot-tell":
                ElementTree.SubElement(case, "skipped", message=_written(each.text))
            case "pass":
                ElementTree.SubElement(case, "system-out").text = _written(each.text)
    ElementTree.SubElement(suite, "system-out").text = _written("\n".join(sentences))
    return _file(suite)


def error(said: str, run: str | None) -> str:
    """Return the same of a gate that decided nothing because of an error."""
    suite = ElementTree.Element(
        "testsuite", name="tare gate", tests="1", failures="0", errors="1", skipped="0"
    )
    if run is not None:
        suite.set("id", run)
    case = ElementTree.SubElement(suite, "testcase", classname="tare gate", name="decision")
    first = _written(said).partition("\n")[0].rstrip("\r")
    ElementTree.SubElement(case, "error", message=first).text = _written(said)
    return _file(suite)


def _file(suite: ElementTree.Element) -> str:
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    made: bytes = ElementTree.tostring(suites, encoding="us-ascii", xml_declaration=True)
    return made.decode("ascii")


def _written(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)
