"""Made-up runs whose truth is known."""

import zlib
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.model.trial import Plan, Trial
from tare.stats.blocks import planned_trials

CPU = Outcome(title="CPU", unit="µs", better="lower", value="role.sut.cpu_us")
RATE = Outcome(title="Rate", unit="1/s", better="higher", value="instrument.rate")


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "run": "20260101T000000Z-exp",
        "experiment": "exp",
        "study": "main",
        "title": "T",
        "question": "Q?",
        "tare": "0",
        "created": "now",
        "seed": 5,
        "baseline": "none",
        "variants": ["none", "dear"],
        "scenarios": [Scenario(name="default")],
        "overrides": {},
        "outcomes": {"cpu": CPU, "rate": RATE},
        "margin_pct": 2.0,
        "blocks": Blocks(min=8, max=8),
        "quick": False,
    }
    fields |= changes
    judged = [name for name in fields["outcomes"] if name in ("cpu", "ns")]
    shown = [name for name in fields["outcomes"] if name not in judged]
    return Plan.model_validate({"judged": judged, "awaited": judged, "shown": shown} | fields)


def noise(block: int, label: str) -> float:
    """A little disorder, the same each time."""
    return 1 + 0.002 * (zlib.crc32(f"{block} {label}".encode()) % 5 - 2)


def trials(made: Plan, blocks: int, factors: dict[str, float]) -> list[Trial]:
    """Valid trials in which each label costs its factor (1 if not named) times the baseline."""
    found = []
    for block in range(blocks):
        for planned in planned_trials(made, block):
            cost = (
                10
                * (1 + block / 10)
                * factors.get(planned.label, 1.0)
                * noise(block, planned.label)
            )
            fields = planned.model_dump() | {
                "attempt": 1,
                "status": "valid",
                "started": "now",
                "wall_s": 2.0,
                "measured_s": 1.5,
                "version": "1.2",
                "outcomes": {"cpu": cost, "rate": 1000 / cost},
            }
            found.append(Trial.model_validate(fields))
    return found


NS = Outcome(
    title="CPU of a call",
    unit="ns",
    better="lower",
    value="analysis.slope",
    times=1000,
)
DOSES = (1, 16, 64)


def dosed(made: Plan, blocks: int, costs: dict[str, float]) -> list[Trial]:
    """Valid trials in which each call costs each label so many µs, the outcomes cpu and ns."""
    found = []
    for block in range(blocks):
        for planned in planned_trials(made, block):
            cost = costs.get(planned.label, 0.0) * noise(block, planned.label)
            cost += 0.001 * (noise(block, f"{planned.label} too") - 1)
            windows = [
                {"round": number, "dose": dose, "response": 12 + number + cost * dose, "spoilt": []}
                for number in range(2)
                for dose in DOSES
            ]
            sloped = {"parameter": "dose", "outcome": "cpu", "windows": windows}
            fields = planned.model_dump() | {
                "attempt": 1,
                "status": "valid",
                "started": "now",
                "wall_s": 2.0,
                "outcomes": {"ns": cost * 1000},
                "instrument": {"slope": sloped},
            }
            found.append(Trial.model_validate(fields))
    return found


def altered(trial: Trial, **changes: Any) -> Trial:
    return Trial.model_validate(trial.model_dump() | changes)


def write(
    folder: Path,
    made: Plan,
    done: list[Trial],
    environment: str | None = '{"cpu": "a CPU", "kernel": "6", "versions": {"none": "1.2"}}',
) -> Path:
    """The folder of a run, with a histogram for each valid trial."""
    (folder / "histograms").mkdir(parents=True)
    (folder / "plan.json").write_text(made.model_dump_json())
    (folder / "trials.jsonl").write_text("".join(t.model_dump_json() + "\n" for t in done))
    if environment is not None:
        (folder / "environment.json").write_text(environment)
    histogram = HdrHistogram(1, 10**9, 3)
    for value in range(1000, 101_000, 1000):
        histogram.record_value(value)
    encoded = histogram.encode().decode()
    for trial in done:
        if trial.status == "valid":
            file = folder / "histograms" / f"{trial.id}.json"
            file.write_text(f'{{"latency": "{encoded}"}}')
    return folder
