"""Proxies whose load, server and backend are on hosts of their own, which are namespaces here."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

import pytest
from benches import opened
from namespaces import Spread
from proxies import FEW, fronts, loaded, variants

from tare.lab.project.preparation import fingerprint, prepare
from tare.lab.run import planning
from tare.lab.run.hosts import file
from tare.lab.run.hosts.opening import Wanted
from tare.lab.run.hosts.opening import opened as opened_hosts
from tare.lab.trial import usage
from tare.lab.trial.bench import Bench
from tare.lab.trial.measure import measure
from tare.lab.trial.site import Site

pytestmark = [pytest.mark.contract, pytest.mark.timeout(900)]
_numbers = count()


@dataclass(frozen=True)
class Apart:
    """A bench with three hosts."""

    bench: Bench
    spread: Spread
    home: Path

    def site(self, variant: str, **levels: str) -> Site:
        own = self.bench.loaded
        changed = {**FEW, "warmup_s": 0.1, "duration_s": 0.4}
        parameters = planning.scenario_at(own, levels, changed).parameters
        name = f"{next(_numbers)}-{variant}"
        return Site(self.bench, variant, parameters, seed=1, name=name, folder=self.home / name)


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    home = tmp_path_factory.mktemp("apart")
    spread = Spread.made(home)
    with (
        pytest.MonkeyPatch.context() as environment,
        opened(loaded, variants, home, server=1, client=1, backend=1) as bench,
    ):
        environment.setenv("TARE_RUNS", str(home / "runs"))
        plan = planning.make(
            loaded, quick=False, variants=variants, scenarios=[], blocks=1, overrides={}, seed=1
        )
        prepared = prepare(loaded, plan.variants, print)
        wanted = Wanted(file.read(spread.file), plan, None, fingerprint(loaded, prepared), 1, 1, 1)
        with opened_hosts(bench, wanted, print) as found:
            yield Apart(replace(bench, hosts=found.hosts), spread, home)


@pytest.mark.parametrize("variant", fronts)
def test_every_proxy_finds_its_backend_on_another_host(apart: Apart, variant: str) -> None:
    site = apart.site(variant)
    try:
        site.start()
        site.run_oracle()
        assert site.address["front"] == apart.spread.address("server")
        assert site.address["backend"] == apart.spread.address("backend")
        files = [text for name, text in site.rendered.items() if name.startswith("proxy/")]
        assert any(apart.spread.address("backend") in text for text in files)
    finally:
        assert site.stop() == []


@pytest.mark.parametrize("method", ["get", "post"])
def test_what_is_measured_crosses_the_hosts(apart: Apart, method: str) -> None:
    site = apart.site("nginx", method=method)
    try:
        site.start()
        site.run_oracle()
        before = {name: apart.spread.sent_bytes(name) for name in ("server", "backend")}
        found = measure(site, lambda _: None)
        sent = found.result.total.requests * site.parameters["bytes"]
        assert sent > 0
        for name, earlier in before.items():
            assert apart.spread.sent_bytes(name) - earlier > sent
        roles = usage.roles(found)
        assert set(roles) == {"load", "proxy", "backend"}
        # On a busy machine the probes may be late, which is a gate's matter.
        assert all({"cpu_us", "memory_bytes"} <= {*each} for each in roles.values())
    finally:
        assert site.stop() == []


def test_the_baseline_is_the_backend_itself(apart: Apart) -> None:
    site = apart.site("direct")
    try:
        site.start()
        site.run_oracle()
        assert site.address["front"] == apart.spread.address("backend")
    finally:
        assert site.stop() == []
