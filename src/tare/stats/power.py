"""The power of a number of blocks, before they are made and after."""

import math

from tare.stats.signed_rank import fewest_for


def blocks_needed(comparisons: int, alpha: float = 0.05) -> int:
    """The fewest blocks at which the exact test can find anything among `comparisons`.

    Holm's first step requires p ≤ alpha / comparisons, and n blocks have no p below 2/2^n.
    Raises ValueError for no comparisons.
    """
    if comparisons < 1:
        raise ValueError(f"at least one comparison is needed, found {comparisons}")
    return fewest_for(alpha / comparisons)


def minimum_detectable(spread: float, n: int, alpha: float = 0.05, power: float = 0.8) -> float:
    """The effect (log ratio) that n ≥ 2 blocks would find with probability `power`.

    (t_{1-alpha/2} + t_{power}) · spread / √n with n - 1 degrees of freedom, where `spread` is the
    standard deviation of the log ratios. It is the t-test's; the signed-rank test's is at most a
    few percent larger on normal data and smaller on heavy tails.
    Source: Bloom (1995), Evaluation Review 19(5):547-556.
    """
    # Importing scipy costs most of a second, which a command that judges nothing need not pay.
    from scipy.special import stdtrit

    multiple = float(stdtrit(n - 1, 1 - alpha / 2)) + float(stdtrit(n - 1, power))
    return multiple * spread / math.sqrt(n)


def blocks_to_detect(spread: float, log_ratio: float, alpha: float = 0.05) -> int:
    """Roughly how many blocks find an effect of `log_ratio` (not 0) with probability 0.8."""
    n = fewest_for(alpha)
    while minimum_detectable(spread, n, alpha) > abs(log_ratio):
        # The effect found shrinks with √n, so this overshoots by at most a tenth.
        n = math.ceil(n * 1.1)
    return n
