"""Every analysis by its kind."""

from collections.abc import Callable, Mapping
from typing import Any

from tare.lab.trial.analysis.capacity import Capacity
from tare.lab.trial.analysis.compare import Compare
from tare.lab.trial.analysis.protocol import Analysis
from tare.lab.trial.analysis.slope import Slope
from tare.model import analysis

ANALYSES: Mapping[str, Callable[[Any], Analysis]] = {
    "compare": Compare,
    "capacity": Capacity,
    "slope": Slope,
}
"""Kind → what makes such an analysis of its settings (`tare.model.analysis`)."""


def of(settings: analysis.Analysis) -> Analysis:
    """Return the analysis with these settings."""
    return ANALYSES[settings.kind](settings)
