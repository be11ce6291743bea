"""Holm's correction for making several comparisons at once."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Step-down adjusted p-values, in the order given: reject those ≤ alpha.

    The chance of any false rejection is then at most alpha, however the comparisons depend on
    each other. Raises ValueError for a p outside [0, 1].
    Source: Holm (1979), Scand. J. Statist. 6(2):65-70.
    """
    for p in p_values:
        if not 0 <= p <= 1:
            raise ValueError(f"a p-value lies between 0 and 1, found {p}")
    adjusted = [0.0] * len(p_values)
    largest = 0.0
    by_size = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for step, i in enumerate(by_size):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[i]))
        adjusted[i] = largest
    return adjusted
