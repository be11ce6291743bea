"""Plans in words: what is measured, how long that takes, and what is built before it."""

from collections.abc import Iterator, Set

from tare.cli.builds import before
from tare.cli.hanging import echo
from tare.cli.output import print_json
from tare.lab import paths
from tare.lab.project import levels, parts
from tare.lab.project.catalog import Loaded
from tare.lab.project.outstanding import Outstanding
from tare.lab.project.preparation import Prepared
from tare.lab.run import subject
from tare.lab.run.estimate import GUESS, Estimate, estimate
from tare.model.trial import Plan
from tare.report.numbers import span
from tare.stats.blocks import judged
from tare.stats.ending import earliest_verdict, shortage
from tare.stats.rounding import counted


def show_plan(plans: list[Plan], *, as_json: bool) -> None:
    """Print what would be measured, and about how long it would take."""
    loaded, expected = _estimated(plans)
    if as_json:
        print_json(
            [
                plan.model_dump(mode="json") | {"estimate": found.model_dump(mode="json")}
                for plan, found in zip(plans, expected, strict=True)
            ]
        )
        return
    for plan, each, found in zip(plans, loaded, expected, strict=True):
        echo(f"{plan.experiment}/{plan.study}: ", outlook(plan, found))
        if lack := shortage(plan):
            some = judged(plan) and plan.blocks.max >= earliest_verdict(plan)
            most = "no more than equivalent" if some else "none"
            echo("  verdicts   ", f"{most}: {lack}")
        echo("  variants   ", ", ".join(plan.variants))
        for line in parts.remarks(plan.parts):
            echo("  part       ", line)
        _show_scenarios(plan, each)
    if said := _in_all(plans, loaded, expected):
        echo("", said)


def _show_scenarios(plan: Plan, loaded: Loaded) -> None:
    """Print the scenarios, each with the variants that it lacks; those that all of them lack for
    the same reason stand before them, once.
    """
    lacks = [
        {name: why for name in plan.variants if (why := levels.unsupported(loaded, name, scenario))}
        for scenario in plan.scenarios
    ]
    everywhere = set.intersection(*(set(own.items()) for own in lacks))
    for names, why in _by_reason(everywhere, plan):
        echo("  without    ", f"{names}: {why}")
    for scenario, own in zip(plan.scenarios, lacks, strict=True):
        echo("  scenario   ", scenario.name)
        for names, why in _by_reason(own.items() - everywhere, plan):
            echo("             ", f"without {names}: {why}")


def _by_reason(lacks: Set[tuple[str, str]], plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield the variants of each reason in the plan's order, listed, and the reason."""
    found: dict[str, list[str]] = {}
    for name, why in sorted(lacks, key=lambda each: plan.variants.index(each[0])):
        found.setdefault(why, []).append(name)
    for why, names in found.items():
        yield ", ".join(names), why


def in_all(plans: list[Plan]) -> str:
    """Return in words how long several plans take together, and what is to be built for them."""
    loaded, expected = _estimated(plans)
    return _in_all(plans, loaded, expected)


def _estimated(plans: list[Plan]) -> tuple[list[Loaded], list[Estimate]]:
    loaded = [subject.planned(plan) for plan in plans]
    pairs = zip(plans, loaded, strict=True)
    return loaded, [estimate(plan, each, paths.runs(), Prepared()) for plan, each in pairs]


def _in_all(plans: list[Plan], loaded: list[Loaded], expected: list[Estimate]) -> str:
    wanted = zip(loaded, (plan.variants for plan in plans), strict=True)
    builds = Outstanding(list(wanted)).builds()
    sums = (sum(found.seconds[end] for found in expected) for end in (0, 1))
    guess = f", by {GUESS}" if any(found.overhead_of == GUESS for found in expected) else ""
    measuring = f"in all about {_range(*map(span, sums))}{guess}" if len(plans) > 1 else ""
    return "; ".join(filter(None, [measuring, before(builds) if builds else ""]))


def outlook(plan: Plan, found: Estimate) -> str:
    """Return a plan's size in words, or what is left of it."""
    counts, spans = map(str, found.trials), map(span, found.seconds)
    trials = "trial" if found.trials[1] == 1 else "trials"
    made = f"{counted(found.made, 'trial')} made, " if found.made else ""
    return (
        f"{counted(len(plan.variants), 'variant')}, {counted(len(plan.scenarios), 'scenario')}, "
        f"{made}{_range(*counts)} {'more' if made else trials}, about {_range(*spans)} "
        f"({found.overhead_s:.1f} s a trial beside measuring, by {found.overhead_of})"
    )


def _range(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"
