"""What each adapter makes of what its peer really printed."""

from pathlib import Path

import pytest
from adapters import PEERS, adapter

OUTPUTS = Path(__file__).parent / "outputs"


def parsed(output: str):
    peer = output.partition("-")[0]
    return adapter(peer).parse((OUTPUTS / f"{output}.txt").read_text())


@pytest.mark.parametrize(
    ("output", "answered", "rate", "protocol"),
    [
        ("wrk", 21035, 18989.71, None),
        ("h2load-clear", 19150, 19150, "h1"),
        ("h2load-tls", 8102, 8102, "h1"),
        ("h2load-h2", 20801, 20801, "h2"),
        ("hey", 4677, 4598.98, None),
        ("oha", 15148, 15110.0, None),
        ("rewrk", 13573, 13550.31, None),
        ("k6", 1595, 1589.65, None),
    ],
)
def test_a_good_run(output, answered, rate, protocol):
    found = parsed(output)
    assert (found.answered, found.protocol) == (answered, protocol)
    assert found.rate == pytest.approx(rate, rel=1e-3)
    assert sum(found.errors.values()) == 0


@pytest.mark.parametrize(
    ("output", "answered", "errors"),
    [
        ("wrk-missing", 14470, {"status": 14470}),
        ("h2load-missing", 14465, {"status": 14465}),
        ("hey-missing", 4646, {"status": 4646}),
        ("oha-missing", 17115, {"status": 17115}),
        ("k6-missing", 1639, {"status": 1639}),
        ("hey-refused", 0, {"connect": 5006}),
        ("oha-refused", 0, {"connect": 14380}),
        ("h2load-refused", 0, {}),
        ("wrk-cut", 18347, {"read": 20}),
        ("oha-cut", 18324, {"read": 20}),
        ("rewrk-cut", 14185, {"read": 20}),
    ],
)
def test_a_bad_run(output, answered, errors):
    found = parsed(output)
    assert found.answered == answered
    assert {kind: count for kind, count in found.errors.items() if count} == errors


@pytest.mark.parametrize("peer", PEERS)
@pytest.mark.parametrize("output", ["", "Segmentation fault\n", "{}", "0 requests in\n"])
def test_anything_else_is_refused(peer, output):
    module = adapter(peer)
    with pytest.raises(module.Unreadable):
        module.parse(output)


def test_hey_drops_statuses_after_a_million_but_not_its_rate():
    output = (OUTPUTS / "hey.txt").read_text()
    output = output.replace("[200]\t4677 responses", "[200]\t1000000 responses")
    output = output.replace("4598.9814", "1200000.0000")
    found = adapter("hey").parse(output)
    assert 1.22e6 < found.answered <= 1.2e6 * 1.0170
    assert found.rate == pytest.approx(1.2e6, rel=1e-3)
