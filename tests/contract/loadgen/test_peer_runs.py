"""Every peer against the real server, through the laboratory, and against none."""

import pytest
from adapters import PEERS, adapter, loaded, needed, run, spec
from benches import answered, why_not

from tare.lab.project import levels
from tare.lab.project.hooks import OracleError
from tare.lab.run import planning
from tare.model.scenario import expand

pytestmark = pytest.mark.contract


def _runs():
    for selection in loaded.study.scenarios:
        for found in expand(loaded.study.factors, [{**selection, "body": "2b"}]):
            scenario = planning.scenario_at(loaded, found, {})
            for peer in PEERS:
                if levels.unsupported(loaded, peer, scenario) is None:
                    yield pytest.param(peer, scenario.levels, id=f"{peer}-{scenario.name}")


@pytest.mark.parametrize(("peer", "asked"), list(_runs()))
def test_a_trial_is_answered_and_audited(trial, peer, asked):
    needed(peer)
    made = trial(peer, **asked)
    # On a busy machine a gate may close, but never that of the errors.
    assert made.status in ("valid", "invalid"), made.reason
    assert next(gate for gate in made.gates if gate.name == "errors").ok
    result = made.instrument
    assert result["protocol"] == ("h2" if asked["protocol"] == "h2" else "h1")
    assert result["outcomes"]["requests"] > 0
    assert sum(result["errors"].values()) == 0
    # The server counts the question for its counters, too, and what was cut off at the end.
    depth = int(asked["depth"])
    assert 0 <= made.counters["requests"] - 1 - result["total"]["requests"] <= 3 * depth
    assert made.counters["strange"] == 0


@pytest.mark.parametrize("peer", PEERS)
def test_wrong_statuses_are_seen(site, tmp_path, peer):
    needed(peer)
    started = site(peer)
    before = started.hooks.counters(started)
    url = f"http://{started.host}:{started.port['http']}/missing"
    code, events, stderr = run(peer, spec(peer, url), tmp_path)
    assert code == 0, stderr
    result = events[-1]
    if peer != "rewrk":  # it looks at no status
        assert result["errors"]["status"] > 0
        assert result["outcomes"]["requests"] == 0
    with pytest.raises(OracleError, match=r"of HTTP/1.1 404, expected all of HTTP/1.1 200"):
        started.hooks.audit(started, before, started.hooks.counters(started), answered(**result))


@pytest.mark.parametrize("peer", PEERS)
def test_a_closed_port_is_seen(tmp_path, unused_port, peer):
    needed(peer)
    code, events, stderr = run(peer, spec(peer, f"http://127.0.0.1:{unused_port}/"), tmp_path)
    if code == 0:
        assert sum(events[-1]["errors"].values()) > 0
        assert events[-1]["outcomes"]["requests"] == 0
    else:
        assert code == 1 and stderr.strip().splitlines()[-1].startswith(f"{peer}: ")


@pytest.mark.parametrize("peer", PEERS)
def test_what_a_peer_cannot_do_is_refused(peer):
    module = adapter(peer)
    fields = spec("wrk", "https://127.0.0.1:1/") | {"protocol": "h2", "depth": 10}
    if why_not("loadgen/client", peer, protocol="h2", depth="10"):
        with pytest.raises(module.Unfit):
            module.command(module.Spec(**fields))
    else:
        assert "10" in " ".join(module.command(module.Spec(**fields)))


def test_a_run_in_another_protocol_is_refused(site, tmp_path):
    needed("h2load")
    started = site("h2load", protocol="h2")
    before = started.hooks.counters(started)
    url = f"https://{started.host}:{started.port['https']}/2b.txt"
    _, events, _ = run("h2load", spec("h2load", url, protocol="h1"), tmp_path)
    with pytest.raises(OracleError, match=r"of HTTP/1.1 200, expected all of HTTP/2.0 200"):
        started.hooks.audit(
            started, before, started.hooks.counters(started), answered(**events[-1])
        )


def test_counts_that_disagree_are_refused(site):
    needed("h2load")
    started = site("h2load")
    before = {"connections": 0, "requests": 0, "strange": 0}

    def audit(connections: int, served: int) -> None:
        after = {"connections": connections + 1, "requests": served + 1, "strange": 0}
        started.hooks.audit(started, before, after, answered(total={"requests": 100}))

    audit(3, 100)
    audit(3, 103)
    audit(15, 103)
    for connections, served in [(3, 99), (3, 104)]:
        with pytest.raises(OracleError, match="the generator says 100 were answered"):
            audit(connections, served)
    for connections in (2, 16):
        with pytest.raises(OracleError, match=f"found {connections} connections, expected 3"):
            audit(connections, 100)
