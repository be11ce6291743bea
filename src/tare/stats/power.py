"""The power of a number of blocks, before they are made and after."""

import math

from tare.stats.signed_rank import fewest_for

_BEYOND_FLOOR = 1.768
"""|Z| + Z' is below this with probability 0.8 (Z, Z' standard normal): the floor reaches as far as
the control's own estimate, by chance, and its interval.
"""


def blocks_needed(comparisons: int, alpha: float = 0.05) -> int:
    """The fewest blocks at which the exact test can find anything among `comparisons`.

    Holm's first step requires p ≤ alpha / comparisons, and n blocks have no p below 2/2^n.
    Raises ValueError for no comparisons.
    """
    if comparisons < 1:
        raise ValueError(f"at least one comparison is needed, found {comparisons}")
    return fewest_for(alpha / comparisons)


def minimum_detectable(spread: float, n: int, alpha: float = 0.05) -> float:
    """The effect (log ratio) that gets the verdict *costs* or *saves* from n ≥ 2 blocks about four
    times in five; a little less often below 12 blocks. `spread` is the standard deviation of the
    log ratios, of the variant and of the A/A control alike.

    Such an effect passes the test at level `alpha`: (t_{1-alpha/2} + t_{0.8}) standard errors, with
    n - 1 degrees of freedom (Bloom 1995, Evaluation Review 19(5):547-556). And it exceeds the noise
    floor: t_{0.975} + `_BEYOND_FLOOR` standard errors. The signed-rank test needs √(π/3) times the
    t-test's effect on normal data (Hodges & Lehmann 1956, Ann. Math. Statist. 27(2):324-335).
    """
    # Importing scipy costs most of a second, which a command that judges nothing need not pay.
    from scipy.special import stdtrit

    significant = float(stdtrit(n - 1, 1 - alpha / 2)) + float(stdtrit(n - 1, 0.8))
    beyond = float(stdtrit(n - 1, 0.975)) + _BEYOND_FLOOR
    return max(significant, beyond) * math.sqrt(math.pi / 3) * spread / math.sqrt(n)


def detectable_within(spread: float, block_s: float, seconds: float) -> float | None:
    """Return the effect that is found in so many seconds of blocks, each of `block_s` seconds; None
    if they are too few for any verdict.
    """
    blocks = int(seconds / block_s)
    return minimum_detectable(spread, blocks) if blocks >= blocks_needed(1) else None


def blocks_to_detect(spread: float, log_ratio: float, alpha: float = 0.05) -> int:
    """Roughly how many blocks find an effect of `log_ratio` (not 0) four times in five."""
    n = fewest_for(alpha)
    while minimum_detectable(spread, n, alpha) > abs(log_ratio):
        # The effect found shrinks with √n, so this overshoots by at most a tenth.
        n = math.ceil(n * 1.1)
    return n
