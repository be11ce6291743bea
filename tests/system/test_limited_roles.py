"""Limits of a role: what they do to it, seen from a run."""

import pytest
from laboratory import Laboratory

from tare.lab.machine import cgroup

pytestmark = [
    pytest.mark.system,
    pytest.mark.alone,
    pytest.mark.skipif(
        "memory" not in cgroup.detect().bases and cgroup.detect().kind != "v2",
        reason="no control groups with the memory controller here",
    ),
]


def test_a_limited_role_is_throttled_and_its_limits_are_told(lab: Laboratory) -> None:
    # Fifteen periods of the kernel's, for on a busy machine one may pass without a standstill.
    limits = ("-p", "sut_cpus=0.1", "-p", "sut_memory_mb=100", "-p", "duration_s=1.5")
    lab.tare("run", "toy", "--variants", "plain", "--blocks", "1", *limits)
    for trial in lab.trials():
        sut = trial.roles["sut"]
        assert (sut["limit_cpus"], sut["limit_memory_bytes"]) == (0.1, 100 * 2**20)
        # The kernel books a standstill when it is over, in whichever window that is.
        assert sut["throttled_share"] > 0 and 0 < sut["throttled_periods_share"] <= 1
        assert "limit_cpus" not in trial.roles["load"]
        assert trial.roles["load"]["throttled_share"] == 0


def test_a_role_killed_for_its_memory_fails_with_that_sentence(lab: Laboratory) -> None:
    asked = ("--variants", "hoards", "--blocks", "1", "-p", "sut_memory_mb=40")
    lab.tare("run", "toy", *asked, code=1)
    (scenario,) = lab.results()["scenarios"]
    assert scenario["variants"]["plain"]["status"] == "measured"
    found = scenario["variants"]["hoards"]
    assert found["status"] == "failed"
    assert "role sut exceeded its memory limit of 40 MB: the kernel killed 1" in found["reason"]
