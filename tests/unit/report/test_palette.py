"""Colours of charts can be told from what is behind them, on light and on dark pages."""

import pytest

from tare.report.charts.palette import (
    DARK,
    FLOOR,
    INK,
    MARGIN,
    PAPER,
    QUIET,
    SERIES,
    TINTS,
    VERDICTS,
)

TINTED = [tint for tints in TINTS.values() for tint in tints]


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.2)."""
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_the_measure_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_and_marks_stand_out(dark: bool) -> None:
    def shown(colour: str) -> str:
        return DARK[colour] if dark else colour

    for mark in (*SERIES, *VERDICTS.values(), MARGIN):
        assert contrast(shown(mark), shown(PAPER)) >= 3, mark
        if mark in VERDICTS.values() or mark == MARGIN:
            assert contrast(shown(mark), shown(FLOOR)) >= 3, f"{mark} on the noise floor"
    for text in (INK, QUIET):
        assert contrast(shown(text), shown(PAPER)) >= 4.5, text
    for tint in TINTED:
        assert contrast(shown(INK), shown(tint)) >= 4.5, tint


def test_each_colour_has_one_dark_counterpart_of_its_own() -> None:
    assert len(set(DARK.values())) == len(DARK)
    assert {*SERIES, *VERDICTS.values(), *TINTED} <= DARK.keys()
