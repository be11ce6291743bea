"""Every command line that a page or a help text shows is one that tare takes."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from tare.cli.main import tare
from tare.lab.paths import ROOT

_OLD = {"record/README.md"}
"""Pages whose commands are those of an earlier tare, as they say."""
_MADE_BY_THE_READER = re.compile(r"[A-Z]{3,}|<|\{|example-")
"""What stands for a name, or for what the page has its reader write first."""


def in_page(text: str) -> Iterator[str]:
    """Return the command lines of a page's code: fenced lines, and spans that are one."""
    fenced = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
    for block in fenced.findall(text):
        yield from re.findall(r"^(?:\./)?tare .*", block.replace("\\\n", " "), re.MULTILINE)
    yield from re.findall(r"`(\./tare [^`]*)`", fenced.sub("", text))


def in_help(command: click.Command) -> Iterator[str]:
    yield from re.findall(r"^\s*(tare .*)", command.help or "", re.MULTILINE)
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            known = command.get_command(context, name)
            assert known is not None
            yield from in_help(known)


def pages() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / name for name in listed.stdout.splitlines() if name not in _OLD]


def examples() -> dict[str, str]:
    """Return each example with the place that shows it."""
    found = dict.fromkeys(in_help(tare), "--help")
    for page in pages():
        for line in in_page(page.read_text().replace("\\|", "|")):
            found[line.strip()] = str(page.relative_to(ROOT))
    return {
        line.strip(): where
        for whole, where in found.items()
        for line in whole.split("&&")
        if not _MADE_BY_THE_READER.search(line.partition(" # ")[0].partition("   ")[0])
    }


def arguments(line: str) -> list[str]:
    """Return the words behind `tare`, without the comment or the explanation at the line's end."""
    return shlex.split(re.split(r"\s#\s| {3,}", line)[0], comments=True)[1:]


def _only_reads(words: list[str]) -> bool:
    """Return true for commands that show something of the project itself, and change nothing."""
    match words:
        case ["list" | "show", *_]:
            return True
        case ["report" | "compare" | "history", *rest]:
            return rest != [] and all(word.startswith("record/") for word in rest)
        case _:
            return False


def test_there_are_examples() -> None:
    assert len(examples()) > 60
    assert list(in_page("```\n./tare run x \\\n --quick\n```\n`./tare list`\n`tare export`")) == [
        "./tare run x   --quick",
        "./tare list",
    ]


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of record/, where pages may be written."""
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(ROOT / "record", folder / "record")
    return folder


@pytest.mark.parametrize("line", sorted(examples()))
def test_an_example_is_taken(line: str, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = arguments(line.removeprefix("./"))
    where = examples()[line]
    if words[:1] == ["run"] or _only_reads(words):
        asked = [*words, "--dry-run"] if words[0] == "run" else words
        if any(word.startswith("record/") for word in words):
            monkeypatch.chdir(copied)
        done = CliRunner().invoke(tare, asked)
        assert done.exit_code == 0, f"{where}: {line}\n{done.output}{done.stderr}"
        return
    try:
        command: click.Command = tare
        context = click.Context(command)
        if words and not words[0].startswith("-"):
            found = tare.get_command(context, words[0])
            assert found is not None, f"{where}: no command {words[0]}"
            command, words = found, words[1:]
        command.make_context("tare", words)
    except click.exceptions.Exit:
        pass  # --help, --version
    except click.ClickException as error:
        pytest.fail(f"{where}: {line}: {error.format_message()}")
