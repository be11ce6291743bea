"""The footnote on what differs from start to start."""

from pathlib import Path

import runs

from tare.model.results import Results
from tare.model.trial import Plan, side_label
from tare.report import results, starts
from tare.report.folder import read


def told(folder: Path, plan: Plan, error: float | None) -> Results:
    """The results of a run whose duels told this standard error, or none."""
    slices = {"standard_errors": {"cpu_us": {"sut": error}} if error is not None else None}
    made = [
        trial.model_copy(update={"instrument": {"slices": slices}})
        for trial in runs.trials(plan, 20, {"dear": 1.2})
    ]
    sides = [
        trial.model_copy(
            update={
                "id": f"{trial.id}-other",
                "label": side_label("none", trial.label),
                "variant": "none",
                "outcomes": {"cpu": 10.0 * (1 + trial.block / 10), "rate": 100.0},
            }
        )
        for trial in made
        if plan.pairing == "slices"
    ]
    return results.make(read(runs.write(folder, plan, [*made, *sides])))


def test_the_share_is_told_for_each_outcome_whose_spread_is_known(tmp_path: Path) -> None:
    found = told(tmp_path, runs.plan(pairing="slices"), 0.001)
    (scenario,) = found.scenarios
    assert list(scenario.within) == ["cpu"]
    share = scenario.within["cpu"]
    assert 0 < share.ci[0] < share.share < share.ci[1] <= 1
    (line,) = starts.lines(found)
    assert line.startswith(
        f"Longer duels would average out a part of the variance between duels: "
        f"CPU {100 * share.share:.0f} % ["
    )


def test_nothing_is_told_of_trials_and_of_duels_without_it(tmp_path: Path) -> None:
    assert starts.lines(told(tmp_path / "a", runs.plan(), 0.001)) == []
    assert starts.lines(told(tmp_path / "b", runs.plan(pairing="slices"), None)) == []
