"""A gate's rulings as people and the pages of CI services read them, an alarm first."""

import json
import re
from collections.abc import Callable, Sequence

from tare.report import junit
from tare.report.gate import Ruling

_MARKS = {"fail": "❌", "pass": "✅", "cannot-tell": "❔"}
_MARKDOWN = re.compile(r"[\\`*_<>&|~]")
"""What a name of a function may have that Markdown or HTML would take for a mark."""
_COMMAND = {"%": "%25", "\r": "%0D", "\n": "%0A"}


def _text(found: Sequence[Ruling], words: Sequence[str], _: str, alarm: str | None) -> str:
    lines = [f"{each.decision}: {each.variant}: {each.text}" for each in found]
    return "\n".join([alarm, *lines] if alarm else [*lines, *words])


def _markdown(found: Sequence[Ruling], words: Sequence[str], _: str, alarm: str | None) -> str:
    rows = [f"| {_MARKS[each.decision]} | {each.variant} | {_plain(each.text)} |" for each in found]
    table = "\n".join(["| | server | outcome |", "|---|---|---|", *rows])
    said = [f"**{_plain(alarm)}**", table] if alarm else [table, *map(_plain, words)]
    return "\n\n".join(said)


def _plain(text: str) -> str:
    return _MARKDOWN.sub(r"\\\g<0>", text).replace("\n", " ")


def _github(found: Sequence[Ruling], _: Sequence[str], __: str, alarm: str | None) -> str:
    """Commands to a workflow: https://docs.github.com/actions/reference/workflow-commands."""

    def line(kind: str, said: str) -> str:
        escaped = "".join(_COMMAND.get(letter, letter) for letter in said)
        return f"::{kind} title=tare gate::{escaped}"

    lines = [
        line("error" if each.decision == "fail" else "notice", f"{each.variant}: {each.text}")
        for each in found
    ]
    return "\n".join([line("warning", alarm), *lines] if alarm else lines)


def _json(found: Sequence[Ruling], words: Sequence[str], run: str, alarm: str | None) -> str:
    whole = {
        "alarm": alarm,
        "failed": any(each.decision == "fail" for each in found),
        "rulings": [each.model_dump() for each in found],
        "sentences": list(words),
        "run": run,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False)


FORMATS: dict[str, Callable[[Sequence[Ruling], Sequence[str], str, str | None], str]] = {
    "text": _text,
    "json": _json,
    "markdown": _markdown,
    "junit": junit.document,
    "github": _github,
}
"""Name → what writes rulings, the sentences of their run, the run's name, and the alarm of its A/A
control, if it has one.
"""
