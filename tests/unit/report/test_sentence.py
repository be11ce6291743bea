"""The answer in sentences, on built cases and on the project's records."""

import re
from pathlib import Path
from typing import Any

import pytest
import runs
from built import case, outcome, results

from tare.lab.paths import ROOT
from tare.model.results import Results
from tare.report import results as made_results
from tare.report.folder import read
from tare.report.ranking import rankings
from tare.report.sentence import answers, of_scenario
from tare.stats.verdict import BIASED

RECORDS = sorted(file.parent for file in ROOT.glob("record/*/trials.jsonl.zst"))


def many(**verdicts: tuple[str, float]) -> dict[str, dict[str, Any]]:
    """Variants by name, each with a verdict and an effect on one outcome."""
    return {
        label: {"cpu": outcome("CPU per request", verdict, effect, effect - 1, effect + 1)}
        for label, (verdict, effect) in verdicts.items()
    }


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (("CPU per request", "costs", 2.13, 1.62, 2.58),
         "CPU per request is 2.13 % [1.62, 2.58] higher"),
        (("Median latency", "saves", -12.3, -14.0, -10.6),
         "median latency is 12.3 % [10.6, 14.0] lower"),
        (("CPU per request", "costs", 140.0, 131.0, 152.0),
         "CPU per request is 2.40 times [2.31, 2.52] as high"),
        (("Bytes", "costs", 0.003, 0.002, 0.004),
         "bytes is 0.0030 % [0.0020, 0.0040] higher"),
        (("Bytes", "saves", -0.003, -0.003, -0.003),
         "bytes is 0.00300 % [0.00300, 0.00300] lower"),
        (("Rate", "saves", -80.0, -82.0, -78.0),
         "rate is a factor of 5.0 [4.5, 5.6] lower"),
        (("CPU per request", "saves", -45.0, -99.6, -5.0),
         "CPU per request is 45 % [5, 100] lower"),
        (("p99 latency", "equivalent", 0.1, -0.4, 0.6),
         "p99 latency is equivalent, within ±1 %"),
        (("p99 latency", "unresolved", 3.0, -4.2, 10.1),
         "p99 latency is unresolved: between -4 % and +10 %"),
        (("Bytes", "unresolved", 0.0, -0.002, 0.003),
         "bytes is unresolved: between -0.0020 % and 0.0030 %"),
        (("p99 latency", "unresolved", 3.0, 1.2, 310.0),
         "p99 latency is unresolved: between 1.01 and 4.1 times as high, but w"),
    ],
)  # fmt: skip
def test_a_verdict_in_words(told: tuple[Any, ...], words: str) -> None:
    assert answers(results(case({"new": {"one": outcome(*told)}}))) == [
        f"new against old: {words}."
    ]


def test_few_variants_have_a_sentence_about_all_outcomes() -> None:
    own = {
        "one": outcome("CPU per request", "costs", 2.0, 1.0, 3.0),
        "two": outcome("Median latency", "equivalent", 0.0, -0.5, 0.5),
    }
    assert answers(results(case({"new": own}))) == [
        "new against old: CPU per request is 2.0 % [1.0, 3.0] higher; "
        "median latency is equivalent, within ±1 %."
    ]


def test_outcomes_of_which_the_same_is_said_stand_together() -> None:
    open_ = outcome("CPU per request", "unresolved", 0.0, 0.0, 0.0) | {"ci_pct": None, "why": "few"}
    own = {
        "one": open_,
        "two": outcome("Median latency", "equivalent", 0.0, -0.5, 0.5),
        "three": open_ | {"title": "p99 latency"},
        "four": outcome("Memory", "equivalent", 0.1, -0.1, 0.3),
    }
    assert answers(results(case({"new": own}))) == [
        "new against old: CPU per request and p99 latency are unresolved: few; "
        "median latency and memory are equivalent, within ±1 %."
    ]


