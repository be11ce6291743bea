"""One result of several generators: counts and rates add up, histograms merge.

Quantiles are read from merged histograms, never averaged.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tare.model.instrument import Generators, Result, together
from tare.stats import histogram
from tare.stats.histogram import Histogram

_ADDED = ("requests", "requests_per_second", "bytes_per_second")
"""Outcomes of a whole workload that are sums of those of its parts."""
_OF_A_DISTRIBUTION = re.compile(r"(?P<name>\w+)_(?P<figure>mean|max|p(?P<digits>\d+))_us")
_MERGED_LOAD = {"send_lag_p50_us": 0.5, "send_lag_p99_us": 0.99}
_LARGEST = ("send_lag_max_us", "cpu_busiest_thread")
_ALIKE = ("loop", "arrivals")
_HANDSHAKE = ("version", "cipher", "group", "alpn")
_NS_PER_US = 1e3


def merged(results: Mapping[str, Result], *, start_spread_s: float, overlap_s: float) -> Result:
    """Return what one generator would have answered that had made the load of all; `results` has
    each one's answer by its name, and the result keeps them.

    A figure that cannot be made of theirs is None. Fields that only one kind of instrument has are
    kept if all agree on them. Raises ValueError for results that are not of one load.
    """
    all_ = list(results.values())
    for field in ("instrument", "protocol"):
        _alike(field, [getattr(each, field) for each in all_])
    histograms = {
        name: [each.histograms[name] for each in all_]
        for name in all_[0].histograms
        if all(name in each.histograms for each in all_)
    }
    whole = {name: histogram.merge(parts) for name, parts in histograms.items()}
    answer = {
        **_agreed(all_),
        "event": "result",
        "schema": 1,
        "instrument": all_[0].instrument,
        "protocol": all_[0].protocol,
        "window_s": max(each.window_s for each in all_),
        "outcomes": dict(_outcomes(all_, histograms, whole)),
        "load": _load(all_, whole),
        "errors": _sums(each.errors for each in all_),
        "statuses": _sums(each.statuses for each in all_),
        "total": together(each.total for each in all_).stored(),
        "tls": _tls(all_),
        "histograms": {name: histogram.encode_merged(parts) for name, parts in histograms.items()},
        "generators": Generators(
            start_spread_s=start_spread_s, overlap_s=overlap_s, each=dict(results)
        ),
    }
    return Result.model_validate(answer)


def _outcomes(
    all_: Sequence[Result],
    histograms: Mapping[str, Sequence[str]],
    whole: Mapping[str, Histogram],
) -> Iterator[tuple[str, float | None]]:
    for name in dict.fromkeys(name for each in all_ for name in each.outcomes):
        values = [each.outcomes.get(name) for each in all_]
        known = [value for value in values if value is not None]
        found = _OF_A_DISTRIBUTION.fullmatch(name)
        value = None
        if name in _ADDED:
            value = sum(known) if len(known) == len(values) else None
        elif found is not None and (of := found["name"]) in whole:
            if found["figure"] == "max":
                value = max(known, default=None)
            elif found["figure"] == "mean":
                value = _mean(values, [histogram.merge([part]).total for part in histograms[of]])
            else:
                value = _quantile_us(whole[of], int(found["digits"]) / 10 ** len(found["digits"]))
        yield name, value


def _mean(values: Sequence[float | None], counts: Sequence[int]) -> float | None:
    """Return the mean of all that was measured: each one's counts as often as it measured."""
    pairs = [
        (value, count) for value, count in zip(values, counts, strict=True) if value is not None
    ]
    total = sum(count for _, count in pairs)
    return sum(value * count for value, count in pairs) / total if total else None


def _quantile_us(whole: Histogram, q: float) -> float | None:
    value = whole.quantile(q)
    return None if value is None else value / _NS_PER_US


def _load(all_: Sequence[Result], whole: Mapping[str, Histogram]) -> dict[str, Any] | None:
    loads = [each.load for each in all_]
    known = [load.stored() for load in loads if load is not None]
    if len(known) < len(loads):
        return None
    found: dict[str, Any] = {}
    for name in known[0]:
        values = [load[name] for load in known if load.get(name) is not None]
        if name in _ALIKE:
            _alike(f"load.{name}", [load.get(name) for load in known])
            found[name] = known[0][name]
        elif name in _MERGED_LOAD:
            lag = whole.get("send_lag")
            found[name] = None if lag is None else _quantile_us(lag, _MERGED_LOAD[name])
        elif name in _LARGEST:
            found[name] = max(values, default=None)
        else:
            found[name] = sum(values) if len(values) == len(known) else None
    return found


def _tls(all_: Sequence[Result]) -> dict[str, Any] | None:
    """Return the handshakes of all; those of a generator whose first one differs are others."""
    reports = [each.tls for each in all_ if each.tls is not None]
    if not reports:
        return None
    first = {name: getattr(reports[0], name) for name in _HANDSHAKE}
    other = sum(
        each.other
        if {name: getattr(each, name) for name in _HANDSHAKE} == first
        else each.full + each.resumed
        for each in reports
    )
    full, resumed = (sum(getattr(each, name) for each in reports) for name in ("full", "resumed"))
    return {**first, "full": full, "resumed": resumed, "other": other}


def _agreed(all_: Sequence[Result]) -> dict[str, Any]:
    """Return the fields of the instrument's own on which all agree."""
    first, *others = [each.model_extra or {} for each in all_]
    return {
        name: item
        for name, item in first.items()
        if all(name in each and each[name] == item for each in others)
    }


def _sums(tables: Iterable[Mapping[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for table in tables:
        found.update(table)
    return dict(found)


def _alike(field: str, found: Sequence[object]) -> None:
    if any(each != found[0] for each in found):
        listed = ", ".join(map(repr, dict.fromkeys(found)))
        raise ValueError(f"{field}: found {listed}, expected the same of all generators")
