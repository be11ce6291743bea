from pathlib import Path
from typing import Any

import projects
import pytest

from tare.lab.errors import ManifestError
from tare.lab.machine.process import Place
from tare.lab.project.catalog import Loaded, load
from tare.lab.project.gate_limits import limits
from tare.lab.run import planning
from tare.lab.trial.gates.gate import Conditions
from tare.lab.trial.gates.registry import GATES, judge
from tare.model.gates import KINDS, Gates
from tare.model.instrument import Generators, Result
from tare.model.trial import Gate

QUIET = {"foreign_share": 0.0, "steal_share": 0.0}
LIMITS = Gates(achieved_min=0.9, errors_max=0.1, little_max=0.25, send_lag_max=2.0)


def result(**changes: Any) -> Result:
    """100 requests in a second, 10 ms each, one in flight, all as offered."""
    outcomes = {
        "requests": 100,
        "requests_per_second": 100.0,
        "latency_mean_us": 10_000.0,
        "latency_p50_us": 9_000.0,
        "latency_p99_us": 40_000.0,
    }
    load = {
        "loop": "open",
        "offered": 100,
        "completed": 100,
        "in_flight_mean": 1.0,
        "send_lag_p50_us": 1.0,
        "send_lag_p99_us": 10.0,
        "cpu_busiest_thread": 0.5,
    }
    found: dict[str, Any] = {"outcomes": outcomes, "load": load, "errors": {"read": 0}}
    for key, value in changes.items():
        home = next((table for table in (outcomes, load) if key in table), found)
        home[key] = value
    return answer(**found)


def answer(**fields: Any) -> Result:
    head = {"event": "result", "schema": 1, "instrument": "x", "window_s": 1.0}
    return Result.model_validate(head | fields)


def gates(
    found: Result, machine: dict[str, float] = QUIET, limits: Gates = LIMITS
) -> dict[str, Gate]:
    window = Conditions(found, machine, {}, {})
    return {gate.name: gate for gate in judge(limits, window)}


def test_every_gate_that_manifests_may_set_is_one_that_judges() -> None:
    assert [gate.name for gate in GATES] == list(KINDS)
    assert [gate.kind for gate in GATES] == list(KINDS.values())


def test_a_gate_that_is_off_lets_all_pass_and_says_why() -> None:
    bad = result(completed=1, send_lag_p99_us=1e9, errors={"read": 99})
    off = {"errors": "a", "send-lag": "b", "bottleneck": "c", "steal": "d"}
    found = gates(bad, limits=LIMITS.model_copy(update={"off": off}))
    assert (found["errors"].ok, found["errors"].off, found["errors"].kind) == (True, "a", "load")
    assert found["errors"].found == "read 99", "what it would have refused is told"
    assert found["send-lag-p99"].ok and found["send-lag-p50"].off == "b"
    assert (found["bottleneck"].off, found["bottleneck"].found) == ("c", "nothing to judge")
    assert not found["achieved"].ok and found["achieved"].off is None


def test_a_good_trial_passes_every_gate() -> None:
    found = gates(result())
    assert all(gate.ok for gate in found.values())
    assert list(found) == [
        "errors", "requests", "achieved", "send-lag-p50", "send-lag-p99", "little", "foreign-cpu",
        "steal",
    ]  # fmt: skip


@pytest.mark.parametrize(("delay_s", "ok"), [(None, None), (0.03, True), (0.031, False)])
def test_probes_of_other_hosts_are_read_in_time(delay_s: float | None, ok: bool | None) -> None:
    window = Conditions(result(), QUIET, {}, {}, delay_s)
    found = {gate.name: gate for gate in judge(LIMITS, window)}.get("probe-delay")
    assert (found and found.ok) is ok
    assert found is None or found.wanted == "at most 30 ms"


