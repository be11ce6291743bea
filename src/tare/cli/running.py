"""What `tare run` and `tare resume` share: carry a plan out, then report."""

from pathlib import Path

import click

from tare.cli.output import console, print_json, say
from tare.cli.progress import Follower
from tare.lab import catalog, planning
from tare.lab.errors import Interrupted
from tare.lab.preparation import prepare
from tare.lab.run import Run
from tare.lab.store import Store
from tare.model.results import Results
from tare.report import folder as run_folder
from tare.report import html, results, table


def go_on(store: Store, *, as_json: bool) -> bool:
    """Carry out what the stored plan still lacks, and report. False when anything failed."""
    plan = store.plan()
    loaded = catalog.load(plan.experiment)
    prepared = prepare(loaded, plan.variants, say)
    low, high = planning.estimate_s(plan, loaded)
    span = _minutes(low) if high == low else f"{_minutes(low)} to {_minutes(high)}"
    say(
        f"run {plan.run}: {len(plan.variants)} variants, {len(plan.scenarios)} scenarios, "
        f"seed {plan.seed}, about {span}"
    )
    try:
        with Follower(plan) as follower:
            Run(loaded, plan, store, prepared, follower).execute()
    except Interrupted:
        report(store.folder, as_json=as_json)
        say(f"nothing measured is lost; go on with: tare resume {plan.run}")
        raise
    found = report(store.folder, as_json=as_json)
    say(f"report: {store.folder / 'report.html'}")
    return not any(
        variant.status in ("failed", "invalid")
        for scenario in found.scenarios
        for variant in scenario.variants.values()
    )


def report(folder: Path, *, as_json: bool) -> Results:
    """Write results.json and report.html from the folder, and print the table."""
    read = run_folder.read(folder)
    found = results.make(read)
    (folder / "results.json").write_text(found.model_dump_json(indent=1) + "\n")
    (folder / "report.html").write_text(html.render(read, found))
    if as_json:
        print_json(found)
    else:
        click.echo()
        table.show(found, console())
    return found


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"
