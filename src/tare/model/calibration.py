"""The calibration of a machine: what it resolves, and how a known difference was seen."""

from tare.model.base import Record
from tare.model.study import Pairing


class Machine(Record):
    """The machine that was calibrated. Another one has to be calibrated itself."""

    cpu: str
    cpu_count: int
    kernel: str


class Resolution(Record):
    """The spread of one outcome, by one way of pairing."""

    outcome: str
    title: str
    pairing: Pairing
    spread: float
    """Standard deviation of the log ratios of pairs."""
    pairs: int
    """Pairs of both the control and the variant that it is estimated from."""
    block_s: float
    """Seconds of a block: the variant's pair and the control's, with all that fails."""
    duration_s: float
    """Seconds measured of a trial or duel."""


class Known(Record):
    """The effect of a server whose extra cost is known."""

    outcome: str
    truth_pct: float
    effect_pct: float
    ci_pct: tuple[float, float] | None


class Calibration(Record):
    """The findings of `tare calibrate`."""

    schema_version: int = 1
    created: str
    tare: str
    machine: Machine
    resolutions: list[Resolution]
    known: Known
    runs: list[str]
    """The runs that it was made from."""
    remarks: list[str] = []
    """Ways of pairing by which nothing was found, and why."""
    advice: list[str] = []
    """Settings that disturb, each with its value and a better one."""