@pytest.mark.parametrize(
    ("gate", "key", "below", "at", "above"),
    [
        ("send-lag-p50", "send_lag_p50_us", 17_999.0, 18_000.0, 18_001.0),
        ("send-lag-p99", "send_lag_p99_us", 79_999.0, 80_000.0, 80_001.0),
        ("little", "in_flight_mean", 1.2, 1.25, 1.5),
    ],
)
def test_a_gate_closes_above_its_limit(
    gate: str, key: str, below: float, at: float, above: float
) -> None:
    assert gates(result(**{key: below}))[gate].ok
    if gate != "little":  # the residual is a quotient: no float hits its limit
        assert gates(result(**{key: at}))[gate].ok
    assert not gates(result(**{key: above}))[gate].ok


@pytest.mark.parametrize(
    ("in_flight", "ok"), [(0.6, False), (0.7, True), (2.0, True), (2.4, False)]
)
def test_a_window_of_few_long_requests_may_be_off_by_those_that_its_ends_cut(
    in_flight: float, ok: bool
) -> None:
    four = {"requests": 4, "requests_per_second": 4.0, "latency_mean_us": 250_000.0}
    found = gates(result(**four, in_flight_mean=in_flight))["little"]
    assert found.ok is ok and found.wanted == "at most 50.00 %"


@pytest.mark.parametrize(("completed", "ok"), [(89, False), (90, True), (100, True)])
def test_the_offered_load_must_be_achieved(completed: int, ok: bool) -> None:
    gate = gates(result(completed=completed))["achieved"]
    assert gate.ok is ok
    assert (
        gate.found == f"{completed:.2f} % of the offered load" and gate.wanted == "at least 90.00 %"
    )


def test_nothing_offered_is_nothing_achieved() -> None:
    assert not gates(result(offered=0, completed=0))["achieved"].ok


@pytest.mark.parametrize(
    ("requests", "failed", "ok"), [(90, 10, True), (91, 9, True), (89, 11, False), (0, 1, False)]
)
def test_errors_are_a_share_of_all_answers(requests: int, failed: int, ok: bool) -> None:
    found = gates(result(requests=requests, errors={"read": failed, "status": 0}))
    assert found["errors"].ok is ok
    assert found["errors"].found == f"read {failed}"


@pytest.mark.parametrize(("other", "ok"), [(10, True), (11, False)])
def test_errors_of_both_sides_are_a_share_of_the_answers_of_both(other: int, ok: bool) -> None:
    own = result(requests=90, errors={"read": 10, "status": 0})
    baseline = result(requests=90, errors={"read": 0, "status": other})
    window = Conditions(own, QUIET, {}, {}, sides={"old": baseline, "new": own})
    found = {gate.name: gate for gate in judge(LIMITS, window)}
    assert found["errors"].ok is ok
    assert found["errors"].found == f"old: status {other}; new: read 10"


def test_lateness_is_compared_with_the_faster_side() -> None:
    own, fast = result(send_lag_p50_us=16_000.0), result(latency_p50_us=7_000.0)
    for sides, ok in (({}, True), ({"a": own, "b": fast}, False)):
        window = Conditions(own, QUIET, {}, {}, sides=sides)
        found = {gate.name: gate for gate in judge(LIMITS, window)}["send-lag-p50"]
        assert found.ok is ok, found
    assert found.found == "16000 µs late of a latency of 7000 µs"


def test_both_sides_have_answers() -> None:
    window = Conditions(result(), QUIET, {}, {}, sides={"a": result(), "b": result(requests=0)})
    found = {gate.name: gate for gate in judge(LIMITS, window)}
    assert not found["requests"].ok and found["requests"].found == "0 answered"


def test_a_load_without_an_answer_does_not_count() -> None:
    found = gates(
        result(requests=0, latency_mean_us=None, latency_p50_us=None, latency_p99_us=None)
    )
    assert found["errors"].ok
    assert not found["requests"].ok and found["requests"].found == "0 answered"
    assert "little" not in found and "send-lag-p50" not in found


