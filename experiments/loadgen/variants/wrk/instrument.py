"""Runs wrk as an instrument."""

import math
import re

from peer import Answer, Spec, Unfit, Unreadable, main


def command(spec: Spec) -> list[str]:
    """Its argv."""
    if spec.protocol != "h1" or spec.depth != 1:
        raise Unfit("it speaks HTTP/1.1 only, one request at a time on each connection")
    seconds = math.ceil(spec.run_s)  # it takes whole seconds only
    return [spec.program, f"-t{spec.threads}", f"-c{spec.connections}", f"-d{seconds}s", spec.url]


def parse(output: str) -> Answer:
    """Read its closing lines."""
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    answered = re.search(r"(\d+) requests in ", output)
    if rate is None or answered is None:
        raise Unreadable(f"its output has no rate: {output.strip()[-300:]!r}")
    return Answer(float(rate.group(1)), int(answered.group(1)), errors(output))


def errors(output: str) -> dict[str, int]:
    """Return its errors by kind. A status is wrong if it is neither 2xx nor 3xx."""
    found: dict[str, int] = {}
    if sockets := re.search(r"Socket errors: (.*)", output):
        found |= {kind: int(n) for kind, n in re.findall(r"(\w+) (\d+)", sockets.group(1))}
    if statuses := re.search(r"Non-2xx or 3xx responses: (\d+)", output):
        found["status"] = int(statuses.group(1))
    return found


if __name__ == "__main__":
    main("wrk", command, parse)
