"""The dose: as many calls for a request as its query says, counted to the last one."""

import pytest
from benches import answered, why_not
from harness import variants

from tare.lab.project import catalog, levels
from tare.lab.project.hooks import OracleError
from tare.lab.run import planning

pytestmark = pytest.mark.contract
DOSED = [
    name
    for name, variant in variants.items()
    if why_not("filters/price", name) is None and variant.properties["counters"]
]
# A query as it is sent, and the calls that it makes.
QUERIES = {
    b"": 1,
    b"?": 1,
    b"?001": 1,
    b"?016": 16,
    b"?64": 64,
    b"?0": 1,
    b"?-1": 1,
    b"?+5": 1,
    b"?5x": 1,
    b"?%35": 1,
    b"?1e3": 1,
    b"?999": 999,
    b"?1000": 999,
    b"?99999999999999999999": 1,
    b"?" + b"9" * 4000: 1,
}


@pytest.mark.parametrize("variant", DOSED)
def test_the_query_is_the_number_of_calls(site, hooks, variant):
    started = site(variant, dose=1, workers=2).start()
    hooks.oracle(started)
    before = hooks.counters(started)
    wire = hooks.Wire(started.host, started.port["http"])
    for query in QUERIES:
        assert wire.request(b"GET /aaaa/x" + query)[0] == 200, query
        assert wire.request(b"GET /forbidden" + query)[0] == 403, query
        calls = QUERIES[query]
        after = hooks.counters(started)
        moved = {name: after[name] - before[name] for name in ("accepted", "rejected")}
        assert moved == {"accepted": calls, "rejected": calls}, query
        before = after


@pytest.mark.parametrize("variant", DOSED)
def test_without_being_asked_for_no_query_is_a_dose(site, hooks, variant):
    started = site(variant).start()
    wire = hooks.Wire(started.host, started.port["http"])
    assert wire.request(b"GET /aaaa?064")[0] == 200
    assert hooks.counters(started) == {"accepted": 1, "rejected": 0}


@pytest.mark.parametrize("calls", [15, 17])
def test_the_audit_sees_a_call_too_few_or_too_many(site, hooks, calls):
    started = site("dynamic-c", dose=1)
    result = answered({"dose": 16}, total={"statuses": {"200": 3}})
    before = {"accepted": 5, "rejected": 0}
    hooks.audit(started, before, {"accepted": 5 + 3 * 16, "rejected": 0}, result)
    with pytest.raises(OracleError, match=f"counted {3 * calls} accepted, expected 48"):
        hooks.audit(started, before, {"accepted": 5 + 3 * calls, "rejected": 0}, result)


def test_who_has_no_dose_says_why():
    price = catalog.load("filters", "price")
    scenario = planning.scenario_at(price, {}, {})
    found = {name: levels.unsupported(price, name, scenario) for name in variants}
    reasons = {name: reason for name, reason in found.items() if reason}
    assert sorted(reasons) == [
        "auth-request", "lua-nginx", "map-if", "njs", "none-debian", "prefix-location"
    ]  # fmt: skip
    assert all(reasons.values())
    assert price.study.analysis.doses[-1] < 1000, "three digits"
