"""Paths of outcomes, checked where they are written."""

import pytest

from tare.model.outcome import Outcome
from tare.model.paths import Path, parse


def outcome(value: str, per: str | None = None) -> Outcome:
    return Outcome(title="X", unit="1", better="lower", value=value, per=per)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("instrument.requests", [Path("instrument", "requests")]),
        ("load.unfinished", [Path("load", "unfinished")]),
        ("error.all", [Path("error", "all")]),
        ("target.hot.answered", [Path("target", "answered", "hot")]),
        ("counter.hits", [Path("counter", "hits")]),
        ("probe.wait_us", [Path("probe", "wait_us")]),
        ("analysis.slope", [Path("analysis", "slope")]),
        (
            "role.proxy.cpu_us+ role.backend.cpu_us",
            [Path("role", "cpu_us", "proxy"), Path("role", "cpu_us", "backend")],
        ),
    ],
)
def test_a_path_or_a_sum_of_them(text: str, paths: list[Path]) -> None:
    assert list(parse(text)) == paths
    assert " + ".join(map(str, paths)).replace(" ", "") == text.replace(" ", "")
    assert list(outcome(text).paths) == paths and outcome(text).divisors == ()
    assert list(outcome("error.all", per=text).divisors) == paths


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "intrument.requests",
            r"a path, as .* not 'intrument.requests' .did you mean 'instrument'",
        ),
        ("cpu", r"a path, as instrument.NAME, .* and not 'cpu'"),
        ("", "a path, as .* and not ''"),
        ("error.all +", "a path, as .* and not ''"),
        ("role.sut", "role.ROLE.PROBE, and not 'role.sut'"),
        ("role..cpu_us", "role.ROLE.PROBE, and not 'role..cpu_us'"),
        ("counter.a.b", "counter.NAME, and not 'counter.a.b'"),
        ("error", "error.KIND or error.all, and not 'error'"),
        ("load.ofered", r"load. with one of .*offered.* not 'ofered' .did you mean 'offered'"),
        ("load.loop", "load. with one of .* and not 'loop'"),
        ("analysis.slopes", r"analysis. with one of .* not 'slopes' .did you mean 'slope'"),
    ],
)
def test_what_is_no_path_is_refused_with_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse(text)
    with pytest.raises(ValueError, match=message):
        outcome("error.all", per=text)
