"""A gate's rulings as people and the pages of CI services read them, an alarm first."""

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

from tare.report import junit
from tare.report.gate import Ruling

_MARKS = {"fail": "❌", "pass": "✅", "cannot-tell": "❔"}
_MARKDOWN = re.compile(r"[\\`*_<>&|~]")
"""What a name of a function may have that Markdown or HTML would take for a mark."""
_COMMAND = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a server's log may have and a page may not."""
_UNDECIDED = "The gate decided nothing, because of an error."


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
    lines = [
        _workflow("error" if each.decision == "fail" else "notice", f"{each.variant}: {each.text}")
        for each in found
    ]
    return "\n".join([_workflow("warning", alarm), *lines] if alarm else lines)


def _workflow(kind: str, said: str) -> str:
    escaped = "".join(_COMMAND.get(letter, letter) for letter in said)
    return f"::{kind} title=tare gate::{escaped}"


def _json(found: Sequence[Ruling], words: Sequence[str], run: str, alarm: str | None) -> str:
    whole = {
        "alarm": alarm,
        "error": None,
        "failed": any(each.decision == "fail" for each in found),
        "rulings": [each.model_dump() for each in found],
        "sentences": list(words),
        "run": run,
    }
    return json.dumps(whole, indent=1, ensure_ascii=False)


def _markdown_error(said: str, _: str | None) -> str:
    """The error stands in a fence that is longer than any within it."""
    text = _shown(said)
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"**{_UNDECIDED}**\n\n{fence}\n{text}\n{fence}"


def _github_error(said: str, _: str | None) -> str:
    return _workflow("error", f"{_UNDECIDED}\n{_shown(said)}")


def _json_error(said: str, run: str | None) -> str:
    whole: dict[str, Any] = {
        "alarm": None,
        "error": said,
        "failed": None,
        "rulings": [],
        "sentences": [],
        "run": run,
    }
    return json.dumps(whole, indent=1)


def _shown(text: str) -> str:
    return _CONTROL.sub("\ufffd", text)


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

ERRORS: dict[str, Callable[[str, str | None], str]] = {
    "json": _json_error,
    "markdown": _markdown_error,
    "junit": junit.error,
    "github": _github_error,
}
"""Name → what writes an error because of which nothing was decided, and the run's name if it has
one. Where the format is text, people read the error itself.
"""