def test_a_closed_loop_has_no_schedule_to_miss() -> None:
    found = gates(result(loop="closed", completed=1, send_lag_p50_us=None, send_lag_p99_us=None))
    assert set(found) == {"errors", "requests", "generator", "little", "foreign-cpu", "steal"}
    assert all(gate.ok for gate in found.values())


@pytest.mark.parametrize(("busy", "ok"), [(0.969, True), (0.97, True), (0.971, False)])
def test_a_closed_loop_must_leave_the_generator_room(busy: float, ok: bool) -> None:
    assert gates(result(loop="closed", cpu_busiest_thread=busy))["generator"].ok is ok


@pytest.mark.parametrize(("failed", "ok"), [(0, True), (1, False)])
def test_an_instrument_without_load_is_judged_by_errors_and_machine(failed: int, ok: bool) -> None:
    found = gates(answer(outcomes={"calls": 5}, errors={"call": failed}))
    assert list(found) == ["errors", "foreign-cpu", "steal"]
    assert found["errors"].ok is ok


@pytest.mark.parametrize(
    ("gate", "share", "limit"),
    [("foreign-cpu", "foreign_share", 0.05), ("steal", "steal_share", 0.1)],
)
def test_the_machine_must_be_quiet(gate: str, share: str, limit: float) -> None:
    assert gates(result(), QUIET | {share: limit})[gate].ok
    assert gates(result(), QUIET | {share: limit - 0.001})[gate].ok
    assert not gates(result(), QUIET | {share: limit + 0.001})[gate].ok


def project(folder: Path, gates: str) -> Loaded:
    study = projects.STUDY.replace("open = { connections = 8 }", "open = { allowed = 0.5 }")
    text = projects.EXPERIMENT.replace(
        "[parameters]", "[parameters]\nallowed = 0.0\nsame = '{{ allowed }}'"
    )
    root = projects.write(folder, experiment=text, study=f"{study}\n[gates]\n{gates}\n")
    return load("exp", root=root)


def test_a_level_sets_gates_by_its_parameters(tmp_path: Path) -> None:
    loaded = project(tmp_path, "errors_max = '{{ same }}'\nretries = 1")
    found = [
        limits(loaded.study.gates, loaded.study.parameters | level, "exp")
        for level in loaded.study.factors["loop"].levels.values()
    ]
    assert [gates.errors_max for gates in found] == [0.0, 0.5]
    assert {gates.retries for gates in found} == {1}
    assert {gates.steal_max for gates in found} == {Gates().steal_max}


@pytest.mark.parametrize(
    ("gates", "message"),
    [
        ("errors_max = 'none'", "gates.errors_max: found 'none', expected a valid number"),
        ("errors_max = '{{ nothing }}'", "gates.errors_max: .*nothing"),
        ("off = 'all'", ".* off to be a table"),
        (
            "off = { litle = 'x' }",
            ".* only errors, .* and not 'litle' .did you mean 'little'",
        ),
        ("off = { little = '' }", ".* off.little to be a reason in words"),
        ("off = { little = ' ' }", ".* off.little to be a reason in words"),
        ("off = { little = 3 }", ".* off.little to be a reason in words"),
        ("off = { little = '{{ 3 }}' }", "gates.off.little: found 3, expected a valid string"),
        ("off = { little = '{{ nothing }}' }", "gates.off.little: .*nothing"),
        ("errors_most = 1", ".*only achieved_min, .* and not errors_most"),
    ],
)
def test_gates_that_are_none_are_refused_when_read(
    tmp_path: Path, gates: str, message: str
) -> None:
    with pytest.raises(ManifestError, match=f"main.toml: {message}"):
        project(tmp_path, gates)


def test_a_reason_that_comes_to_nothing_leaves_a_gate_on(tmp_path: Path) -> None:
    loaded = project(tmp_path, "off = { little = \"{{ 'no steady state' if allowed else '' }}\" }")
    found = [
        limits(loaded.study.gates, loaded.study.parameters | level, "exp").off
        for level in loaded.study.factors["loop"].levels.values()
    ]
    assert found == [{}, {"little": "no steady state"}]


