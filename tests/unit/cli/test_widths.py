"""Commands that print texts keep within the terminal, and break no name."""

import pytest
from click.testing import CliRunner

from tare.cli import hanging
from tare.cli.main import tare
from tare.lab.project import index
from tare.probes import audit

TARGETS = [
    f"{entry.name}{part}"
    for entry in index.entries()
    for part in ("", *(f"/{study.name}" for study in entry.studies))
]
COMMANDS = [
    ("list",),
    ("run", "--dry-run"),
    ("run", "echo", "--dry-run"),
    ("run", "filters", "--dry-run"),
    *(("show", target) for target in TARGETS),
    ("show", "filters/c-module"),
    ("show", "proxies/nginx"),
]


def printed(monkeypatch: pytest.MonkeyPatch, width: int | None, *arguments: str) -> list[str]:
    monkeypatch.setattr(hanging, "_width", lambda _: width)
    done = CliRunner().invoke(tare, arguments)
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.mark.parametrize("width", [60, 80])
def test_doctor_breaks_no_word(monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    facts = audit.audit([0])
    monkeypatch.setattr(audit, "audit", lambda _: facts)
    short, whole = (printed(monkeypatch, each, "doctor") for each in (width, None))
    assert "".join("".join(short).split()) == "".join("".join(whole).split())
    assert {word for line in short for word in line.split()} == {
        word for line in whole for word in line.split()
    }


@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_no_line_is_too_long_and_no_name_is_broken(
    monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], width: int
) -> None:
    short, whole = (printed(monkeypatch, each, *arguments) for each in (width, None))
    # A path or a checksum stays whole, to be copied.
    long = [line for line in short if len(line) > width and len(line.split()[-1]) < 40]
    assert long == []
    assert "".join("".join(short).split()) == "".join("".join(whole).split())
    names = {word for line in whole for word in line.replace(",", ", ").split()}
    assert {word for line in short for word in line.replace(",", ", ").split()} <= names


def test_a_text_stands_below_its_beginning() -> None:
    assert list(hanging.lines("  a   ", "one-long-name two three four five", 26)) == [
        "  a   one-long-name two",
        "      three four five",
    ]
    assert list(hanging.lines("", "about twenty or 6 min", 20)) == ["about twenty or", "6 min"]


def test_a_command_to_copy_stays_in_a_line() -> None:
    text = "nothing is lost; go on with: tare resume 20261129T023446Z"
    assert list(hanging.lines("tare: ", text, 50)) == [
        "tare: nothing is lost; go on with:",
        "      tare resume 20261129T023446Z",
    ]
    assert list(hanging.lines("", "so: tare gives each a port", 20)) == [
        "so: tare gives each",
        "a port",
    ]


def test_a_name_of_many_parts_is_broken_behind_a_comma() -> None:
    assert list(hanging.lines("", "load=open-20k,connections=20,size=128", 30)) == [
        "load=open-20k,connections=20,",
        "size=128",
    ]
