import base64
import zlib
from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from tare.stats.histogram import Histogram, encode_merged, merge
from tare.stats.quantile import quantile_rank

HOUR_NS = 3_600_000_000_000
RUST = [
    line.split("\t")
    for line in Path(__file__).with_name("hdrhistogram-rust.tsv").read_text().splitlines()
    if not line.startswith("#")
]


def encode(values: Iterable[int], highest: int = HOUR_NS, lowest: int = 1, digits: int = 3) -> str:
    histogram = HdrHistogram(lowest, highest, digits)
    for value in values:
        assert histogram.record_value(value)
    return str(histogram.encode(), "ascii")


def same(one: Histogram, other: Histogram) -> bool:
    size = max(one.counts.size, other.counts.size)
    padded = [np.pad(h.counts, (0, size - h.counts.size)) for h in (one, other)]
    return bool((padded[0] == padded[1]).all())


trials = st.lists(st.lists(st.integers(0, HOUR_NS), max_size=40), min_size=1, max_size=4)


@given(trials)
def test_merging_trials_is_recording_all_their_values_in_one(values: list[list[int]]) -> None:
    merged = merge([encode(trial) for trial in values])
    assert same(merged, merge([encode(chain(*values))]))
    assert merged.total == sum(map(len, values))


@given(st.lists(st.integers(0, HOUR_NS), min_size=29, max_size=60), st.sampled_from([0.5, 0.9]))
def test_a_quantile_is_the_value_at_its_rank_to_three_digits(values: list[int], q: float) -> None:
    exact = sorted(values)[quantile_rank(len(values), q) - 1]
    found = merge([encode(values)]).quantile(q)
    assert found is not None
    assert exact <= found <= exact * 1.001 + 1


def test_histograms_that_grew_to_different_ranges_merge() -> None:
    merged = merge([encode([5, 70], highest=100), encode([7, HOUR_NS]), encode([])])
    assert same(merged, merge([encode([5, 70, 7, HOUR_NS])]))


def test_one_that_has_room_for_all_is_encoded() -> None:
    parts = [encode([5, 70], highest=100), encode([7, HOUR_NS]), encode([], highest=100)]
    assert same(merge([encode_merged(parts)]), merge(parts))


@pytest.mark.parametrize("row", RUST, ids=[row[0] for row in RUST])
def test_the_rust_crates_encoding_is_read_as_it_was_meant(row: list[str]) -> None:
    total, p50, p99, p999 = map(int, row[1:5])
    merged = merge([row[-1]])
    assert merged.total == total
    expected = [p50, p99, p999 if total > 9999 else None] if total > 9 else [None] * 3
    assert [merged.quantile(0.5), merged.quantile(0.99), merged.quantile(0.999)] == expected
    if total:
        assert merged._value_at_rank(total) == int(row[5])


def test_a_rust_histogram_and_its_wider_twin_merge() -> None:
    auto, bounded = RUST[0][-1], RUST[1][-1]
    merged = merge([auto, bounded, auto])
    assert merged.total == 30_000
    assert merged.quantile(0.99) == int(RUST[0][3])


def test_the_median_of_two_trials_is_not_the_mean_of_their_medians() -> None:
    merged = merge([encode([100] * 90), encode([1900] * 10)])
    assert merged.quantile(0.5) == 100


@pytest.mark.parametrize(("q", "needed"), [(0.99, 299), (0.999, 2995)])
def test_a_quantile_the_sample_cannot_name_is_none(q: float, needed: int) -> None:
    assert merge([encode(range(needed - 1))]).quantile(q) is None
    assert merge([encode(range(needed))]).quantile(q) is not None


def test_trials_together_can_name_what_none_of_them_can() -> None:
    assert merge([encode(range(100))] * 3).quantile(0.99) is not None


def test_the_interval_of_a_quantile_lies_around_it() -> None:
    merged = merge([encode(range(1, 1001))])
    interval, point = merged.quantile_interval(0.9), merged.quantile(0.9)
    assert interval is not None
    assert (interval.low, point, interval.high) == (881, 900, 919)
    assert 0.95 <= interval.level < 0.96
    assert merge([encode([1, 2, 3])]).quantile_interval(0.5) is None


@pytest.mark.parametrize("text", ["", "abc", "AAAA", "HISTFAAAABx4nJNpmSzMwMDA", "é", "A" * 64])
def test_what_is_no_histogram_is_named_by_its_place(text: str) -> None:
    with pytest.raises(ValueError, match="histogram 1 is no HdrHistogram V2"):
        merge([encode([1]), text])


def test_counts_beyond_the_header_are_an_error_and_not_a_crash() -> None:
    raw = base64.b64decode(RUST[0][-1])
    payload = bytearray(zlib.decompress(raw[8:]))
    payload[24:32] = (2).to_bytes(8, "big")  # the highest trackable value
    packed = zlib.compress(bytes(payload))
    text = base64.b64encode(raw[:4] + len(packed).to_bytes(4, "big") + packed).decode()
    with pytest.raises(ValueError, match="histogram 0 is no HdrHistogram V2"):
        merge([text])


def test_nothing_to_merge() -> None:
    with pytest.raises(ValueError, match="no histogram"):
        merge([])


@pytest.mark.parametrize("other", [{"lowest": 1000}, {"digits": 2}])
def test_another_unit_or_precision_does_not_merge(other: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="unit or precision"):
        merge([encode([5]), encode([5000], **other)])
