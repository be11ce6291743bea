"""The three hosts of the original: clients on one, the cache on another, its origin on a third."""

import json
from pathlib import Path

import pytest
from commandline import call
from namespaces import Spread

from tare.model.trial import parse_trials

pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]
VARIANTS = "threads,varnish"


def test_a_cache_is_measured_between_its_clients_and_its_origin(tmp_path: Path) -> None:
    spread = Spread.made(tmp_path, behind=("origin", "objects"))
    changed = ("duration_s=1", "warmup_s=0.3", "cold_count=120", "hot_count=100")
    short = [f"-p{each}" for each in changed]
    done = call(
        tmp_path, "run", "cache/stall", "--hosts", str(spread.file), "--variants", VARIANTS,
        "--scenarios", "readers=16", "--blocks", "1", *short,
    )  # fmt: skip
    (plan,) = (tmp_path / "runs").glob("*/plan.json")
    trials, _ = parse_trials((plan.parent / "trials.jsonl").read_bytes())
    assert {trial.variant for trial in trials} == set(VARIANTS.split(",")), done.stderr
    for trial in trials:
        # A gate may refuse what was measured on a busy machine.
        assert trial.status in ("valid", "invalid"), trial.reason
        assert {"sut", "fill", "origin", "objects"} <= set(trial.roles)
    hosts = json.loads((plan.parent / "environment.json").read_text())["hosts"]
    assert {name: sorted(host["roles"]) for name, host in hosts.items()} == {
        "load": ["load"],
        "server": ["fill", "sut"],
        "backend": ["objects", "origin"],
    }
    assert spread.left() == []
