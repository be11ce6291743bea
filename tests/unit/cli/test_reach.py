"""Options of the command line reach the studies that declare them, and say which they do not."""

import pytest

from tare.cli.reach import reach, studies
from tare.lab.errors import UnknownName


def titles(target: str | None, *, quick: bool = False) -> list[str]:
    return [each.title for each in studies(target, quick=quick)]


def test_an_experiment_stands_for_its_default_studies() -> None:
    assert titles("filters") == ["filters/requests", "filters/price", "filters/library"]
    assert titles("filters", quick=True) == ["filters/requests", "filters/price", "filters/library"]
    assert titles("filters/steady") == ["filters/steady"]
    with pytest.raises(UnknownName, match="no study of filters 'prize'; did you mean 'price'"):
        titles("filters/prize")


def test_without_a_target_each_experiment_shows_the_first_study_that_is_quick() -> None:
    assert titles(None, quick=True) == [
        "cache/stall", "echo/rate", "filters/requests", "loadgen/client", "proxies/requests",
        "sandbox/calls",
    ]  # fmt: skip


def test_an_empty_name_is_none_of_an_experiment() -> None:
    with pytest.raises(UnknownName, match="there is no experiment ''"):
        titles("")


def test_a_duration_does_not_reach_the_windows_of_a_slope() -> None:
    found = reach(studies("filters", quick=False), [], {"duration_s": 10.0})
    reached = {each.loaded.study_name: each.overrides for each in found.requests}
    assert reached == {
        "requests": {"duration_s": 10.0}, "price": {}, "library": {"duration_s": 10.0},
    }  # fmt: skip
    assert found.remarks == ["duration_s does not reach filters/price, which does not declare it"]


def test_an_option_that_no_study_declares_is_refused() -> None:
    with pytest.raises(UnknownName, match="filters/price: no parameter 'rate'; there are: "):
        reach(studies("filters/price", quick=False), [], {"rate": 5.0})


def test_a_scenario_is_measured_by_the_studies_that_have_it() -> None:
    found = reach(studies("sandbox", quick=False), ["call=sieve-1e7"], {})
    assert [each.loaded.title for each in found.requests] == ["sandbox/compute"]
    assert "sandbox/calls has no such scenario: not run" in found.remarks


def test_a_scenario_that_no_study_has_is_left_to_the_first_to_refuse() -> None:
    found = reach(studies("sandbox", quick=False), ["call=nothing"], {})
    assert [each.loaded.title for each in found.requests] == ["sandbox/calls"]
    with pytest.raises(UnknownName, match="expected FACTOR=LEVEL"):
        reach(studies("sandbox", quick=False), ["call"], {})
