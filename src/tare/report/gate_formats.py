"""A gate's rulings as people and the pages of CI services read them."""

import json
from collections.abc import Callable, Sequence

from tare.report import junit
from tare.report.gate import Ruling

_MARKS = {"fail": "❌", "pass": "✅", "cannot-tell": "❔"}


def _text(found: Sequence[Ruling], words: Sequence[str], _: str) -> str:
    return "\n".join([*(f"{each.decision}: {each.variant}: {each.text}" for each in found), *words])


def _markdown(found: Sequence[Ruling], words: Sequence[str], _: str) -> str:
    rows = [f"| {_MARKS[each.decision]} | {each.variant} | {each.text} |" for each in found]
    return "\n".join(["| | server | outcome |", "|---|---|---|", *rows, "", "\n\n".join(words)])


def _github(found: Sequence[Ruling], _: Sequence[str], __: str) -> str:
    """Commands to a workflow: https://docs.github.com/actions/reference/workflow-commands."""

    def line(each: Ruling) -> str:
        kind = "error" if each.decision == "fail" else "notice"
        said = f"{each.variant}: {each.text}".replace("%", "%25").replace("\n", "%0A")
        return f"::{kind} title=tare gate::{said}"

    return "\n".join(line(each) for each in found)


def _json(found: Sequence[Ruling], words: Sequence[str], run: str) -> str:
    whole = {
        "failed": any(each.decision == "fail" for each in found),
        "rulings": [each.model_dump() for each in found],
        "sentences": list(words),
        "run": run,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False)


FORMATS: dict[str, Callable[[Sequence[Ruling], Sequence[str], str], str]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "junit": junit.document,
    "github": _github,
}
"""Name → what writes rulings, the sentences of their run, and the run's name."""
