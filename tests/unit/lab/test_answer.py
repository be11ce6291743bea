"""What an instrument answers is validated where it comes in."""

from typing import Any

import pytest

from tare.lab.errors import RoleError
from tare.lab.project.hooks import Answered, Window
from tare.lab.trial.instrument import parse

ANSWER: dict[str, Any] = {
    "event": "result", "schema": 1, "instrument": "x", "window_s": 1.0, "outcomes": {},
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"window_s": "1"}, "window_s: found '1', expected a valid number"),
        ({"errors": {"read": -1}}, "errors.read: found -1, expected greater than or equal to 0"),
        (
            {"load": {"loop": "open", "in_flight_mean": 1.0, "completed": 1}},
            "load: found only loop, in_flight_mean, completed, "
            "expected also offered, send_lag_p50_us, send_lag_p99_us of a loop that is open",
        ),
        ({"load": {"loop": "closed", "x": 1}}, "load.in_flight_mean: missing, expected a value"),
        ({"outcomes": {"a": "x" * 1000}}, "outcomes.a: found '" + "x" * 119 + ", expected"),
    ],
)
def test_a_malformed_answer_names_field_found_and_expected(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RoleError) as caught:
        parse(ANSWER | changes, "exp/none: instrument")
    assert str(caught.value).startswith(f"exp/none: instrument: result: {message}")


def test_every_fault_is_named() -> None:
    with pytest.raises(RoleError, match=r"load.in_flight_mean: .*; e/v: result: load.x: unknown"):
        parse(ANSWER | {"load": {"loop": "closed", "x": 1}}, "e/v")


def test_the_totals_of_all_windows_are_audited() -> None:
    made = [parse(ANSWER | {"total": {"requests": count}}, "e/v") for count in (3, 4)]
    found = Answered(made[0], [Window({"rate": 1}, each) for each in made])
    assert found.total.requests == 7 and found.result.total.requests == 3
