"""The study of sequences: users of the load generator, and the same requests without users."""

import json
from collections.abc import Iterator

import pytest
from benches import opened, why_not

from tare.lab.project import catalog
from tare.lab.trial.bench import Bench

pytestmark = pytest.mark.contract
SIDES = ["tare", "tare-users"]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One for both sides."""
    loaded = catalog.load("loadgen", "sequences")
    folder = tmp_path_factory.mktemp("users")
    with opened(loaded, SIDES, folder, server=1, client=1) as found:
        yield found


@pytest.mark.parametrize("variant", SIDES)
@pytest.mark.parametrize("requests", ["sequence", "sequence-cookies", "plain"])
@pytest.mark.parametrize("protocol", ["h1", "tls", "h2"])
def test_each_side_sends_what_the_server_lets_pass(trial, variant, requests, protocol):
    made = trial(variant, requests=requests, protocol=protocol)
    # On a busy machine a gate may close, but never that of the errors.
    assert made.status in ("valid", "invalid"), made.reason
    assert next(gate for gate in made.gates if gate.name == "errors").ok
    assert sum(made.instrument["errors"].values()) == 0
    assert made.instrument["outcomes"]["requests"] > 0
    assert made.counters["strange"] == 0
    assert made.outcomes["client_cpu_us"] > 0


@pytest.mark.parametrize("requests", ["sequence", "sequence-cookies", "plain"])
def test_both_sides_send_the_same_requests(site, requests):
    plain, users = (
        started.hooks.workload(started, started.parameters)["mix"]
        for started in (site(name, requests=requests) for name in SIDES)
    )
    for one, other in zip(plain, users, strict=True):
        # The jar has the cookie.
        cookie = {"Cookie": "sid=0123456789abcdef"} if requests == "sequence-cookies" else {}
        text = json.dumps({**other, "headers": other["headers"] | cookie, "take": {}})
        assert json.loads(text.replace("${token}", "0123456789abcdef")) == one | {"take": {}}
    assert any(each.get("take") for each in users) == (requests != "plain")


def test_the_study_is_about_one_generator():
    for scenario in ({"requests": "sequence"}, {"requests": "plain"}):
        assert why_not("loadgen/sequences", "wrk", **scenario)
        assert not any(why_not("loadgen/sequences", name, **scenario) for name in SIDES)
    assert why_not("loadgen/client", "tare-users")
