"""Colours on white, each with its counterpart on a dark page.

A chart is drawn once, with the light ones; the page's style maps them. Text has a contrast of at
least 4.5, and a mark of at least 3, on both (WCAG 2.2, 1.4.3 and 1.4.11).
"""

INK, QUIET, PAPER = "#1b1f24", "#59636e", "#ffffff"
GRID, FRAME, FLOOR, MARGIN = "#e6e9ed", "#d0d7de", "#d5dae0", "#0550ae"
VERDICTS = {
    "baseline": INK,
    "costs": "#b42318",
    "saves": "#1a7f37",
    "equivalent": "#0969da",
    "unresolved": "#8a5a00",
    "A/A control": QUIET,
}
SERIES = (
    "#0063a6", "#c04a00", "#007a5a", "#a84a86", "#8a6100", "#2f7f9e", "#5b3f99", "#7a4a3a",
)  # fmt: skip
DASHES = ([1, 0], [6, 3], [2, 2])
TINTS = {
    "costs": ("#ffe7e3", "#ffd0c8", "#ffb3a7"),
    "saves": ("#e2f6e6", "#c3ebcb", "#9fdcab"),
    "equivalent": ("#ddebfb",),
    "unresolved": ("#fbf3d9",),
    "none": ("#f3f4f6",),
}
"""Backgrounds of text in `INK`, by verdict, stronger with the effect."""

DARK = {
    INK: "#e6edf3",
    QUIET: "#a3adb8",
    PAPER: "#0d1117",
    GRID: "#262c34",
    FRAME: "#3d444d",
    FLOOR: "#363e48",
    MARGIN: "#79b8ff",
    "#b42318": "#ff9b8f",
    "#1a7f37": "#57d37e",
    "#0969da": "#6cb6fe",
    "#8a5a00": "#e3b341",
    "#0063a6": "#6cb6ff",
    "#c04a00": "#ff9b63",
    "#007a5a": "#4fd1a5",
    "#a84a86": "#f0a3d4",
    "#8a6100": "#e8c15a",
    "#2f7f9e": "#7fd6ee",
    "#5b3f99": "#b9a3f5",
    "#7a4a3a": "#d3a294",
    "#ffe7e3": "#43201c",
    "#ffd0c8": "#5c251f",
    "#ffb3a7": "#7a2c23",
    "#e2f6e6": "#15321d",
    "#c3ebcb": "#1a4426",
    "#9fdcab": "#1f5a30",
    "#ddebfb": "#14304f",
    "#fbf3d9": "#3a3115",
    "#f3f4f6": "#1c222a",
}


def series(number: int) -> tuple[list[str], list[list[int]]]:
    """Return a colour and a dash for each of so many lines, few of them alike in both."""
    places = range(number)
    return (
        [SERIES[place % len(SERIES)] for place in places],
        [list(DASHES[place // len(SERIES) % len(DASHES)]) for place in places],
    )
