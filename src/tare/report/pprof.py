"""Stacks as a profile of pprof: a gzip'ed message of protocol buffers.

Sources: google/pprof, proto/profile.proto (the numbers of the fields); protobuf.dev, "Encoding".
"""

import gzip
from collections.abc import Iterable, Mapping
from typing import TypeVar

T = TypeVar("T")
Function = tuple[str, str]
"""Its name and its module."""
_VARINT, _LENGTH = 0, 2
"""Kinds of fields."""
_VALUES = (("samples", "count"), ("cpu_per_request", "nanoseconds"))


def profile(
    samples: Mapping[tuple[Function, ...], tuple[int, float]], labels: Mapping[str, str]
) -> bytes:
    """Return a file with the labels on each sample. `samples` has stacks, the root first, with
    their number and their ns of CPU time per request.

    pprof knows whole numbers only. The ns are rounded so that each function's time with what it
    calls, seen from the root, is off by less than 1 ns.
    """
    texts, modules, functions = _Table[str](), _Table[str](), _Table[Function]()
    assert texts[""] == 0  # as the format demands
    message = b"".join(_message(1, _value_type(texts, *kind)) for kind in _VALUES)
    tags = b"".join(
        _message(3, _number(1, texts[key]) + _number(2, texts[text]))
        for key, text in labels.items()
    )
    total, told = 0.0, 0
    for stack, (count, ns) in sorted(samples.items()):
        total += ns
        whole = round(total) - told
        told += whole
        # The leaf comes first.
        places = [1 + functions[each] for each in reversed(stack)]
        message += _message(2, _packed(1, places) + _packed(2, (count, whole)) + tags)
    for number, (name, module) in enumerate(functions, 1):
        line = _message(4, _number(1, number))
        message += _message(
            4, _number(1, number) + _number(2, 1 + modules[module] if module else 0) + line
        )
        message += _message(5, _number(1, number) + _number(2, texts[name]))
    for number, module in enumerate(modules, 1):
        # 7: the functions are named, so that pprof looks for no file.
        message += _message(3, _number(1, number) + _number(5, texts[module]) + _number(7, 1))
    message += _number(14, texts[_VALUES[-1][0]])
    # The last: what was added above is in it.
    message += b"".join(_message(6, text.encode()) for text in texts)
    return gzip.compress(message, mtime=0)


class _Table(dict[T, int]):
    """Numbers of what was asked for, from 0 on, in order."""

    def __missing__(self, key: T) -> int:
        return self.setdefault(key, len(self))


def _value_type(texts: _Table[str], name: str, unit: str) -> bytes:
    return _number(1, texts[name]) + _number(2, texts[unit])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _LENGTH) + _varint(len(content)) + content


def _packed(field: int, values: Iterable[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))


def _varint(value: int) -> bytes:
    """Encode a number that is not negative, seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])
