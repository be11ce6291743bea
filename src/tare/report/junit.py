"""A gate's rulings as JUnit XML, which most CI systems show as tests.

The format is the subset that CI systems have in common; no standard defines it.
"""

from collections.abc import Sequence
from xml.etree import ElementTree

from tare.report.gate import Ruling


def document(rulings: Sequence[Ruling], sentences: Sequence[str], run: str) -> str:
    """Return the file's text: a test per ruling. What cannot be told is a skipped test."""
    count = {
        decision: str(sum(each.decision == decision for each in rulings))
        for decision in ("fail", "cannot-tell")
    }
    suite = ElementTree.Element(
        "testsuite",
        name="tare gate",
        id=run,
        tests=str(len(rulings)),
        failures=count["fail"],
        errors="0",
        skipped=count["cannot-tell"],
    )
    for each in rulings:
        name = f"{each.outcome} at most {each.limit_pct:g} % worse"
        case = ElementTree.SubElement(suite, "testcase", classname=each.variant, name=name)
        match each.decision:
            case "fail":
                ElementTree.SubElement(case, "failure", message=each.text)
            case "cannot-tell":
                ElementTree.SubElement(case, "skipped", message=each.text)
            case "pass":
                ElementTree.SubElement(case, "system-out").text = each.text
    ElementTree.SubElement(suite, "system-out").text = "\n".join(sentences)
    suites = ElementTree.Element("testsuites")
    suites.append(suite)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)
