"""A run that the machine spoils ends soon, and says who disturbs it."""

import pytest
from laboratory import Laboratory

from tare.lab.run.patience import SPOILT_MAX

pytestmark = pytest.mark.system


def test_it_ends_and_can_be_resumed(lab: Laboratory) -> None:
    for command in ("run", "resume"):
        target = "toy/spoilt" if command == "run" else "last"
        options = ("--variants", "slow", "-p", "duration_s=0.1") if command == "run" else ()
        text = lab.tare(command, target, *options, code=1)
        assert f"the machine spoilt {SPOILT_MAX} trials in a row" in text, text
        assert "steal" in text and "other processes on the CPUs: " in text
    assert {trial.status for trial in lab.trials()} == {"invalid"}
    assert len(lab.trials()) == 2 * SPOILT_MAX


def test_no_attempt_begins_when_the_time_is_over(lab: Laboratory) -> None:
    options = ("--variants", "slow", "-p", "duration_s=0.1", "--until", "resolved")
    lab.tare("run", "toy/spoilt", *options, "--within", "0.01", code=1)
    assert [trial.status for trial in lab.trials()] == ["invalid"], "the first takes all of it"
