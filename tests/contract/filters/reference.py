"""The decision that every filter must take: nginx's path of a target, and the rule."""

import re

REFUSED = 400


def path(target: bytes) -> bytes | None:
    """What nginx makes of an origin-form target, or None when it refuses it."""
    if any(byte <= 0x20 or byte == 0x7F for byte in target):
        return None
    encoded = re.split(rb"[?#]", target, maxsplit=1)[0]
    if re.search(rb"%(?![0-9A-Fa-f]{2})", encoded) or b"%00" in encoded:
        return None
    decoded = re.sub(rb"%(..)", lambda escape: bytes([int(escape[1], 16)]), encoded, flags=re.S)
    segments = decoded.split(b"/")[1:]
    kept: list[bytes] = []
    for segment in segments:
        if segment == b"..":
            if not kept:
                return None
            kept.pop()
        elif segment not in (b"", b"."):
            kept.append(segment)
    ends_in_folder = segments[-1] in (b"", b".", b"..")
    return b"/" + b"/".join(kept) + (b"/" if kept and ends_in_folder else b"")


def status(target: bytes, prefix: bytes) -> int:
    """What a filtering variant answers to GET `target`."""
    found = path(target)
    if found is None:
        return REFUSED
    return 200 if found.startswith(prefix) else 403