def test_what_is_unresolved_for_one_reason_is_told_once() -> None:
    why = "8 blocks cannot show a difference among 14 comparisons: it takes 10"
    few = {"why": why, "more_blocks": 2}
    own = {
        "one": outcome("CPU per request", "unresolved", 3.0, 2.0, 4.0) | few,
        "two": outcome("Median latency", "unresolved", 0.0, -3.0, 4.0) | {"more_blocks": 4},
        "three": outcome("p99 latency", "unresolved", 9.0, 5.0, 12.0) | few | {"more_blocks": 4},
        "four": outcome("Memory", "unresolved", 0.0, -5.0, 6.0) | {"more_blocks": 4},
        "five": outcome("Faults", "unresolved", 0.0, -7.0, 8.0),
        "six": outcome("Switches", "unresolved", 0.0, -9.0, 9.0),
    }
    assert answers(results(case({"new": own}))) == [
        "new against old: CPU per request (between +2.0 % and +4.0 %) and p99 latency (between "
        f"+5.0 % and +12.0 %) are unresolved, but {why}; about 60 s to 2 min more would decide; "
        "median latency (between -3.0 % and +4.0 %) and memory (between -5 % and +6 %) are "
        "unresolved; about 2 min more would decide; "
        "faults is unresolved: between -7 % and +8 %; "
        "switches is unresolved: between -9 % and +9 %."
    ]


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (2.0, "is 20.8 % [19.2, 22.6] higher, beyond the limit of 2 %"),
        (30.0, "is within the limit of 30 %: between +19.2 % and +22.6 %"),
        (20.0, "is unresolved: between +19.2 % and +22.6 %, but w; about 60 s more would decide"),
    ],
)
def test_an_effect_beyond_a_gate_s_limit_is_told_as_the_gate_does(limit: float, told: str) -> None:
    few = outcome("CPU per request", "unresolved", 20.8, 19.2, 22.6) | {"more_blocks": 2}
    found = results(case({"new": {"cpu": few}}), limits={"cpu": limit})
    assert answers(found) == [f"new against old: CPU per request {told}."]


def test_without_an_interval_the_time_to_tell_is_a_least_one() -> None:
    open_ = outcome("CPU per request", "unresolved", 0.0, -3.0, 4.0) | {"more_blocks": 2}
    assert answers(results(case({"new": {"one": open_}}))) == [
        "new against old: CPU per request is unresolved: between -3.0 % and +4.0 %; about 60 s "
        "more would decide."
    ]
    few = open_ | {"ci_pct": None, "why": "6 pairs give no interval yet"}
    assert answers(results(case({"new": {"one": few}}))) == [
        "new against old: CPU per request is unresolved: 6 pairs give no interval yet; "
        "to show a difference takes 60 s more at least."
    ]


def test_many_variants_are_ranked_and_the_indistinguishable_stand_together() -> None:
    variants = many(
        dear=("costs", 860.0), near=("costs", 190.0), twin=("costs", 204.0),
        same=("equivalent", 0.1), good=("saves", -25.0),
    )  # fmt: skip
    pairs = {
        ("twin", "near"): "unresolved", ("near", "dear"): "saves", ("twin", "dear"): "saves",
        ("same", "near"): "saves", ("good", "near"): "saves",
    }  # fmt: skip
    assert answers(results(case(variants, pairs))) == [
        "CPU per request: against old, good 25 % lower, same equivalent (within ±1 %), "
        "near and twin 2.9 to 3 times as high (indistinguishable), dear 9.6 times as high."
    ]


def test_a_group_is_never_told_as_1_times() -> None:
    variants = many(near=("costs", 1.4), far=("costs", 1.4))
    for each in variants.values():
        each["cpu"]["ci_pct"] = [0.6, 150.0]
    pairs = {("near", "far"): "unresolved"}
    told = answers(results(case(variants | many(b=("saves", -9.0)), pairs)))[0]
    assert told.endswith("far and near 1.01 times as high (indistinguishable).") or told.endswith(
        "near and far 1.01 times as high (indistinguishable)."
    ), told


def test_a_group_holds_only_what_is_indistinguishable_each_from_each() -> None:
    """b is like a and like c, but a and c differ: they are not one group."""
    variants = many(a=("costs", 10.0), b=("costs", 12.0), c=("costs", 14.0))
    pairs = {("b", "a"): "unresolved", ("c", "b"): "equivalent", ("c", "a"): "costs"}
    assert answers(results(case(variants, pairs))) == [
        "CPU per request: against old, a and b 10 to 12 % higher (indistinguishable), "
        "c 14 % higher."
    ]


def test_what_differs_as_it_seems_is_not_called_indistinguishable() -> None:
    """Too few blocks for so many pairs leave clear differences without a verdict."""
    variants = many(a=("costs", 10.0), b=("costs", 12.0), c=("costs", 80.0))
    pairs = {
        ("b", "a"): ("unresolved", -1.0, 4.0), ("c", "b"): ("unresolved", 55.0, 65.0),
        ("c", "a"): ("unresolved", 60.0, 70.0),
    }  # fmt: skip
    assert answers(results(case(variants, pairs))) == [
        "CPU per request: against old, a and b 10 to 12 % higher (indistinguishable), "
        "c 80 % higher (part of this order is unresolved)."
    ]
    pairs |= dict.fromkeys(pairs, ("unresolved", 0.1, 0.2))
    assert answers(results(case(variants, pairs))) == [
        "CPU per request: against old, a, b and c 10 to 80 % higher (indistinguishable)."
    ], "below the noise floor"


