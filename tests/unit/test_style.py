"""Rules of plain English that a program can check (docs/GLOSSARY.md has the words)."""

import ast
import itertools
import re
import subprocess
from collections.abc import Iterator

import pytest

from tare.lab.paths import ROOT

_BEGINS_BADLY = re.compile(
    r"(What|How|Whether|Where|Who|Whose|Whatever|When|Which|Why|None|Says|Tells)\b(?! does this)"
)
"""A docstring begins with what the code does or returns. (tare's own question is none.)"""
_FORBIDDEN = re.compile(
    r"\bdearer\b|\bdearest\b|\bwhoever\b|not told from|told apart|cannot be told from"
    r"|\bbefell\b|'s mood\b|\bone's own\b",
    re.IGNORECASE,
)
"""Phrases for which there are plainer ones: most expensive, indistinguishable, your own."""
_LONGEST_SENTENCE = 200
"""Characters of a sentence in a message."""


def files(*patterns: str) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return listed.stdout.splitlines()


def docstrings(code: str) -> Iterator[tuple[int, str]]:
    """Yield each docstring of a module with its line."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, text


def raised(code: str) -> Iterator[tuple[int, str]]:
    """Yield the text of each exception that a module raises with one, values as `{}`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
            match node.exc.args[0]:
                case ast.Constant(value=str(text)):
                    yield node.lineno, text
                case ast.JoinedStr(values=parts):
                    texts = [
                        part.value if isinstance(part, ast.Constant) else "{}" for part in parts
                    ]
                    yield node.lineno, "".join(map(str, texts))


def beginnings(code: str) -> list[int]:
    return [line for line, text in docstrings(code) if _BEGINS_BADLY.match(text)]


def long_messages(code: str) -> list[int]:
    return [
        line
        for line, text in raised(code)
        if any(len(sentence) > _LONGEST_SENTENCE for sentence in re.split(r"[.;:] |\n", text))
    ]


def rust_beginnings(code: str) -> list[int]:
    """The lines at which a block of Rust documentation begins badly."""
    lines = ["", *(line.strip() for line in code.splitlines())]
    return [
        number
        for number, (before, line) in enumerate(itertools.pairwise(lines), start=1)
        if not before.startswith(("///", "//!"))
        and (text := re.match(r"//[/!] (.*)", line))
        and _BEGINS_BADLY.match(text[1])
    ]


@pytest.mark.parametrize("file", files("src/tare/*.py", "experiments/*.py", "components/*.py"))
def test_the_laboratory_speaks_plainly(file: str) -> None:
    code = (ROOT / file).read_text()
    assert [f"{file}:{line}" for line in beginnings(code)] == [], "say what it does or returns"
    assert [f"{file}:{line}" for line in long_messages(code)] == [], "one idea a sentence"


@pytest.mark.parametrize("file", [file for file in files("*.rs") if "tests" not in file])
def test_the_crates_speak_plainly(file: str) -> None:
    found = rust_beginnings((ROOT / file).read_text())
    assert [f"{file}:{line}" for line in found] == [], "say what it does or returns"


def test_no_page_or_message_has_a_forbidden_phrase() -> None:
    found = [
        f"{file}:{number}: {line.strip()}"
        for file in files("*.md", "src/*.py", "*.toml")
        if not file.startswith("record/")
        for number, line in enumerate((ROOT / file).read_text().splitlines(), start=1)
        if _FORBIDDEN.search(line)
    ]
    assert found == []


def test_the_rules_find_what_breaks_them() -> None:
    code = (
        '"""What it is."""\ndef f():\n    """Return 1."""\n    raise ValueError(f"{f} ' + "x" * 250
    )
    code += '")\n'
    assert beginnings(code) == [1] and long_messages(code) == [4]
    assert rust_beginnings("//! One.\n\n/// Whether so.\n/// Why.\nfn f() {}\n") == [3]
    assert _FORBIDDEN.search("a is not told from b") and not _FORBIDDEN.search("a is told by b")
