"""The answer of a run in sentences, made from the verdicts by rule."""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

from tare.model.given_up import baseline_failed
from tare.model.results import Results, ScenarioResult
from tare.report import cross_talk, slower
from tare.report.numbers import Interval, ends, figure, form, listed, relative, span
from tare.report.ranking import DIFFERENT, Ranking, Standing, rankings
from tare.report.titles import titles
from tare.report.why import because
from tare.stats.blocks import worse_by
from tare.stats.plan_order import CONTROL
from tare.stats.rounding import counted, factor_text, two_digits
from tare.stats.verdict import BIASED

_ONE_START = (
    "Each server was started once, before this run: a difference may come from that start, for "
    "instance from its memory layout, and not from the program. CPU and memory have no A/A control."
)
_FEW = 2
"""Variants beside the baseline of which each gets a sentence about all outcomes."""
_NAMED = 6
"""Variants that one clause names; of more it gives the number."""


def answers(results: Results) -> list[str]:
    """Return the answer of a run: sentences for each scenario, and once what all of them share.

    A control that differs from itself comes first, and then nothing else is to be believed.
    """
    if alarm := distrust(results):
        return [alarm]
    named, found = titles(results), []
    several = len(results.scenarios) > 1
    own, common = of_scenarios(results)
    for name, sentences in own.items():
        found += [f"{named[name]}: {words}" if several else words for words in sentences]
    found += [f"All {len(own)} scenarios: {words}" for words in common]
    found += filter(None, [caution(results)])
    return found if results.complete else ["Not finished; so far:", *found]


def distrust(results: Results) -> str | None:
    """Return a sentence that the run is not to be believed, if its A/A control says so."""
    alarms: dict[str, list[str]] = {}
    named = titles(results)
    for scenario in results.scenarios:
        found = {each.outcome: each.title for each in scenario.slopes}
        for variant in scenario.variants.values():
            found |= {name: own.title for name, own in variant.outcomes.items()}
        for name, verdict in scenario.control_verdicts().items():
            if verdict in DIFFERENT:
                alarms.setdefault(in_sentence(found[name]), []).append(named[scenario.name])
    if not alarms:
        return None
    several = len(results.scenarios) > 1
    where = [
        f"{title} (in {listed(scenarios)})" if several else title
        for title, scenarios in alarms.items()
    ]
    return (
        f"Do not believe this run: {results.baseline} differs from itself in {listed(where)}, "
        "by the A/A control."
    )


def caution(results: Results) -> str | None:
    """Return what all differences between servers that ran before may come from."""
    return _ONE_START if results.running else None


def of_scenarios(results: Results) -> tuple[dict[str, list[str]], list[str]]:
    """Return each scenario's own sentences by its name, the first one always among them, and those
    that all of several scenarios share.
    """
    told = {each.name: of_scenario(results, each) for each in results.scenarios}
    one, *others = (sentences[1:] for sentences in told.values())
    common = [words for words in one if others and all(words in each for each in others)]
    own = {
        name: [*sentences[:1], *(words for words in sentences[1:] if words not in common)]
        for name, sentences in told.items()
    }
    return own, common


def of_scenario(results: Results, scenario: ScenarioResult) -> list[str]:
    """Return one scenario's answer: of its first judged outcome, or of all outcomes of each variant
    where these are one or two; then what could not be told.
    """
    found = rankings(results, scenario)
    lost, failed = _lost(results, scenario), _failed(scenario)
    if not found:
        return [lost or _unjudged(results, scenario), *failed]
    others = {each.label for one in found for each in one.standings}
    if len(others) <= _FEW:
        words = [_of_variant(results, found, label) for label in sorted(others)]
    else:
        words = [of_outcome(results, found[0])]
        if more := doubt(results, found[0]):
            words.append(more)
    warnings = (cross_talk.warning(results, scenario, found, label) for label in sorted(others))
    words += filter(None, warnings)
    for cause in scenario.causes:
        if cause.label != CONTROL:
            words += because(cause, results.baseline_of(cause.label), results.pairing)
    for tail in scenario.tails:
        if tail.label != CONTROL:
            words += slower.sentences(scenario, tail, results.baseline_of(tail.label))
    return [*words, *([lost] if lost else []), *failed]


