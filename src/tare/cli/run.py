"""`tare run`: measure an experiment's variants and say what differs."""

import os
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click

from tare.cli.benches_option import benches_option, check
from tare.cli.completion import targets
from tare.cli.completion import variants as complete_variants
from tare.cli.hosts_option import hosts_option
from tare.cli.hosts_option import read as read_hosts
from tare.cli.looks import tail_option, why_option
from tare.cli.output import json_option, say
from tare.cli.ranges import Amount, Count
from tare.cli.span import span_option
from tare.cli.stored_runs import LAST, by_age, warn_of_folder
from tare.cli.variants_dir import variants_dir_option
from tare.lab import paths
from tare.lab.errors import Interrupted, UnknownName
from tare.model.fields import close_match
from tare.model.study import Pairing
from tare.model.trial import Until


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument(
    "target", metavar="[EXPERIMENT[/STUDY]]", required=False, shell_complete=targets(studies=True)
)
@click.argument("parameters", nargs=-1, type=click.UNPROCESSED, metavar="[--PARAMETER VALUE]...")
@click.option("--quick", is_flag=True, help="A short run: fewer and shorter trials.")
@click.option(
    "--variants",
    metavar="A,B",
    shell_complete=complete_variants,
    help="Measure only these and the baseline.",
)
@click.option(
    "--baseline",
    metavar="VARIANT",
    shell_complete=complete_variants,
    help="Compare with this variant.",
)
@variants_dir_option
@click.option(
    "--scenarios",
    multiple=True,
    metavar="F=L[|L][,…]",
    help="Measure only these levels, or `all` sensible combinations; repeatable.",
)
@click.option("--blocks", type=Count(1), help="Make exactly this many blocks.")
@click.option(
    "--pairing",
    type=click.Choice(["trials", "slices"]),
    help="Trials one after the other, or slices (duels), instead of what the study says.",
)
@click.option(
    "--until",
    type=click.Choice(["narrow", "resolved"]),
    default="narrow",
    help="Go on until intervals are narrow, or until every verdict is there (by a test that stays "
    "valid although it looks after every block).",
)
@click.option(
    "--resolve",
    "resolve_pct",
    type=Amount(),
    metavar="PERCENT",
    help="Go on until every awaited interval has at most this half-width, instead of the study's.",
)
@span_option(
    "--within", "within_s", None, "The most time for --resolve or --until resolved, such as 90s."
)
@click.option("--duration", type=Amount(), metavar="S", help="Seconds measured in a trial.")
@click.option("--connections", type=Count(1), help="Connections of the load.")
@click.option("--threads", type=Count(1), help="Threads of the load generator, each on a CPU.")
@click.option("--rate", type=Amount(), help="Requests per second of the open loop.")
@click.option("-p", "--param", multiple=True, metavar="NAME=VALUE", help="Any other parameter.")
@why_option
@tail_option
@benches_option
@hosts_option
@click.option("--seed", type=int, help="Seed of order, ports, layout and arrivals.")
@click.option(
    "--dry-run", is_flag=True, help="Say what would be measured and how long; stop there."
)
@json_option
def command(
    target: str | None,
    parameters: tuple[str, ...],
    quick: bool,
    variants: str | None,
    baseline: str | None,
    variants_dir: Path | None,
    scenarios: tuple[str, ...],
    blocks: int | None,
    pairing: Pairing | None,
    until: Until,
    resolve_pct: float | None,
    within_s: float | None,
    duration: float | None,
    connections: int | None,
    threads: int | None,
    rate: float | None,
    param: tuple[str, ...],
    why: bool,
    tail: bool,
    benches: Path | None,
    hosts: Path | None,
    seed: int | None,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Measure the variants of EXPERIMENT against their baseline, study by study.

    Without STUDY, measure the experiment's default studies (tare list names them). Without
    EXPERIMENT, take a quick look at every experiment, six minutes in all.

    Every parameter of a study is an option, too; it reaches the studies that declare it. Every
    part of the variants is an option that puts your own file in its place. Then, without
    --variants, only the variants with this part and the baseline are measured.

    BENCHMARK_OUT=FILE in the environment writes the results in Google Benchmark's format, too.

    \b
    tare run
    tare run filters --quick
    tare run filters/requests --scenarios all --dry-run
    tare run filters --blocks 20 --seed 7
    tare run filters/requests --variants njs --until resolved --within 5m
    tare run filters/requests --variants njs --resolve 0.5 --within 20m
    tare run filters/steady --variants c-module --rate 10000
    tare run filters/requests --duration 10 --connections 100 -p url_path=/aaaa
    tare run filters/requests --variants njs --why
    tare run calibration/cpu --scenarios added=20pct --tail
    tare run echo --connections 20 --size 128
    tare run filters/requests --library example-filter.so
    tare run proxies --variants nginx,mine --baseline nginx --variants-dir DIR
    tare run proxies --benches FILE
    tare run proxies --hosts FILE
    """
    from tare.cli import benchmark_out, own
    from tare.cli.planned import in_all, show_plan
    from tare.cli.reach import reach, studies
    from tare.cli.running import go_on
    from tare.lab.project import environment
    from tare.lab.run import checking, planning
    from tare.lab.run.hosts import spread
    from tare.lab.run.store import Store

    if within_s is not None and until != "resolved" and resolve_pct is None:
        raise click.UsageError("--within: expected --resolve or --until resolved beside it")
    if resolve_pct is not None and (until == "resolved" or blocks is not None):
        raise click.UsageError("--resolve: expected neither --until resolved nor --blocks with it")
    out = benchmark_out.target()
    named = {
        "duration_s": duration,
        "connections": connections,
        "threads": threads,
        "rate": rate,
    }
    overrides: dict[str, Any] = {key: item for key, item in named.items() if item is not None}
    overrides |= dict(pair(text) for text in param) | named_parameters(target, parameters)
    spread_over = read_hosts(hosts, benches)
    short = quick or target is None
    chosen = variants.split(",") if variants else None
    found = studies(target, quick=short, outside=variants_dir)
    if target is not None:
        for remark in environment.ignored(found[0], os.environ):
            say(remark)
    if baseline is not None:
        found = [each.compared_with(baseline) for each in found]
    files, overrides = own.split(found, overrides)
    if files:
        found, remarks = own.exchanged(found, files, chosen)
        for remark in remarks:
            say(remark)
    reached = reach(found, list(scenarios), overrides)
    for remark in reached.remarks:
        say(remark)
    plans = [
        planning.make(
            each.loaded,
            quick=short,
            variants=chosen or own.taking(each.loaded) or None,
            scenarios=each.scenarios,
            blocks=blocks,
            seed=seed,
            overrides=each.overrides,
            pairing=pairing,
            until=until,
            resolve_pct=resolve_pct,
            within_s=within_s,
            why=why,
            tail=tail,
        )
        for each in reached.requests
    ]
    if spread_over is not None:
        for plan, each in zip(plans, reached.requests, strict=True):
            spread.refuse(spread_over, plan, each.loaded)
    if dry_run:
        show_plan(plans, as_json=as_json)
        return
    for plan, each in zip(plans, reached.requests, strict=True):
        if benches is not None:
            check(benches, plan)
        if plan.parts:
            say(f"{each.loaded.title}: trying your own files before anything is timed")
            checking.refuse(plan, each.loaded, say)
    if len(plans) > 1:
        say(in_all(plans))
    stores, done = [], []
    for number, plan in enumerate(plans):
        stores.append(Store.create(paths.runs(), plan))
        if spread_over is not None:
            stores[-1].keep_hosts(spread_over)
        try:
            done.append(go_on(stores[-1], as_json=as_json, benches=benches))
        except Interrupted:
            for later in plans[number + 1 :]:
                say(f"not begun: {later.experiment}/{later.study}")
            raise
    benchmark_out.write(out, [store.folder for store in stores])
    sys.exit(0 if all(done) else 1)


def pair(text: str) -> tuple[str, str]:
    """`NAME=VALUE` in two. Raises click.BadParameter."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter(f"{text!r}: expected NAME=VALUE", param_hint="--param")
    return name, value


def named_parameters(target: str | None, words: tuple[str, ...]) -> dict[str, str]:
    """`--name value` or `--name=value` for parameters that only a study knows.

    Raises click.UsageError for anything else.
    """
    if target is not None and target.startswith("-"):
        options = [
            name for each in click.get_current_context().command.params for name in each.opts
        ]
        raise click.NoSuchOption(target, possibilities=get_close_matches(target, options))
    found, rest = {}, list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or not name:
            raise click.UsageError(f"found {word!r}, expected --PARAMETER VALUE")
        if not equals:
            if not rest:
                raise click.UsageError(f"{word}: expected a value after it")
            value = rest.pop(0)
        found[name.replace("-", "_")] = value
    return found


def folder_of(run: str) -> Path:
    """A run's folder, by its path or by its name; `last` is the newest, also where a folder has
    that name. Raises UnknownName.
    """
    if run != LAST and Path(run).is_dir():
        return Path(run)
    stored = by_age()
    known = [folder.name for folder in stored]
    if run == LAST and stored:
        warn_of_folder(stored[-1].name)
        return stored[-1]
    if run != LAST and (paths.runs() / run).is_dir():
        return paths.runs() / run
    if Path(run).is_file():
        raise UnknownName(f"{run} is a file; expected the folder of a run: {Path(run).parent}")
    if "/" in run:
        raise UnknownName(f"there is no folder {run}; tare history lists the stored runs")
    if not known:
        beside = f"; the folder of that name is ./{run}" if Path(run).is_dir() else ""
        raise UnknownName(
            f"there is no run {run!r}: {paths.runs()} has none yet{beside}; "
            "make one with: tare run EXPERIMENT"
        )
    raise UnknownName(
        f"there is no run {run!r} in {paths.runs()}{close_match(run, [LAST, *known])}; "
        f"the newest is {known[-1]}, and tare history lists those with results"
    )
