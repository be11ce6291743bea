"""The flame graph of a variant's duels: all functions of both sides, and which of them changed."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from markupsafe import Markup, escape

from tare.model.results import CauseResult, FrameResult
from tare.report.causes import key_of, stacks
from tare.report.charts.palette import INK, PAPER, TINTS
from tare.report.explained import SIDES, explained
from tare.report.folder import RunFolder
from tare.report.numbers import signed
from tare.report.views import Drawn

_WIDTH, _ROW, _LETTER = 1000.0, 18.0, 6.6
_LEAST_PX = 2.0
"""What is narrower is not drawn."""
_STRONG = (0.02, 0.10)
"""Of the whole CPU time: differences from which a colour is stronger."""


@dataclass
class _Node:
    """A function as it was called by those above it."""

    key: str = ""
    ns: float = 0.0
    """CPU time of both sides per request, with what it calls."""
    below: dict[str, "_Node"] = field(default_factory=dict)


def flame(folder: RunFolder, scenario: str, cause: CauseResult) -> Drawn | None:
    """Draw the stacks of both sides as one, the root above; None where there are none.

    Coloured are functions whose difference is clear: reddish where the variant spends more.
    """
    root = _merged(folder, scenario, cause.label)
    if not root.ns:
        return None
    known = {key_of(each): each for each in cause.frames if not each.own}
    whole = (cause.baseline_ns + cause.variant_ns) / 2
    boxes = list(_boxes(root, 0.0, _WIDTH / root.ns, 0))
    high = _ROW * (1 + max(row for _, _, row, _ in boxes))
    drawn = "".join(_drawn(*box, known.get(box[0].key), whole) for box in boxes)
    size = f'viewBox="0 0 {_WIDTH:g} {high:g}" width="{_WIDTH:g}" height="{high:g}"'
    return Drawn(
        Markup(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{drawn}</svg>'),
        f"Flame graph of {cause.label} and its baseline together: a function stands below its "
        "caller, as wide as the CPU time of both; those that changed clearly are coloured, reddish "
        "for more and greenish for less; point at one to read its difference",
    )


def _merged(folder: RunFolder, scenario: str, label: str) -> _Node:
    root = _Node("all")
    for _, duel in explained(folder, scenario, label):
        for side in SIDES:
            for stack, ns in stacks(duel, side):
                node, cost = root, ns / duel.requests[side]
                node.ns += cost
                for key in filter(None, stack):
                    node = node.below.setdefault(key, _Node(key))
                    node.ns += cost
    return root


def _boxes(
    node: _Node, left: float, scale: float, row: int
) -> Iterator[tuple[_Node, float, int, float]]:
    """Yield each function that is wide enough with its left edge, row and width."""
    yield node, left, row, node.ns * scale
    for each in sorted(node.below.values(), key=lambda one: one.key):
        if each.ns * scale >= _LEAST_PX:
            yield from _boxes(each, left, scale, row + 1)
        left += each.ns * scale


def _drawn(
    node: _Node, left: float, row: int, width: float, found: FrameResult | None, whole: float
) -> str:
    name = node.key.partition("\0")[2] or node.key
    told = name
    if found is not None:
        told += f" ({found.module}): {signed(found.difference_ns, found.ci_ns)} ns a request"
    letters = int((width - 4) / _LETTER)
    shown = name if len(name) <= letters else f"{name[: letters - 1]}…" if letters > 3 else ""
    top = row * _ROW
    text = f'<text x="{left + 3:.1f}" y="{top + 13:g}" fill="{INK}">{escape(shown)}</text>'
    return (
        f"<g><title>{escape(told)}</title>"
        f'<rect x="{left:.1f}" y="{top:g}" width="{width:.1f}" height="{_ROW - 1:g}" '
        f'fill="{_tint(found, whole)}" stroke="{PAPER}"/>{text if shown else ""}</g>'
    )


def _tint(found: FrameResult | None, whole: float) -> str:
    if found is None or not found.clear:
        return TINTS["none"][0]
    share = abs(found.difference_ns) / whole
    tints = TINTS["costs" if found.difference_ns > 0 else "saves"]
    return tints[sum(share >= least for least in _STRONG)]