def of_outcome(results: Results, ranking: Ranking) -> str:
    """Return all variants' verdicts in one outcome, ranked, those together that are
    indistinguishable.
    """
    against = dict.fromkeys(each.against for each in ranking.standings)
    parts = [
        _against(results, ranking, [each for each in ranking.standings if each.against == name])
        for name in against
    ]
    told = [f"against {name}, {part}" for name, part in zip(against, parts, strict=True) if part]
    if not told:
        return f"{ranking.title}: no difference from {listed(list(against))} could be shown."
    return f"{ranking.title}: {'; '.join(told)}."


def doubt(results: Results, ranking: Ranking) -> str | None:
    """Return which variants may or may not differ from their baselines, and how long it would take
    to tell; None if all verdicts are there.
    """
    open_ = [each for each in ranking.standings if each.verdict == "unresolved"]
    if not open_:
        return None
    names = _names(open_, "or")
    if len(open_) == 1:
        names += f" ({_between(ranking, open_[0])})"
    words = f"Could not tell whether {names} {'differs' if len(open_) == 1 else 'differ'}"
    needed = [each.more_blocks for each in open_ if each.more_blocks]
    if not needed:
        hopeless = all(BIASED in each.why for each in open_)
        return f"{words}: more blocks would not help." if hopeless else f"{words}."
    ends = sorted({min(needed), max(needed)})
    blocks = " to ".join(map(str, ends))
    spans = dict.fromkeys(span(each * results.block_s) for each in ends if results.block_s)
    time = f", {' to '.join(spans)}" if spans else ""
    least = "about" if len(needed) == len(open_) else "at least"
    noun = "block" if ends == [1] else "blocks"
    return f"{words}: that takes {least} {blocks} more {noun}{time}."


def _against(results: Results, ranking: Ranking, own: Sequence[Standing]) -> str:
    """Clauses such as `a and b 2.9 to 3.0 times as high (indistinguishable)`, best first."""
    clauses, same = [], [each for each in own if each.verdict == "equivalent"]
    better, worse = (
        [each for each in own if each.verdict == verdict] for verdict in ("saves", "costs")
    )
    groups = [ranking.groups(better), ranking.groups(worse)]
    clauses += [_group(ranking, group) for group in groups[0]]
    if same:
        clauses.append(f"{_names(same)} equivalent (within ±{results.margin_pct:g} %)")
    clauses += [_group(ranking, group) for group in groups[1]]
    told = ", ".join(clauses)
    labels = [[each.label for each in side] for side in (better, worse)]
    uncertain = any(
        frozenset(pair) in ranking.open for side in labels for pair in combinations(side, 2)
    )
    return f"{told} (part of this order is unresolved)" if uncertain else told


def _group(ranking: Ranking, group: Sequence[Standing]) -> str:
    names = _names(group)
    amounts = [each.value for each in group]
    told = _amount(ranking, group, min(amounts, key=abs), max(amounts, key=abs))
    return f"{names} {told}" + (" (indistinguishable)" if len(group) > 1 else "")


def _amount(ranking: Ranking, group: Sequence[Standing], near: float, far: float) -> str:
    """Return how much the changes of a group are, all of one sign, from the smallest to the largest
    one; in the form in which a table has any of them.
    """
    if ranking.is_slope:
        word = "more" if far > 0 else "less"
        return f"{_range(abs(near), abs(far))} {ranking.unit} {word}"
    if any(form(each.value, each.interval) != "percent" for each in group):
        low, high = sorted(max(ratio, 1 / ratio) for ratio in (1 + near / 100, 1 + far / 100))
        told = _range(low, high, factor_text)
        return f"{told} times as high" if far > 0 else f"a factor of {told} lower"
    return f"{_range(abs(near), abs(far))} % {'higher' if far > 0 else 'lower'}"


