"""The smallest difference that a time of measuring finds."""

from tare.stats.power import blocks_needed, minimum_detectable


def detectable(spread: float, block_s: float, seconds: float) -> float | None:
    """Return the log ratio that is found with probability 0.8 in so many seconds of blocks, or None
    if they are too few for any verdict.

    `spread` is the standard deviation of the blocks' log ratios, `block_s` a block's seconds.
    """
    blocks = int(seconds / block_s)
    if blocks < blocks_needed(1):
        return None
    return minimum_detectable(spread, blocks)
