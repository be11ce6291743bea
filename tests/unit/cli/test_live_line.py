"""The live line of a run leaves out whole columns where the terminal is narrow."""

import io

import pytest
from rich.console import Console

from tare.cli.live_line import LiveLine

KNOWN = "17 of 160 verdicts, 12 more awaited"
WHERE = "block 12, load=open-20k,connections=20,size=128, nowait-uring-open, attempt 2"
RATE = "123,456/s"


def drawn(width: int, known: str = KNOWN, where: str = WHERE, rate: str = RATE) -> list[str]:
    console = Console(file=io.StringIO(), force_terminal=True, color_system=None, width=width)
    line = LiveLine(console, disable=False)
    line.add_task("", total=2772, completed=1234, known=known, where=where, rate=rate)
    with console.capture() as captured:
        console.print(line.make_tasks_table(line.tasks))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize(
    ("known", "where"), [(KNOWN, WHERE), ("measuring", ""), ("1 of 2 verdicts", "block 1, a, b")]
)
def test_no_figure_is_broken_or_cut(width: int, known: str, where: str) -> None:
    (whole,) = drawn(400, known, where)
    (line,) = drawn(width, known, where)
    assert len(line) <= width
    assert set(line.split()) <= set(whole.split())
    assert "1234/2772" in line


def test_what_is_left_out_first_is_always_the_same() -> None:
    texts = {"bar": "━", "elapsed": "0:00:00", "where": "block 12", "rate": RATE, "known": KNOWN}
    seen = [
        tuple(name for name, text in texts.items() if text in drawn(width)[0])
        for width in range(250, 10, -1)
    ]
    names = tuple(texts)
    assert list(dict.fromkeys(seen)) == [names[start:] for start in range(len(names) + 1)]
