"""Runs hey as an instrument."""

import re

from peer import Answer, Spec, Unfit, Unreadable, main

_KEPT = 1_000_000
"""It keeps the statuses of so many answers only."""
_ROUNDING_S = 5e-5
"""By how much the seconds that it prints may be off."""


def command(spec: Spec) -> list[str]:
    """Its argv."""
    if spec.protocol != "h1" or spec.depth != 1:
        raise Unfit("its HTTP/2 sends all requests over one connection, expected HTTP/1.1")
    argv = [spec.program, "-z", f"{spec.run_s}s", "-c", str(spec.connections)]
    return [*argv, "-cpus", str(spec.threads), spec.url]


def parse(output: str) -> Answer:
    """Read its summary."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    total = re.search(r"Total:\s+([\d.]+) secs", output)
    if rate is None or total is None:
        raise Unreadable(f"its output has no rate: {output.strip()[-300:]!r}")
    seconds = float(total.group(1))
    _, _, failed = output.partition("Error distribution:")
    failures = re.findall(r"^\s+\[(\d+)\]\t(.*)$", failed, re.MULTILINE)
    errors: dict[str, int] = {}
    for count, text in failures:
        kind = _kind(text)
        errors[kind] = errors.get(kind, 0) + int(count)
    found = re.findall(r"^\s+\[(\d{3})\]\t(\d+) responses", output, re.MULTILINE)
    statuses = {status: int(count) for status, count in found}
    answered = sum(statuses.values())
    if answered >= _KEPT:  # its rate goes on, and counts what failed, too
        answered = int(float(rate.group(1)) * (seconds - _ROUNDING_S)) - sum(errors.values())
    errors["status"] = sum(statuses.values()) - statuses.get("200", 0)
    return Answer(answered / seconds, answered, errors)


def _kind(text: str) -> str:
    if "dial " in text:
        return "connect"
    return "timeout" if "Timeout" in text or "deadline" in text else "read"


if __name__ == "__main__":
    main("hey", command, parse)
