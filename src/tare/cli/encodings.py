"""Text where the locale is not UTF-8: files are UTF-8 all the same, and nothing fails to print."""

import codecs
import locale
import os
import sys
from io import TextIOWrapper

_LIKE = {
    "µ": "u", "–": "-", "—": "-", "…": "...", "±": "+-", "×": "x", "÷": "/", "−": "-", "→": "->",
    "’": "'", "≤": "<=", "≥": ">=", "\u00a0": " ",
}  # fmt: skip
_HANDLER = "tare.like"


def settle() -> None:
    """Have files read and written as UTF-8, and printed what the terminal's encoding lacks by
    something like it. It starts Python again if the locale has another encoding.
    """
    if not sys.flags.utf8_mode and not _is_utf8(locale.getencoding()):
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])
    codecs.register_error(_HANDLER, _like)
    was_started_again = "utf8" in sys._xoptions and "PYTHONIOENCODING" not in os.environ
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            encoding = locale.getencoding() if was_started_again else stream.encoding
            stream.reconfigure(encoding=encoding, errors=_HANDLER)


def in_ascii(json: str) -> str:
    """Return a JSON document with escapes for what standard output may not be able to print."""
    if _is_utf8(sys.stdout.encoding or "utf-8"):
        return json
    return _escaped(json)


def _escaped(text: str) -> str:
    found = []
    for letter in text:
        if letter.isascii():
            found.append(letter)
            continue
        units = letter.encode("utf-16-be", "surrogatepass").hex()
        found += [f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4)]
    return "".join(found)


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


def _like(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter, after = error.object[error.start], error.start + 1
    if "\udc80" <= letter <= "\udcff":  # a byte of a file's name
        return bytes([ord(letter) - 0xDC00]), after
    return _LIKE.get(letter, f"\\u{ord(letter):04x}"), after
