"""Every variant answers every target of the oracle, and counts it."""

import pytest
import reference
from benches import answered
from harness import variants

pytestmark = pytest.mark.contract
LONG = "/" + "p" * 4091


@pytest.mark.parametrize("variant", variants)
@pytest.mark.parametrize("prefix", ["/aaaa", "", LONG, "/", '/a"b\\c'])
def test_oracle(site, hooks, variant, prefix):
    longest = variants[variant].properties.get("prefix_max", len(LONG))
    hooks.oracle(site(variant, prefix=prefix[:longest]).start())


def test_targets_agree_with_the_reference(hooks):
    for line, outcome in hooks.TARGETS:
        method, _, target = line.partition(b" ")
        if method == b"GET" and target.startswith(b"/"):
            assert (reference.path(target) or reference.REFUSED) == outcome, line


def test_oracle_refuses_a_wrong_answer(site, hooks):
    started = site("c-module", prefix="/aaaa").start()
    started.parameters["prefix"] = "/aaaab"
    with pytest.raises(
        hooks.OracleError, match=r"'GET /aaaa' with .*: found status 200, expected 403"
    ):
        hooks.oracle(started)


def test_audit_holds_counters_against_answers(site, hooks):
    started = site("dynamic-c").start()
    before = hooks.counters(started)
    wire = hooks.Wire(started.host, started.port["http"])
    answers = [
        wire.request(line)[0] for line in (b"GET /aaaa", b"GET /b", b"GET /aaaa", b"GET /%00")
    ]
    after = hooks.counters(started)
    statuses = {str(status): answers.count(status) for status in set(answers)}
    hooks.audit(started, before, after, answered(total={"statuses": statuses}))
    with pytest.raises(hooks.OracleError, match="counted 2 accepted, expected 3"):
        hooks.audit(started, before, after, answered(total={"statuses": statuses | {"200": 3}}))


@pytest.mark.parametrize("variant", ["c-module", "dynamic-c"])
def test_counters_leave_out_what_the_oracle_sent(site, hooks, variant):
    started = site(variant).start()
    for _ in range(2):
        hooks.oracle(started)
        assert hooks.counters(started) == {"accepted": 0, "rejected": 0}
    wire = hooks.Wire(started.host, started.port["http"])
    wire.request(b"GET /aaaa")
    assert hooks.counters(started) == {"accepted": 1, "rejected": 0}
    hooks.oracle(started)
    assert hooks.counters(started) == {"accepted": 1, "rejected": 0}
