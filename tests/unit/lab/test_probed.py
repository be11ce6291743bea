"""What an experiment's own probe saw over a window."""

from types import SimpleNamespace

from tare.lab.project.hooks import Since
from tare.lab.trial.account import probed


def test_what_grows_is_a_difference_and_scaled_and_a_median_is_neither() -> None:
    found = SimpleNamespace(
        window_s=2.0,
        probed_s=4.0,
        opened=SimpleNamespace(own={"calls": 10.0, "median_us": Since(900.0)}),
        closed=SimpleNamespace(own={"calls": 30.0, "median_us": Since(100.0)}),
    )
    assert probed(found) == {"calls": 10.0, "median_us": 100.0}
