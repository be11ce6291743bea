"""The order of a block: all variants once, the baseline twice, shuffled by the plan's seed."""

import random
from collections.abc import Sequence

from tare.model.trial import CONTROL as CONTROL


def block_order(variants: Sequence[str], seed: int, block: int) -> tuple[str, ...]:
    """The order in which block `block` (from 0) measures `variants` and `CONTROL`.

    It depends on the names, the seed and the block's index only, so a plan can grow or be
    resumed without changing the blocks before. `variants` holds the baseline. Raises ValueError
    for a name given twice and for a variant named `CONTROL`.
    Source: randomised complete blocks, called randomised multiple interleaved trials by Abedi &
    Brecht, ICPE'17, pp. 287-292.
    """
    labels = [*variants, CONTROL]
    for name in labels:
        if labels.count(name) > 1:
            raise ValueError(f"a block holds each variant once, found {name!r} again")
    draw = random.Random(f"{seed}/{block}")
    # Python promises the same random() for ever, but not the same shuffle().
    return tuple(sorted(labels, key=lambda _: draw.random()))
