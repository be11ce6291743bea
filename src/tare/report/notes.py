"""The footnotes that a reader needs for the tables of a run."""

from tare.model.results import Results
from tare.report import benches, overview, pairs, slopes, starts
from tare.report.titles import common, label_title, other_baselines, titles


def notes(results: Results) -> list[str]:
    """Return the footnotes, each a sentence or a few."""
    named = titles(results)
    lines = [
        *filter(None, [common(results)]),
        f"Effects are relative to {results.baseline}, paired within blocks, with 95 % intervals. "
        f"equivalent: the interval lies within ±{results.margin_pct:g} %.",
        *other_baselines(results),
        f"Measuring took {100 * results.measured_share:.0f} % of the trials' wall time.",
    ]
    lines += [*benches.lines(results), *starts.lines(results)]
    for scenario in results.scenarios:
        found = {
            name: item.trials_invalid
            for name, item in scenario.variants.items()
            if item.trials_invalid
        }
        if found:
            told = ", ".join(f"{label_title(results, name)} {n}" for name, n in found.items())
            where = f" in {named[scenario.name]}" if len(results.scenarios) > 1 else ""
            lines.append(f"Trials that did not count, by no failure of their own{where}: {told}.")
    if results.overview:
        lines.append(overview.NOTE)
    if any(scenario.pairs for scenario in results.scenarios):
        lines.append(pairs.NOTE)
    if any(scenario.slopes for scenario in results.scenarios):
        lines.append(slopes.NOTE)
    return lines + [f"Remark: {remark}." for remark in results.environment.get("remarks", [])]
