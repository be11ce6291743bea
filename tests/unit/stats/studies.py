"""Simulated studies: what a run would measure on a machine whose truth is known."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tare.stats.effect import Effect, paired_effect
from tare.stats.floats import Floats
from tare.stats.floor import NoiseFloor, noise_floor
from tare.stats.plan_order import CONTROL, block_order
from tare.stats.stopping import Stop, StoppingRule
from tare.stats.verdict import Comparison, Direction, Judgement, Verdict, judge_family

VARIANTS = ("baseline", "one", "two", "three")
OUTCOMES = {"latency": Direction.LOWER, "rate": Direction.HIGHER}
DIFFERENCES = (Verdict.COSTS, Verdict.SAVES)


@dataclass(frozen=True)
class Machine:
    """How a simulated machine behaves. `noise` is the standard deviation of a trial's logarithm,
    `drift` that of the step of the random walk between one trial and the next."""

    noise: float = 0.015
    drift: float = 0.0

    def run(self, rng: np.random.Generator, order: Sequence[Sequence[str]]) -> dict[str, Floats]:
        """The values of every planned: shape (blocks, outcomes), measured in the order given."""
        trials = [name for block in order for name in block]
        shape = (len(trials), len(OUTCOMES))
        log = self.noise * rng.standard_normal(shape)
        log += np.cumsum(self.drift * rng.standard_normal(shape), axis=0)
        names = np.array(trials)
        return {name: 100 * np.exp(log[names == name]) for name in set(trials)}


@dataclass(frozen=True)
class Study:
    """What came of one study."""

    blocks: int
    effects: list[Effect]
    judgements: list[Judgement]
    floors: list[NoiseFloor]

    @property
    def any_difference(self) -> bool:
        return any(judgement.verdict in DIFFERENCES for judgement in self.judgements)


def blocked(seed: int, blocks: int) -> list[tuple[str, ...]]:
    return [block_order(VARIANTS, seed, block) for block in range(blocks)]


def one_after_another(blocks: int) -> list[tuple[str, ...]]:
    return [(name,) * blocks for name in (*VARIANTS, CONTROL)]


def study(values: dict[str, Floats], rule: StoppingRule, effect: float = 0.0) -> Study:
    """The whole procedure over `values`, with variant "one" changed by the log ratio `effect`."""
    values = {**values, "one": values["one"] * np.exp(effect)}
    compared = [(variant, i) for variant in VARIANTS[1:] for i in range(len(OUTCOMES))]

    def effect_after(n: int, variant: str, outcome: int) -> Effect:
        pairs = values[variant][:n, outcome], values["baseline"][:n, outcome]
        return paired_effect(pairs[0].tolist(), pairs[1].tolist())

    n = rule.min_blocks
    # One comparison that is not narrow decides, so the others need not be computed.
    while any(rule.decide([effect_after(n, *pair)], n) is Stop.GO_ON for pair in compared):
        n += 1
    effects = [effect_after(n, *pair) for pair in compared]
    floors = [
        noise_floor(values[CONTROL][:n, i].tolist(), values["baseline"][:n, i].tolist())
        for i in range(len(OUTCOMES))
    ]
    names = list(OUTCOMES)
    comparisons = [
        Comparison(variant, names[i], OUTCOMES[names[i]], found, floors[i])
        for (variant, i), found in zip(compared, effects, strict=True)
    ]
    return Study(n, effects, judge_family(comparisons), floors)
