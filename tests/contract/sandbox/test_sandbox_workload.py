"""What the experiment calls, and what it takes for the right answer."""

from collections.abc import Callable

import pytest
from sandboxes import PRIMES, Sandbox, checksum, loaded, udf, wire

from tare.lab.project.hooks import HookError
from tare.model.trial import Trial

LEVELS = {name: factor.levels for name, factor in loaded.experiment.factors.items()}
MOST = 50_000_000
# Small elements and large ones, few and many.
PAYLOADS = {"c": ("1000x1", "1x5e7", "1000x5e4"), "rust": ("1000x5e4",)}
SINGLE = [name for name in LEVELS["call"] if name[-1].isdigit()]


def exchange(call: str, payload: str = "none") -> tuple[bytes, bytes]:
    levels = LEVELS["call"][call] | LEVELS["payload"][payload]
    request, response = wire.exchange(loaded.experiment.parameters | levels)
    return bytes(request), bytes(response)


@pytest.mark.parametrize("call", SINGLE)
def test_calls_are_what_their_names_say(call: str) -> None:
    function, _, size = call.partition("-")
    count = int(float(size))
    assert LEVELS["call"][call]["udf"] == function
    request, response = exchange(call)
    assert wire.fields(request) == {1: count}
    if count <= 100_000 or function == "sieve":
        right = {"sieve": PRIMES.get, "sort": checksum, "log": int}[function](count)
        assert wire.fields(response) == {1: right}


@pytest.mark.parametrize("payload", [name for name in LEVELS["payload"] if name != "none"])
def test_payloads_are_what_their_names_say(payload: str) -> None:
    count, size = (int(float(part)) for part in payload.split("x"))
    assert count * size <= MOST
    number = wire.number_field
    seen = number(1, size * count)
    request, response = exchange("request", payload)
    element = wire.bytes_field(4, b"\n" * size)
    assert request == element * count and response == seen
    request, response = exchange("response", payload)
    assert request == number(1, size) + number(2, count) + number(3, 1)
    assert response == wire.bytes_field(2, b"\n" * size) * count + seen
    assert exchange("callback", payload) == (request[:-1] + b"\x02", seen)


@pytest.mark.parametrize(("call", "payload"), [("hello", "1x1"), ("callback", "none")])
def test_what_does_not_go_together_is_refused(call: str, payload: str) -> None:
    with pytest.raises(HookError, match="expected a level of payload with the calls request"):
        exchange(call, payload)


@pytest.mark.parametrize("way", ["request", "response", "callback"])
def test_payloads_up_to_the_largest_go_through(
    mode: str, way: str, serve: Callable[..., Sandbox]
) -> None:
    sandbox = serve(mode, "--workers", "1")
    for language, payloads in PAYLOADS.items():
        name = f"payload-{language}"
        sandbox.load(
            name, udf("payload", language), f"--callbacks={str(way == 'callback').lower()}"
        )
        for payload in payloads:
            request, response = exchange(way, payload)
            assert sandbox.call_raw(name, request) == response, payload


@pytest.mark.parametrize(
    "levels",
    [
        {"call": "sieve-1e5"},
        *({"call": way, "payload": "10x1e3"} for way in ("request", "callback")),
        {"call": "response", "payload": "10x1e3", "transfer": "shared"},
        {"call": "log-1e3", "log": "file"},
    ],
    ids=lambda levels: levels["call"],
)
def test_a_trial_is_answered_right(trial: Callable[..., Trial], levels: dict[str, str]) -> None:
    made = trial("none", load="alone", workers="2", **levels)
    # Others may be busy on the machine, which would not let it count.
    assert made.status in ("valid", "invalid"), made.reason
    assert made.instrument["total"]["requests"] == made.counters["ok"] > 0
    assert made.counters["failed"] == 0
