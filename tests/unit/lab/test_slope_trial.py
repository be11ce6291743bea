"""The series of windows of one trial, with windows that are told what they find."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tare.lab.trial.analysis.protocol import About, Found
from tare.lab.trial.analysis.slope import Slope
from tare.lab.trial.measure import Measurement
from tare.model import analysis
from tare.model.instrument import Result
from tare.model.trial import Gate

DOSES = [1, 16, 64]
SETTINGS = analysis.Slope(kind="slope", parameter="dose", doses=DOSES, rounds=3, outcome="cpu")
ABOUT = About("exp", seed=7, parameters={}, retries=2)


class Server:
    """Answers 12 + 2 for each dose; which windows a gate refuses is the test's."""

    def __init__(self, refused: Callable[[int], bool] = lambda number: False) -> None:
        self.refused, self.asked = refused, [0]
        self.asked.clear()

    def take(self, own: Mapping[str, Any]) -> Measurement:
        assert list(own) == ["dose"]
        self.asked.append(own["dose"])
        answer = {"event": "result", "schema": 1, "instrument": "x", "window_s": 0.5}
        fields = {"outcomes": {"dose": own["dose"]}, "total": {"statuses": {"200": 10}}}
        result = Result.model_validate(answer | fields)
        return Measurement(own, result, None, None, {}, {})  # type: ignore[arg-type]

    def judge(self, found: Measurement) -> list[Gate]:
        ok = not self.refused(len(self.asked))
        return [Gate(name="foreign-cpu", kind="machine", ok=ok, found="much", wanted="little")]

    def value(self, found: Measurement, outcome: str) -> float:
        assert outcome == "cpu"
        return 12.0 + 2.0 * float(found.own["dose"])

    def measure(self) -> Found:
        return Slope(SETTINGS).run(self.take, self.judge, self.value, ABOUT)


def notes_of(found: Found) -> list[dict[str, Any]]:
    note: Any = found.notes["slope"]
    return list(note["windows"])


def test_each_round_has_every_dose_once_in_an_order_of_its_own() -> None:
    server = Server()
    found = server.measure()
    assert found.values["slope"] == pytest.approx(2) and found.measured_s == 0.5 * 9
    rounds = [server.asked[at : at + 3] for at in (0, 3, 6)]
    assert all(sorted(each) == DOSES for each in rounds) and len(set(map(tuple, rounds))) > 1
    assert len(found.windows) == 9 and found.measurement is found.windows[-1]
    notes = notes_of(found)
    assert [note["dose"] for note in notes] == server.asked
    assert [note["round"] for note in notes] == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert all(note["total"] == {"statuses": {"200": 10}} for note in notes)


def test_a_refused_window_is_repeated_and_left_out() -> None:
    server = Server(lambda number: number == 2)
    found = server.measure()
    assert found.values["slope"] == pytest.approx(2) and len(server.asked) == 10
    notes = notes_of(found)
    assert [note["spoilt"] for note in notes[:3]] == [[], ["foreign-cpu"], []]
    assert notes[1]["dose"] == notes[2]["dose"]
    assert all(gate.ok for gate in found.gates)


def test_a_window_that_stays_refused_closes_the_trial() -> None:
    server = Server(lambda number: number >= 4)
    found = server.measure()
    assert found.values["slope"] is None and len(server.asked) == 3 + 3
    assert [gate.ok for gate in found.gates] == [False]
    assert len(found.windows) == 6, "for the audit"


@pytest.mark.parametrize("doses", [[1], [64, 1], [1, 1, 2]])
def test_doses_ascend(doses: list[int]) -> None:
    with pytest.raises(ValueError, match="doses"):
        analysis.Slope(kind="slope", parameter="dose", doses=doses, outcome="cpu")