def test_more_of_what_is_better_comes_first_where_higher_is_better() -> None:
    variants = many(slow=("costs", -80.0), fast=("saves", 140.0), mid=("costs", -20.0))
    for own in variants.values():
        own["cpu"]["better"] = "higher"
    assert answers(results(case(variants))) == [
        "CPU per request: against old, fast 2.4 times as high, mid 20 % lower, "
        "slow a factor of 5 lower."
    ]


def test_no_figures_are_promised_where_nothing_was_measured(tmp_path: Path) -> None:
    plan = runs.plan()
    done = [
        runs.altered(trial, status="unavailable", reason="no card", outcomes={})
        for trial in runs.trials(plan, 1, {})
    ]
    found = made_results.make(read(runs.write(tmp_path / "run", plan, done)))
    assert found.answers == ["Nothing was measured."]


def test_nothing_resolved_says_how_long_it_would_take() -> None:
    variants = many(a=("unresolved", 0.5), b=("unresolved", 0.6), c=("unresolved", 0.7))
    variants["b"]["cpu"]["more_blocks"] = 40
    assert answers(results(case(variants))) == [
        "CPU per request: no difference from old could be shown.",
        "Could not tell whether a, b or c differ: that takes at least 40 more blocks, 20 min.",
    ]
    variants["a"]["cpu"]["more_blocks"] = variants["c"]["cpu"]["more_blocks"] = 2
    assert answers(results(case(variants)))[1].endswith(
        ": that takes about 2 to 40 more blocks, 60 s to 20 min."
    )
    for own in variants.values():
        own["cpu"]["more_blocks"] = 1
    assert answers(results(case(variants)))[1].endswith(": that takes about 1 more block, 30 s.")


def test_that_more_blocks_would_not_help_is_said_where_it_is_known() -> None:
    variants = many(a=("unresolved", 0.5), b=("unresolved", 0.6), c=("unresolved", 0.7))
    assert answers(results(case(variants)))[1] == "Could not tell whether a, b or c differ."
    for own in variants.values():
        own["cpu"]["why"] = f"below the noise floor of 8 %, {BIASED}"
    assert answers(results(case(variants)))[1].endswith(" differ: more blocks would not help.")
    variants["b"]["cpu"]["why"] = "p 0.13 after Holm over 15 comparisons"
    assert answers(results(case(variants)))[1] == "Could not tell whether a, b or c differ."


def test_a_few_blocks_of_slopes_are_not_said_to_be_enough(tmp_path: Path) -> None:
    names = ["cheap", "twin", "dear"]
    plan = runs.plan(
        variants=["none", *names],
        outcomes={"ns": runs.NS, "cpu": runs.CPU},
        judged=["ns"], awaited=["ns"], shown=[],
    )  # fmt: skip
    done = runs.dosed(plan, 3, dict.fromkeys(names, 0.01))
    told = made_results.make(read(runs.write(tmp_path / "run", plan, done))).answers
    assert told[-1].startswith("Could not tell whether ") and "would not help" not in told[-1]


def test_all_equivalent() -> None:
    variants = many(a=("equivalent", 0.1), b=("equivalent", 0.0), c=("equivalent", -0.1))
    assert answers(results(case(variants))) == [
        "CPU per request: against old, c, b and a equivalent (within ±1 %)."
    ]


def test_a_crowd_is_counted_and_not_named() -> None:
    variants = many(**{f"v{number}": ("unresolved", number / 9) for number in range(9)})
    assert "whether 9 variants differ" in answers(results(case(variants)))[1]


def test_variants_of_another_baseline_are_told_against_it() -> None:
    variants = many(base=("costs", 5.0), a=("costs", 10.0), script=("costs", 40.0))
    assert answers(results(case(variants), baselines={"script": "base"})) == [
        "CPU per request: against old, base 5 % higher, a 10 % higher; "
        "against base, script 40 % higher."
    ]


def test_a_control_that_differs_from_itself_is_the_only_answer() -> None:
    sound = case(many(a=("costs", 9.0), b=("costs", 9.0), c=("costs", 9.0)), name="one")
    alarm = case(many(a=("costs", 9.0), b=("costs", 9.0), c=("costs", 9.0)), None, "costs", "two")
    assert answers(results(sound, alarm)) == [
        "Do not believe this run: old differs from itself in CPU per request (in load=two), "
        "by the A/A control."
    ]
    assert answers(results(alarm)) == [
        "Do not believe this run: old differs from itself in CPU per request, by the A/A control."
    ]