def _range(low: float, high: float, write: Callable[[float], str] = two_digits) -> str:
    first, last = write(low), write(high)
    return first if first == last else f"{first} to {last}"


def _of_variant(results: Results, found: Iterable[Ranking], label: str) -> str:
    """Return one variant's verdicts in all judged outcomes, those together of which the same is
    said, or which are unresolved for the same reason.
    """
    told: dict[object, list[tuple[Ranking, Standing]]] = {}
    for ranking in found:
        for each in ranking.standings:
            if each.label == label:
                known = _told(results, ranking, each)
                told.setdefault(known or _reason(results, each), []).append((ranking, each))
    parts = [
        _same(words, group) if isinstance(words, str) else _unresolved(results, group)
        for words, group in told.items()
    ]
    return f"{label} against {results.baseline_of(label)}: {'; '.join(parts)}."


def _same(words: str, group: Sequence[tuple[Ranking, Standing]]) -> str:
    """Return words that follow the names of one or more outcomes, behind these."""
    names = listed([in_sentence(ranking.title) for ranking, _ in group])
    return f"{names} {words if len(group) == 1 else re.sub('^is ', 'are ', words)}"


def _unresolved(results: Results, group: Sequence[tuple[Ranking, Standing]]) -> str:
    """Return between which ends some effects are, and once why they are unresolved and how long it
    would take to tell.
    """
    why, _ = _reason(results, group[0][1])
    more = sorted(each.more_blocks for _, each in group if each.more_blocks)
    spans = dict.fromkeys(span(each * results.block_s) for each in (more[:1] + more[-1:]))
    rest = f", but {why}" if why else ""
    if more and results.block_s:
        rest += f"; about {' to '.join(spans)} more would decide"
    ends = [_between(ranking, each) for ranking, each in group]
    if len({*ends}) == 1:
        return _same(f"is unresolved: {ends[0]}{rest}", group)
    names = [
        f"{in_sentence(ranking.title)} ({each})"
        for (ranking, _), each in zip(group, ends, strict=True)
    ]
    return f"{listed(names)} are unresolved{rest}"


def _reason(results: Results, own: Standing) -> tuple[str, str]:
    """Return why an effect with an interval is unresolved, nothing if that contains 0; and what
    else outcomes of one reason must share to be told together.
    """
    assert own.interval is not None
    why = own.why if own.interval[0] > 0 or own.interval[1] < 0 else ""
    time = span(own.more_blocks * results.block_s) if own.more_blocks and results.block_s else ""
    if why:
        return why, "decides" if time else ""
    # Without a reason and a time nothing long is said twice.
    return why, time or repr(own.interval)


def _told(results: Results, ranking: Ranking, own: Standing) -> str | None:
    """Return the verdict in words that follow the outcome's name; None if it is unresolved and
    has an interval.
    """
    if own.verdict in DIFFERENT:
        return f"is {_difference(ranking, own)}"
    if own.verdict == "equivalent":
        return f"is equivalent, within ±{results.margin_pct:g} %"
    if ruled := _ruled(results, ranking, own):
        return ruled
    if own.interval:
        return None
    words = f"is unresolved: {_between(ranking, own)}"
    if own.more_blocks and results.block_s:
        # Without an interval nobody knows how wide it will be.
        more = f"{span(own.more_blocks * results.block_s)} more"
        words += f"; to show a difference takes {more} at least"
    return words


def _ruled(results: Results, ranking: Ranking, own: Standing) -> str | None:
    """Return on which side of a gate's limit an effect is that has no verdict; None if that is not
    known, or if there is no limit.
    """
    limit = results.limits.get(ranking.name)
    if limit is None or own.interval is None:
        return None
    least, most = worse_by(own.interval, ranking.better)
    if least > limit:
        return f"is {_difference(ranking, own)}, beyond the limit of {limit:g} %"
    if most < limit:
        return f"is within the limit of {limit:g} %: {_between(ranking, own)}"
    return None


