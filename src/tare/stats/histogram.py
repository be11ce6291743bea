"""Histograms of several trials, merged; percentiles are never averaged.

The input is HdrHistogram's V2 encoding, DEFLATE-compressed, in base64 (Tene's HdrHistogram; its
counts array is one layout for a given unit and precision, whatever the trackable range).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from hdrh.histogram import HdrHistogram

from tare.stats.interval import Interval
from tare.stats.quantile import interval_ranks, quantile_rank, smallest_sample

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts by value class. Values are in the unit recorded (tare: nanoseconds).

    A class of bucket b is 2^(b + `unit_magnitude`) wide, and a bucket adds 2^`half_magnitude`
    classes (the first one twice as many).
    """

    counts: Counts
    unit_magnitude: int
    half_magnitude: int

    @property
    def total(self) -> int:
        """Return the number of recorded values."""
        return int(self.counts.sum())

    def quantile(self, q: float) -> int | None:
        """The q-quantile, or `None` where `smallest_sample` says the count is too small."""
        total = self.total
        if total < smallest_sample(q):
            return None
        return self._value_at_rank(quantile_rank(total, q))

    def quantile_interval(self, q: float, level: float = 0.95) -> Interval | None:
        """The order-statistic interval of the q-quantile, or `None` as of `interval_ranks`."""
        found = interval_ranks(self.total, q, level)
        if found is None:
            return None
        low, high, achieved = found
        return Interval(self._value_at_rank(low), self._value_at_rank(high), achieved)

    def _value_at_rank(self, rank: int) -> int:
        """The largest value of the class of the `rank`-th smallest, as HdrHistogram reports it."""
        index = int(np.searchsorted(np.cumsum(self.counts), rank))
        half = 1 << self.half_magnitude
        # The first bucket has both its halves, every other only its upper one.
        bucket = max(0, (index >> self.half_magnitude) - 1)
        class_in_bucket = index if index < half else (index & (half - 1)) + half
        return ((class_in_bucket + 1) << (bucket + self.unit_magnitude)) - 1


def merge(encoded: Sequence[str]) -> Histogram:
    """One histogram of everything that `encoded` recorded.

    Raises ValueError for no histogram, for one that cannot be decoded (named by its index), and
    for histograms whose unit or precision differ.
    """
    if not encoded:
        raise ValueError("there is no histogram to merge")
    parts = [_decode(text, index) for index, text in enumerate(encoded)]
    layouts = {(part.unit_magnitude, part.half_magnitude) for part in parts}
    if len(layouts) > 1:
        raise ValueError(f"histograms of different unit or precision do not merge: {layouts}")
    counts = np.zeros(max(part.counts.size for part in parts), dtype=np.int64)
    for part in parts:
        counts[: part.counts.size] += part.counts
    return Histogram(counts, parts[0].unit_magnitude, parts[0].half_magnitude)


def encode_merged(encoded: Sequence[str]) -> str:
    """Encode one histogram of everything that `encoded` recorded. Raises ValueError as `merge`."""
    merge(encoded)  # checks that all have one unit and precision
    whole, *others = sorted(
        map(HdrHistogram.decode, encoded), key=lambda each: each.counts_len, reverse=True
    )
    for each in others:  # the one of the widest range has room for them
        whole.add(each)
    return str(whole.encode().decode())


def _decode(text: str, index: int) -> Histogram:
    try:
        decoded = HdrHistogram.decode(text)
    except Exception as error:  # the decoder has seven kinds, some of them plain Exceptions
        raise ValueError(f"histogram {index} is no HdrHistogram V2 in base64: {error}") from error
    return Histogram(
        np.array(decoded.counts, dtype=np.int64),
        decoded.unit_magnitude,
        decoded.sub_bucket_half_count_magnitude,
    )