def test_several_scenarios_have_an_answer_each() -> None:
    one, two = (case(many(a=("costs", 9.0)), name=name) for name in ("one", "two"))
    assert [words.partition(":")[0] for words in answers(results(one, two))] == [
        "load=one", "load=two",
    ]  # fmt: skip


def test_what_was_not_measured_is_named_and_a_run_in_progress_says_so() -> None:
    broken = case(many(a=("costs", 9.0), b=("costs", 9.0)))
    broken["variants"]["b"] |= {"status": "failed", "reason": "r", "outcomes": {}}
    broken["variants"]["b"]["trials_failed"] = 1
    assert answers(results(broken))[-1] == "Not measured: b."
    late = case(many(a=("costs", 9.0), b=("costs", 9.0)))
    late["variants"]["b"] |= {"status": "invalid", "reason": "r", "outcomes": {}}
    late["variants"]["b"] |= {"trials_invalid": 0, "trials_failed": 0}
    assert answers(results(late))[-1] == "Not measured, since the run ended before: b."
    late["variants"]["b"]["reason"] = "not measured: its baseline old failed"
    assert answers(results(late))[-1] == "Not measured, since old failed: b."
    assert answers(results(broken, complete=False))[0] == "Not finished; so far:"


def test_what_failed_in_one_of_its_trials_was_measured(tmp_path: Path) -> None:
    plan = runs.plan()
    done = runs.trials(plan, 8, {"dear": 1.2})
    at = next(number for number, trial in enumerate(done) if trial.label == "dear")
    done[at] = runs.altered(done[at], status="failed", reason="it crashed", outcomes={})
    told = made_results.make(read(runs.write(tmp_path / "run", plan, done))).answers
    assert told[0].startswith("dear against none: CPU is ") and told[0].endswith(" higher.")
    assert told[1:] == ["dear failed in 1 trial, which did not count."]


def test_slopes_are_told_in_their_unit(tmp_path: Path) -> None:
    plan = runs.plan(
        variants=["none", "cheap", "twin", "dear"],
        outcomes={"ns": runs.NS, "cpu": runs.CPU},
        judged=["ns"], awaited=["ns"], shown=[],
    )  # fmt: skip
    done = runs.dosed(plan, 10, {"cheap": 0.010, "twin": 0.010, "dear": 0.050})
    (words,) = made_results.make(read(runs.write(tmp_path / "run", plan, done))).answers
    pattern = (
        r"CPU of a call: against none, (cheap and twin|twin and cheap) [\d.]+ (to [\d.]+ )?ns more "
        r"\(indistinguishable\), dear 50 ns more\."
    )
    assert re.fullmatch(pattern, words), words


@pytest.mark.parametrize("record", RECORDS, ids=lambda folder: str(folder.name))
def test_each_record_s_answer_holds_all_verdicts_and_no_large_percentage(record: Path) -> None:
    found = Results.model_validate_json((record / "results.json").read_text())
    assert found.answers == answers(found) and found.answers
    for scenario in found.scenarios:
        words = " ".join(of_scenario(found, scenario))
        for ranking in rankings(found, scenario)[:1]:
            for each in ranking.standings:
                named = re.search(rf"(?<![\w-]){re.escape(each.label)}(?![\w-])", words)
                assert named or re.search(r"\d+ variants", words), each.label
    for words in found.answers:
        assert not re.search(r"(?<![.\d])\d{3,} %", words), words


def test_what_all_scenarios_share_is_said_once() -> None:
    one, two, three = (case(many(a=("costs", 9.0)), name=name) for name in ("one", "two", "three"))
    for each in (one, two, three):
        each["variants"]["b"] = each["variants"]["a"] | {"status": "failed", "outcomes": {}}
        each["variants"]["b"] |= {"trials_failed": 1, "reason": "r"}
    three["variants"]["a"]["outcomes"]["cpu"] |= {"effect_pct": 5.0, "ci_pct": (4.0, 6.0)}
    told = answers(results(one, two, three))
    assert [words.partition(":")[0] for words in told] == [
        "load=one", "load=two", "load=three", "All 3 scenarios",
    ]  # fmt: skip
    assert told[-1] == "All 3 scenarios: Not measured: b."
    assert answers(results(one))[-1] == "Not measured: b."
