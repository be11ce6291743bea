"""The windows of the slowest requests: whole, or left out with the reason."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tare.lab.errors import RoleError
from tare.lab.trial import tail


@pytest.mark.parametrize(
    ("spoilt", "told"),
    [
        ({"errors": {"timeout": 2}}, "new: 2 errors in the window of its slowest requests"),
        ({"times_dropped": 7}, "new: the times of 7 answers found no room; take less --duration"),
    ],
)
def test_a_window_without_all_answers_is_left_out(
    monkeypatch: pytest.MonkeyPatch, spoilt: dict[str, Any], told: str
) -> None:
    fields: dict[str, Any] = {"errors": {}, "times_dropped": 0, "outcomes": {"latency_p99_us": 1.0}}
    result = SimpleNamespace(**(fields | spoilt))
    monkeypatch.setattr(tail, "look", lambda *_: (None, result))
    site: Any = SimpleNamespace(variant="new")
    with pytest.raises(RoleError, match=told):
        tail.look_at_both({"variant": site}, Path("tare-tail"), ["variant"])
