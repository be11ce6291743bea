"""The history of effects in sentences."""

from collections.abc import Iterator

from tare.model.history import Change, History, Point, Series
from tare.report.numbers import figure, relative


def sentences(history: History) -> Iterator[str]:
    """Yield the answer: each change point, or that there is none, or that there cannot be one."""
    longest = max((_counted(series) for series in history.series), default=0)
    if longest < history.fewest:
        yield (
            f"Too few runs to tell whether an effect changed: it takes {history.fewest} that are "
            f"finished and ask the same question; the longest series here has {longest}."
        )
        return
    tested = sum(_counted(series) >= history.fewest for series in history.series)
    changes = [(series, change) for series in history.series for change in series.changes]
    if not changes:
        effects = "effect" if tested == 1 else "effects"
        yield f"No change was found in {tested} {effects} over up to {longest} runs."
    for series, change in changes:
        yield _changed(series, change)


def heading(series: Series) -> str:
    """Return what a series is of: the scenario where a study has several, variant and outcome."""
    where = f"{series.scenario_title}: " if series.scenario_title else ""
    return f"{where}{series.variant} against {series.against}, {series.title}"


def _changed(series: Series, change: Change) -> str:
    before, after = (
        relative(level.median, (level.low, level.high))
        if series.unit == "%"
        else f"{figure(level.median, (level.low, level.high))} {series.unit}"
        for level in (change.before, change.after)
    )
    also = f" Also not the same since then: {'; '.join(change.differences)}."
    return (
        f"{series.study}, {heading(series)}: {change.trend} since {change.run}, from {before} to "
        f"{after} (median and range of {change.before.runs} runs, then of {change.after.runs}; "
        f"p = {change.p:.2g}).{also * bool(change.differences)}"
    )


def remark(series: Series, point: Point) -> str:
    """Return what there is to say of one run: a change point, why it was left out, what is new."""
    said = [
        *(f"{change.trend} since this run" for change in series.changes if change.run == point.run),
        *([f"left out: {point.left_out}"] if point.left_out else []),
        *point.differences,
    ]
    return "; ".join(said)


def shown(series: Series, point: Point) -> str:
    """Return one run's effect with its interval."""
    if series.unit == "%":
        return relative(point.value, point.ci)
    return f"{figure(point.value, point.ci)} {series.unit}"


def _counted(series: Series) -> int:
    return sum(point.left_out is None for point in series.points)
