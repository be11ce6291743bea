"""The quick versions of studies can answer their questions, and all together soon."""

from pathlib import Path

import pytest

from tare.cli.reach import studies
from tare.lab.project.catalog import Loaded
from tare.lab.project.index import experiment_names
from tare.lab.project.preparation import Prepared
from tare.lab.run import planning
from tare.lab.run.estimate import estimate
from tare.model.trial import Plan
from tare.stats.ending import shortage

TOUR_S = 300.0
WITH = [name for name in experiment_names() if name != "calibration"]


def quick(loaded: Loaded) -> Plan:
    return planning.make(
        loaded, quick=True, variants=None, scenarios=[], blocks=None, seed=1, overrides={}
    )


@pytest.mark.parametrize("experiment", WITH)
def test_a_quick_version_has_blocks_enough_for_a_verdict(experiment: str) -> None:
    for loaded in studies(experiment, quick=True):
        assert shortage(quick(loaded)) is None, loaded.title


def test_the_look_at_everything_is_short(tmp_path: Path) -> None:
    found = studies(None, quick=True)
    assert {each.name for each in found} == set(WITH)
    seconds = [estimate(quick(each), each, tmp_path, Prepared()).seconds[1] for each in found]
    assert sum(seconds) <= TOUR_S, dict(zip((each.title for each in found), seconds, strict=True))
