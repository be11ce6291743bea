"""`tare history`: the runs that are stored, and how effects went from one to the next."""

from typing import Any

import click

from tare.cli.output import console, json_option, print_json
from tare.lab import paths
from tare.lab.errors import UnknownName
from tare.lab.project.index import experiment_names


@click.command()
@click.argument("experiment", required=False)
@json_option
def command(experiment: str | None, as_json: bool) -> None:
    """List the stored runs, oldest first; of EXPERIMENT also each variant's effects, run by run.

    \b
    tare history
    tare history filters
    """
    if experiment is not None and experiment not in experiment_names():
        known = ", ".join(experiment_names())
        raise UnknownName(f"there is no experiment {experiment!r}; there are: {known}")
    rows = [row for row in _rows() if experiment in (None, row["experiment"])]
    if as_json:
        print_json(rows)
    elif not rows:
        click.echo("no run is stored")
    else:
        _show(rows, effects=experiment is not None)


def _rows() -> list[dict[str, Any]]:
    """One for each run that has results; those of today are as good as those of years ago."""
    from tare.report.comparison import stored
    from tare.report.folder import NotARun

    found = []
    for file in sorted(paths.runs().glob("*/results.json")):
        try:
            results = stored(file)
        except NotARun as error:
            click.echo(f"tare: {error}", err=True)
            continue
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
        found.append(
            {
                "run": results.run,
                "experiment": results.experiment,
                "complete": results.complete,
                "trials_valid": sum(item.trials_valid for item in variants),
                "fingerprint": results.environment.get("fingerprint"),
                "kernel": results.environment.get("kernel"),
                "effects": effects,
            }
        )
    return found


def _show(rows: list[dict[str, Any]], *, effects: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    from tare.report.numbers import percent

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
                    effect = percent(item["effect_pct"], item["ci_pct"])
                    click.echo(f"  {row['run']:32} {effect:34} {item['verdict']}")
    console().print(
        Text("\nEffects are against the baseline of each run; tare compare says what changed.")
    )