def test_gates_that_a_level_spoils_are_refused_before_the_run(tmp_path: Path) -> None:
    loaded = project(tmp_path, "retries = '{{ (allowed * 3) if allowed else 2 }}'")
    asked: dict[str, Any] = {
        "quick": False, "variants": None, "blocks": None, "seed": 3, "overrides": {}
    }  # fmt: skip
    assert planning.make(loaded, scenarios=["loop=closed"], **asked)
    with pytest.raises(ManifestError, match=r"gates.retries: found 1.5, expected a valid integer"):
        planning.make(loaded, scenarios=["loop=open"], **asked)


@pytest.mark.parametrize(("kept", "ok"), [(100, True), (50, True), (49, False), (0, False)])
def test_a_duel_of_disturbed_rounds_does_not_count(kept: int, ok: bool) -> None:
    slices = {"length_ms": 2, "lead_in_ms": 0, "rounds": 100, "kept": kept, "share": 0.9}
    found = gates(result(slices=slices, in_flight_mean=99.0))
    assert found["slices"].ok is ok
    assert found["slices"].found == f"{kept}.0 % of 100 rounds undisturbed"
    assert "little" not in found, "rounds are dropped, and drains have nothing in flight"


def test_a_generator_that_takes_turns_polls_and_so_is_always_busy() -> None:
    slices = {"length_ms": 2, "lead_in_ms": 0, "rounds": 9, "kept": 9, "share": 0.9}
    busy = result(loop="closed", cpu_busiest_thread=1.0, slices=slices)
    assert "generator" not in gates(busy)


@pytest.mark.parametrize(("used", "ok"), [(0.44, True), (0.3, False)])
def test_a_side_of_a_duel_is_busy_in_its_own_slices(used: float, ok: bool) -> None:
    slices = {"length_ms": 2, "lead_in_ms": 0, "rounds": 9, "kept": 9, "share": 0.9}
    found = result(loop="closed", slices=slices)
    window = Conditions(found, QUIET, {"sut": {"cpu_share": used}}, {"sut": Place(None, (0,))})
    limits = LIMITS.model_copy(update={"bottleneck": "sut"})
    judged = {gate.name: gate.ok for gate in judge(limits, window)}
    assert judged["bottleneck"] is ok


def together(overlap_s: float = 0.99, **each: Result) -> Result:
    """The good result of several generators, each of which has its own."""
    several = {
        "start_spread_s": 0.002,
        "overlap_s": overlap_s,
        "each": {name.replace("_", "-"): own for name, own in each.items()},
    }
    return result().model_copy(update={"generators": Generators.model_validate(several)})


def test_each_of_several_generators_is_judged_by_its_name() -> None:
    late = result(send_lag_p99_us=1e6)
    found = gates(together(load_1=result(), load_2=late))
    assert [name for name, gate in found.items() if not gate.ok] == ["send-lag-p99-load-2"]
    assert found["send-lag-p99"].ok, "all together are not late"
    assert "requests-load-1" in found and "errors-load-1" not in found
    behind = gates(together(load_1=result(completed=1), load_2=result()))
    assert not behind["achieved-load-1"].ok and behind["achieved-load-2"].ok
    off = LIMITS.model_copy(update={"off": {"send-lag": "why"}})
    assert gates(together(load_1=result(), load_2=late), limits=off)["send-lag-p99-load-2"].ok


@pytest.mark.parametrize(("overlap_s", "ok"), [(0.971, True), (0.96, False), (0.0, False)])
def test_several_generators_must_have_their_windows_together(overlap_s: float, ok: bool) -> None:
    found = gates(together(overlap_s, load_1=result()))["overlap"]
    assert found.ok is ok and found.kind == "generator"
    assert "which opened theirs within 2.0 ms" in found.found
    assert "overlap" not in gates(result())
