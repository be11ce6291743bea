"""Each fault happens, is counted, and no proxy passes what was cut off for a whole answer."""

import pytest
from benches import of_study
from proxies import FEW, variants

from tare.lab.project import catalog, levels
from tare.lab.run import planning
from tare.lab.trial.trial import run_trial
from tare.model.trial import PlannedTrial

pytestmark = pytest.mark.contract


faults = catalog.load("proxies", "faults")


def takes(variant, fault):
    scenario = planning.scenario_at(faults, {"fault": fault}, {})
    return levels.unsupported(faults, variant, scenario) is None


FAULTS = list(faults.study.factors["fault"].levels)
EACH = [(variant, fault) for variant in variants for fault in FAULTS if takes(variant, fault)]
# As long as it takes for the fault to be over within it on a busy machine, too.
SHORT = FEW | {"warmup_s": 0.1, "duration_s": 1.4, "fault_after_s": 0.1, "rate": 500}
STALLED = {"duration_s": 1.8}


@pytest.fixture
def trial(bench, tmp_path):
    """Makes a short trial in the scenario of some levels, whatever else the machine does."""

    def once(attempt, variant, changed, asked):
        scenario = planning.scenario_at(faults, asked, SHORT | changed)
        return run_trial(
            of_study(bench, "faults"),
            PlannedTrial(block=0, scenario=scenario.name, label=variant, variant=variant, id="f"),
            attempt,
            scenario.parameters,
            seed=1,
            version="",
            work=tmp_path,
            progress=lambda _: None,
        ).trial

    def make(variant, changed, **asked):
        for attempt in range(1, 6):
            found = once(attempt, variant, changed, asked)
            # On a machine that others load, a fault may come too late to be seen.
            if "s into the window" not in (found.reason or ""):
                break
        return found

    return make


@pytest.mark.parametrize(("variant", "fault"), EACH)
def test_it_happens_and_is_counted(trial, variant, fault):
    found = trial(variant, STALLED if fault == "backend-stall" else {}, fault=fault)
    assert found.status in ("valid", "invalid"), found.reason
    missing = {name: found.outcomes[name] for name in ("lost", "refused", "wrong")}
    assert missing["wrong"] == 0
    assert found.outcomes["latency_p50_us"] is not None
    match fault:
        case "backend-stall":
            assert found.outcomes["latency_max_us"] > 500_000
            assert sum(missing.values()) == 0
        case "backend-reset":
            # A part of the body has gone out already: nobody can make it good.
            assert missing["lost"] > 0
        case "backend-restart":
            # Refused for as long as it is away, or made to wait for it.
            waited = found.outcomes["latency_max_us"] > 150_000
            assert missing["lost"] + missing["refused"] > 0 or waited
