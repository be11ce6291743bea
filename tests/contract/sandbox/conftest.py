"""Fixtures of the contract tests of `sandbox`."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from benches import of_study, opened
from sandboxes import MODES, Sandbox, loaded

from tare.lab.run import planning
from tare.lab.trial.bench import Bench
from tare.lab.trial.trial import run_trial
from tare.model.trial import PlannedTrial, Trial

# crun is called as runc is, and roma isolates by the steps of roma-original.
SIBLINGS = ("crun", "roma")
# What no mode is without; both call functions in them.
EVERY_MODE = {"test_sandbox_attacks", "test_sandbox_leftovers"}
SHORT = {"warmup_s": 0.1, "duration_s": 0.5}


@pytest.fixture(params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    if os.geteuid() != 0:
        pytest.skip("sandboxes give workers users and control groups of their own, as root only")
    if request.param == "kvm" and not Path("/dev/kvm").exists():
        pytest.skip("no /dev/kvm")
    return str(request.param)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Sandbox]]:
    """Starts sandboxes that are stopped when the test ends."""
    made: list[Sandbox] = []

    def start(mode: str, *options: str, around: tuple[str, ...] = ()) -> Sandbox:
        folder = tmp_path / f"sandbox-{len(made)}"
        folder.mkdir()
        made.append(Sandbox(mode, folder, *options, around=around))
        return made[-1]

    yield start
    for one in made:
        one.kill()


@pytest.fixture(scope="session")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """The laboratory's, for the baseline."""
    with opened(loaded, ["none"], tmp_path_factory.mktemp("sandbox"), server=1, client=1) as found:
        yield found


@pytest.fixture
def trial(bench: Bench, tmp_path: Path) -> Callable[..., Trial]:
    """Makes a short trial of a variant in a study's scenario, with oracle and audit."""

    def make(
        variant: str, study: str, *, warmup_s: float = SHORT["warmup_s"], **levels: str
    ) -> Trial:
        own = of_study(bench, study)
        scenario = planning.scenario_at(own.loaded, levels, SHORT | {"warmup_s": warmup_s})
        return run_trial(
            own,
            PlannedTrial(
                block=0, scenario=scenario.name, label=variant, variant=variant, id=variant
            ),
            1,
            scenario.parameters,
            seed=1,
            version="",
            work=tmp_path,
            progress=lambda _: None,
        ).trial

    return make


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try modes that differ from another by few lines in all tests only where all are asked for."""
    for item in items:
        chosen = getattr(item, "callspec", None)
        within = item.path.parent == Path(__file__).parent and item.path.stem not in EVERY_MODE
        if within and chosen and any(each in SIBLINGS for each in chosen.params.values()):
            item.add_marker(pytest.mark.thorough)
