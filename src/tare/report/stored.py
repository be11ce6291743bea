"""results.json as it is stored: without indentation, its figures rounded."""

import json
from typing import Any

from tare.model.results import Results

_DIGITS = 10
"""Significant digits: the last ones of a double depend on the processor."""


def text(results: Results) -> str:
    """Return the content of results.json."""
    return json.dumps(data(results), ensure_ascii=False, separators=(",", ":")) + "\n"


def data(results: Results) -> Any:
    """Return the same as a table."""
    return _rounded(results.model_dump(mode="json"))


def _rounded(item: Any) -> Any:
    match item:
        case float():
            return float(f"{item:.{_DIGITS}g}")
        case dict():
            return {key: _rounded(value) for key, value in item.items()}
        case list():
            return [_rounded(value) for value in item]
        case _:
            return item
