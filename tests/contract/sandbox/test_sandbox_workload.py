"""What the experiment calls, and what it takes for the right answer."""

from collections.abc import Callable
from typing import Any

import pytest
from sandboxes import PRIMES, Sandbox, checksum, loaded, udf, wire

from tare.lab.project import catalog
from tare.lab.project.hooks import HookError
from tare.lab.run import planning
from tare.model.scenario import expand
from tare.model.trial import Trial

PAYLOAD = catalog.load("sandbox", "payloads")
MOST = 50_000_000
# Small elements and large ones, few and many.
PAYLOADS = {
    "c": ((1, 1000), (50_000_000, 1), (50_000, 1000)),
    "rust": ((50_000, 1000),),
}
SINGLE = {
    name: parameters
    for study in ("calls", "latency", "compute", "table")
    for name, parameters in catalog.load("sandbox", study).study.factors["call"].levels.items()
    if name != "hello"
}


def exchange(changed: dict[str, Any]) -> tuple[bytes, bytes]:
    request, response = wire.exchange(loaded.study.parameters | changed)
    return bytes(request), bytes(response)


def carried(way: str, size: int, count: int) -> tuple[bytes, bytes]:
    return exchange({"udf": "payload", "way": way, "elem_size": size, "elem_count": count})


@pytest.mark.parametrize("call", SINGLE)
def test_calls_are_what_their_names_say(call: str) -> None:
    function, _, digits = call.partition("-")
    count = int(float(digits))
    assert SINGLE[call]["udf"] == function
    request, response = exchange(SINGLE[call])
    assert wire.fields(request) == {1: count}
    if count <= 100_000 or function == "sieve":
        right = {"sieve": PRIMES.get, "sort": checksum, "log": int}[function](count)
        assert wire.fields(response) == {1: right}


def sizes() -> list[tuple[int, int]]:
    """Size and count of each payload of the study."""
    found = [
        planning.scenario_at(PAYLOAD, levels, {}).parameters
        for levels in expand(PAYLOAD.study.factors, [PAYLOAD.study.extended[0]])
        if float(levels["size"]) * float(levels["count"]) <= MOST
    ]
    return sorted({(each["elem_size"], each["elem_count"]) for each in found})


@pytest.mark.parametrize(("size", "count"), sizes())
def test_payloads_carry_their_elements(size: int, count: int) -> None:
    number = wire.number_field
    seen = number(1, size * count)
    request, response = carried("request", size, count)
    element = wire.bytes_field(4, b"\n" * size)
    assert request == element * count and response == seen
    request, response = carried("response", size, count)
    assert request == number(1, size) + number(2, count) + number(3, 1)
    assert response == wire.bytes_field(2, b"\n" * size) * count + seen
    assert carried("callback", size, count) == (request[:-1] + b"\x02", seen)


def test_the_study_has_the_original_s_31_payloads() -> None:
    made = planning.make(
        PAYLOAD, quick=False, variants=None, scenarios=["all"], blocks=1, seed=1, overrides={}
    )
    used = {
        (each.parameters["elem_size"], each.parameters["elem_count"]) for each in made.scenarios
    }
    assert used == set(sizes()) and len(used) == 31


@pytest.mark.parametrize(
    "changed",
    [{"elem_size": 1, "elem_count": 1}, {"udf": "payload", "way": "callback"}],
)
def test_what_does_not_go_together_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(HookError, match="expected a payload with the ways request"):
        exchange(changed)


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
        for size, count in payloads:
            request, response = carried(way, size, count)
            assert sandbox.call_raw(name, request) == response, (size, count)


@pytest.mark.parametrize(
    ("study", "levels"),
    [
        ("calls", {"call": "sieve-1e5", "load": "alone", "workers": "2"}),
        ("payloads", {"way": "request", "size": "1000", "count": "10"}),
        ("payloads", {"way": "callback", "size": "1000", "count": "10"}),
        ("payloads", {"way": "response", "size": "1000", "count": "10", "transfer": "shared"}),
        ("logs", {"lines": "1000", "log": "file"}),
        ("latency", {"load": "paced"}),
    ],
)
def test_a_trial_is_answered_right(
    trial: Callable[..., Trial], study: str, levels: dict[str, str]
) -> None:
    made = trial("none", study, **levels)
    # Others may be busy on the machine, which would not let it count.
    assert made.status in ("valid", "invalid"), made.reason
    assert made.instrument["total"]["requests"] == made.counters["ok"] > 0
    assert made.counters["failed"] == 0
