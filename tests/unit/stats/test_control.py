"""The A/A control: the ratios and slopes of a run are one family."""

import numpy as np
from test_dose_response import server

from tare.model.trial import Trial
from tare.stats.blocks import BlockedTrials
from tare.stats.control import judge_control
from tare.stats.plan_order import CONTROL
from tare.stats.verdict import Verdict


def test_slopes_and_ratios_share_a_family() -> None:
    found = server({"dear": 20.0}, np.random.default_rng(1))
    with_cpu = [
        Trial.model_validate(
            each.model_dump() | {"outcomes": {**each.outcomes, "cpu": 12.0 + each.block / 100}}
        )
        for each in found.trials
    ]
    p = {}
    for judged in (["ns"], ["ns", "cpu"]):
        plan = found.plan.model_copy(update={"judged": judged})
        made = judge_control([BlockedTrials(plan, found.scenario, with_cpu)])
        assert {outcome for _, outcome in made} == set(judged)
        assert made["default", "ns"].verdict is Verdict.UNRESOLVED
        p[len(judged)] = made["default", "ns"].p_adjusted
    assert p[2] == min(1.0, 2 * p[1]), "corrected for two"


def test_a_control_that_differs_is_no_sound_run() -> None:
    found = server({"dear": 20.0}, np.random.default_rng(2))
    differs = [
        each.model_copy(update={"outcomes": {"ns": (each.outcomes["ns"] or 0.0) + 20.0}})
        if each.label == CONTROL
        else each
        for each in found.trials
    ]
    made = judge_control([BlockedTrials(found.plan, found.scenario, differs)])
    assert made["default", "ns"].verdict is Verdict.COSTS
