"""Plans and trials of two variants whose truth is known."""

from typing import Any

from tare.model.outcome import Outcome
from tare.model.scenario import Scenario
from tare.model.study import Blocks
from tare.model.trial import Plan, Trial
from tare.stats.blocks import planned_trials

CLOSED = Scenario(name="loop=closed", levels={"loop": "closed"})
OPEN = Scenario(name="loop=open", levels={"loop": "open"})


def outcome(**changes: Any) -> Outcome:
    fields = {"title": "t", "unit": "u", "better": "lower", "value": "instrument.v"}
    return Outcome.model_validate(fields | changes)


def plan(**changes: Any) -> Plan:
    fields: dict[str, Any] = {
        "run": "r",
        "experiment": "e",
        "study": "s",
        "title": "t",
        "question": "q",
        "tare": "0",
        "created": "now",
        "seed": 1,
        "baseline": "none",
        "variants": ["none", "one", "two"],
        "scenarios": [CLOSED, OPEN],
        "overrides": {},
        "outcomes": {"cpu": outcome(), "rate": outcome(), "tail": outcome()},
        "judged": ["cpu", "rate"],
        "awaited": ["cpu"],
        "shown": ["tail"],
        "margin_pct": 2.0,
        "blocks": Blocks(min=6, max=20),
        "quick": False,
    }
    return Plan.model_validate(fields | changes)


def trials(made: Plan, blocks: int, **factors: float) -> list[Trial]:
    found = []
    for block in range(blocks):
        for planned in planned_trials(made, block):
            value = (
                10
                * factors.get(planned.label, 1.0)
                * (1 + 0.001 * ((block + len(planned.label)) % 3))
            )
            head = planned.model_dump() | {"attempt": 1, "started": "now", "wall_s": 1}
            body = {"status": "valid", "outcomes": {"cpu": value, "rate": value}}
            found.append(Trial.model_validate(head | body))
    return found


def with_status(trial: Trial, status: str) -> Trial:
    return Trial.model_validate(trial.model_dump() | {"status": status})
