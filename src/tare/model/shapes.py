"""Shapes of the free parts of records: what reports read of them, and anything beside it."""

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict

from tare.model.instrument import StandardErrors


class Loose(BaseModel):
    """A part of a record of which other fields may be anything."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class DoseWindow(Loose):
    """One window of a dose-response trial."""

    round: int
    dose: float
    response: float | None
    spoilt: list[str]


class Doses(Loose):
    """The note of the analysis `slope`."""

    parameter: str
    outcome: str
    windows: list[DoseWindow]


class SearchWindow(Loose):
    """One window of a search for a capacity."""

    rate: float
    value: float | None
    spoilt: list[str]


class Search(Loose):
    """The note of the analysis `capacity`."""

    limit: float
    rate: float | None
    windows: list[SearchWindow]


class Turns(Loose):
    """The slices of a duel."""

    standard_errors: StandardErrors | None = None


class InstrumentNote(Loose):
    """The part of a trial's `instrument` that reports read."""

    outcomes: dict[str, float | None] = {}
    slope: Doses | None = None
    capacity: Search | None = None
    slices: Turns | None = None


class Revision(Loose):
    """The commit of the project."""

    commit: str | None
    dirty: bool | None


class Finding(Loose):
    """A setting of the machine."""

    name: str
    value: str
    wanted: str
    status: str
    why: str


class PartNote(Loose):
    """A file of the user's own in the place of a part."""

    file: str
    variants: list[str]


class EnvironmentNote(Loose):
    """The part of environment.json that reports read."""

    cpu: str | None = None
    cpu_count: int | None = None
    kernel: str | None = None
    distribution: str | None = None
    kernel_command_line: str | None = None
    fingerprint: str | None = None
    versions: dict[str, str | None] | None = None
    components: dict[str, str | None] | None = None
    titles: dict[str, str] | None = None
    remarks: list[str] = []
    parts: dict[str, PartNote] = {}
    files: dict[str, dict[str, str]] = {}
    differences: dict[str, dict[str, dict[str, dict[str, Any]]]] = {}
    audit: list[Finding] | None = None
    revision: Revision | None = None


def _instrument(found: dict[str, Any]) -> dict[str, Any]:
    InstrumentNote.model_validate(found)
    return found


def _environment(found: dict[str, Any]) -> dict[str, Any]:
    EnvironmentNote.model_validate(found)
    return found


Instrument = Annotated[dict[str, Any], AfterValidator(_instrument)]
"""An instrument's result, as it is, of which reports can read what they need."""
Environment = Annotated[dict[str, Any], AfterValidator(_environment)]
"""A machine and what was measured on it, likewise."""
