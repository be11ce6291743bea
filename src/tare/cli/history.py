"""`tare history`: the runs that are stored, and how effects went from one to the next."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tare.cli.output import console, json_option, print_json
from tare.cli.run import folder_of
from tare.cli.stored_results import stored_results
from tare.lab.project.index import experiment_names

if TYPE_CHECKING:
    from tare.model.results import Results


@click.command()
@click.argument("of", metavar="[EXPERIMENT|RUN]", required=False)
@json_option
def command(of: str | None, as_json: bool) -> None:
    """List the stored runs, oldest first; of EXPERIMENT also each variant's effects, run by run.

    RUN is the folder of a run or of a record: it is listed with the stored runs of its study.

    \b
    tare history
    tare history filters
    tare history record/filters-price
    """
    known = list(stored_results())
    if of in experiment_names():
        known = [each for each in known if each.experiment == of]
    elif of is not None:
        known = _beside(folder_of(of), known)
    rows = [_row(each) for each in known]
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("no run is stored")
    else:
        _show(rows, effects=of is not None)


def _beside(folder: Path, known: "list[Results]") -> "list[Results]":
    """Return the run in `folder` among the known runs of its study, oldest first."""
    from tare.report.comparison import stored
    from tare.report.errors import NotARun

    try:
        own = stored(folder)
    except NotARun as error:
        raise click.ClickException(str(error)) from error
    study = (own.experiment, own.study)
    runs = {each.run: each for each in known if (each.experiment, each.study) == study}
    return [each for _, each in sorted((runs | {own.run: own}).items())]


def _row(results: "Results") -> dict[str, Any]:
    effects = [
        {
            "scenario": scenario.name,
            "variant": label,
            "outcome": name,
            "effect_pct": outcome.effect_pct,
            "ci_pct": outcome.ci_pct,
            "verdict": outcome.verdict,
        }
        for scenario in results.scenarios
        for label, variant in scenario.variants.items()
        for name, outcome in variant.outcomes.items()
        if outcome.judged and label in results.environment.get("versions", {})
    ]
    variants = [item for scenario in results.scenarios for item in scenario.variants.values()]
    return {
        "run": results.run,
        "experiment": results.experiment,
        "study": results.study,
        "complete": results.complete,
        "trials_valid": sum(item.trials_valid for item in variants),
        "fingerprint": results.environment.get("fingerprint"),
        "kernel": results.environment.get("kernel"),
        "effects": effects,
    }


def _show(rows: list[dict[str, Any]], *, effects: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from tare.report.numbers import relative

    table = Table("run", "trials", "", "made of", "kernel", box=None, padding=(0, 2, 0, 0))
    for row in rows:
        state = "finished" if row["complete"] else "not finished"
        made_of = (row["fingerprint"] or "unknown")[:8]
        table.add_row(row["run"], str(row["trials_valid"]), state, made_of, row["kernel"])
    console().print(table, highlight=False)
    if not effects:
        return
    keys = dict.fromkeys(
        (item["scenario"], item["outcome"], item["variant"])
        for row in rows
        for item in row["effects"]
    )
    for scenario, outcome, variant in keys:
        click.echo(f"\n{scenario}: {variant}, {outcome}")
        for row in rows:
            for item in row["effects"]:
                if (item["scenario"], item["outcome"], item["variant"]) == (
                    scenario,
                    outcome,
                    variant,
                ):
                    effect = relative(item["effect_pct"], item["ci_pct"])
                    click.echo(f"  {row['run']:32} {effect:34} {item['verdict']}")
    console().print(
        Text("\nEffects are against the baseline of each run; tare compare shows what changed.")
    )