def _difference(ranking: Ranking, own: Standing) -> str:
    """`2.1 % [1.6, 2.6] higher`, `2.4 times [2.3, 2.5] as high`, `a factor of 3.4 [2.9, 3.9] lower`
    or `4.7 ns [4.5, 5.0] more`.
    """
    assert own.interval is not None
    sign, (low, high) = (1 if own.value > 0 else -1), own.interval
    bounds = (low, high) if sign > 0 else (-high, -low)
    if ranking.is_slope:
        value, _, shown = figure(sign * own.value, bounds).partition(" [")
        return f"{value} {ranking.unit} [{shown} {'more' if sign > 0 else 'less'}"
    match form(own.value, own.interval):
        case "times":
            return f"{relative(own.value, own.interval)} as high"
        case "lower":
            return relative(own.value, own.interval)
    # Without their signs, far below 0, these would be told as factors.
    told = _percent(own.value, own.interval)
    value, *both = (each.lstrip("+-") for each in (told.partition(" [")[0], *ends(told)))
    first, last = both if sign > 0 else reversed(both)
    return f"{value} [{first}, {last}] {'higher' if sign > 0 else 'lower'}"


def _percent(value: float, interval: Interval) -> str:
    """Return a change with its interval as `relative` does, also where its digits show none."""
    told = relative(value, interval)
    return told if "[" in told else figure(value, interval).replace(" [", " % [")


def _between(ranking: Ranking, own: Standing) -> str:
    if own.interval is None:
        return own.why or "there is no interval"
    if ranking.is_slope:
        low, high = ends(figure(own.value, own.interval))
        return f"between {low} {ranking.unit} and {high} {ranking.unit}"
    low, high = ends(_percent(own.value, own.interval))
    match form(own.value, own.interval):
        case "times":
            return f"between {low} and {high} times as high"
        case "lower":
            return f"lower by a factor between {low} and {high}"
    return f"between {low} % and {high} %"


def _lost(results: Results, scenario: ScenarioResult) -> str | None:
    """Return the variants that failed or were refused whenever they were tried; a requirement that
    is not met is none.
    """
    if not results.complete:
        return None
    lost = {
        name: variant.trials_invalid + variant.trials_failed
        for name, variant in scenario.variants.items()
        if variant.status in ("failed", "invalid") and name != CONTROL and not variant.outcomes
    }
    tried = [name for name in lost if lost[name]]
    told = [f"Not measured: {listed(tried)}."] if tried else []
    untried: dict[str, list[str]] = {}
    for name in lost:
        if not lost[name]:
            untried.setdefault(_never(results, scenario, name), []).append(name)
    told += [f"Not measured, since {why}: {listed(own)}." for why, own in untried.items()]
    return " ".join(told) or None


def _never(results: Results, scenario: ScenarioResult, name: str) -> str:
    """Return why no trial of a variant was made."""
    for baseline in (results.baseline_of(name), results.baseline):
        if scenario.variants[name].reason == baseline_failed(baseline):
            return f"{baseline} failed"
    return "the run ended before"


def _unjudged(results: Results, scenario: ScenarioResult) -> str:
    """Return what there is instead of verdicts."""
    if any(variant.outcomes for variant in scenario.variants.values()):
        return "Nothing was judged: the figures stand in the tables."
    return "Nothing was measured." if results.complete else "Nothing was measured yet."


def _failed(scenario: ScenarioResult) -> list[str]:
    """Return a sentence of each variant that failed in some trials and was measured in others."""
    return [
        f"{name} failed in {counted(variant.trials_failed, 'trial')}, which did not count."
        for name, variant in scenario.variants.items()
        if variant.status == "failed" and name != CONTROL and variant.outcomes
    ]


def _names(standings: Sequence[Standing], word: str = "and") -> str:
    if len(standings) > _NAMED:
        return f"{len(standings)} variants"
    return listed([each.label for each in standings], word)


def in_sentence(title: str) -> str:
    """Return a title as it stands within a sentence; an abbreviation such as CPU stays."""
    return title[0].lower() + title[1:] if title[1:2].islower() else title
