"""Every analysis by its kind."""

from collections.abc import Callable, Mapping
from typing import Any

from tare.lab.trial.analysis.capacity import Capacity
from tare.lab.trial.analysis.compare import Compare
from tare.lab.trial.analysis.protocol import Analysis
from tare.lab.trial.analysis.slope import Slope
from tare.model import analysis
from tare.model.scenario import among

ANALYSES: Mapping[str, Callable[[Any], Analysis]] = {
    "compare": Compare,
    "capacity": Capacity,
    "slope": Slope,
}
"""Kind → what makes such an analysis of its settings (`tare.model.analysis`)."""


def chosen(settings: analysis.Analysis, levels: Mapping[str, str]) -> Analysis:
    """Return the analysis of a scenario: the first whose levels it has, else to compare."""
    asked: list[analysis.Capacity | analysis.Slope] = [*settings.slope]
    if settings.capacity is not None:
        asked.insert(0, settings.capacity)
    found = next((each for each in asked if among(each.only, levels)), None)
    return of(analysis.Compare() if found is None else found)


def of(settings: analysis.Compare | analysis.Capacity | analysis.Slope) -> Analysis:
    """Return the analysis with these settings."""
    return ANALYSES[settings.kind](settings)
