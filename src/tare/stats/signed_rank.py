"""The exact Wilcoxon signed-rank distribution: its p-value and its interval ranks.

Sources: Wilcoxon (1945), Biometrics Bulletin 1(6):80-83. Ties and zeros: Pratt (1959), JASA
54(287):655-667. Interval ranks: Hollander, Wolfe & Chicken (2014), Nonparametric Statistical
Methods, 3rd ed., section 3.3.
"""

from functools import lru_cache

import numpy as np

from tare.stats.floats import Floats


def p_value(differences: Floats) -> float:
    """Exact two-sided p of the hypothesis that `differences` (shape (n,)) are symmetric about 0.

    Ties get midranks. Zeros are ranked with the others and then left out (Pratt's convention).
    The p-value is exact given the ranks: it counts the sign assignments of the non-zero
    differences that are at least as far out, doubled and at most 1. No non-zero difference: 1.
    """
    magnitudes = np.abs(differences)
    ordered = np.sort(magnitudes)
    # Twice the midrank is an integer, so that tied ranks can index the table of counts.
    doubled = ordered.searchsorted(magnitudes) + ordered.searchsorted(magnitudes, "right") + 1
    statistic = int(doubled[differences > 0].sum())
    pmf = _null_distribution(tuple(sorted(doubled[differences != 0].tolist())))
    tail = min(float(pmf[: statistic + 1].sum()), float(pmf[statistic:].sum()))
    return min(1.0, 2 * tail)


@lru_cache(maxsize=256)
def interval_rank(n: int, level: float) -> tuple[int, float] | None:
    """Return the order statistics of the n(n+1)/2 Walsh averages that bound the interval.

    The k-th smallest and the k-th largest (k counts from 1), with the confidence they achieve.
    The rule: the largest k whose confidence is at least `level`. At 95 % it achieves between
    95.0 % and 96.9 % for every n from 6 on. `None` where even the extremes fall short.
    """
    lower_tail = np.cumsum(_null_distribution(tuple(range(1, n + 1))))
    k = int(np.searchsorted(2 * lower_tail, 1 - level, "right"))
    return (k, 1 - 2 * float(lower_tail[k - 1])) if k else None


def fewest_for(alpha: float) -> int:
    """The smallest n whose smallest two-sided p-value, 2/2^n, is at most `alpha` (0 < alpha < 1).

    It is also the smallest n with an interval of confidence 1 - `alpha`: 6 for 95 %.
    """
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, found {alpha}")
    n = 1
    while 2.0 ** (1 - n) > alpha:
        n += 1
    return n


# Of 560 values without ties one has 2.5 MB.
@lru_cache(maxsize=32)
def _null_distribution(ranks: tuple[int, ...]) -> Floats:
    """P(sum of the positive ranks = 0, 1, …, sum(ranks)) when every sign is a fair coin."""
    pmf = np.zeros(sum(ranks) + 1)
    pmf[0] = 1.0
    for rank in ranks:
        shifted = np.concatenate((np.zeros(rank), pmf[: pmf.size - rank]))
        pmf = (pmf + shifted) / 2
    pmf.flags.writeable = False
    return pmf
