"""Runs rewrk as an instrument."""

import math
import re

from peer import Answer, Spec, Unfit, Unreadable, main


def command(spec: Spec) -> list[str]:
    """Its argv."""
    if spec.depth != 1:
        raise Unfit("it has one request at a time on each connection, expected depth 1")
    argv = [spec.program, "-t", str(spec.threads), "-c", str(spec.connections)]
    argv += ["-d", f"{math.ceil(spec.run_s)}s"]  # whole seconds only; it takes 1ms for a minute
    if spec.protocol == "h2":
        argv.append("--http2")
    return [*argv, "-h", spec.url]


def parse(output: str) -> Answer:
    """Read its closing lines. Its total includes failed requests; it checks no status."""
    found = re.search(r"Total:\s+(\d+)\s+Req/Sec:\s+([\d.]+)", output)
    if found is None:
        raise Unreadable(f"its output has no rate: {output.strip()[-300:]!r}")
    total, rate = int(found.group(1)), float(found.group(2))
    failed = sum(int(count) for count in re.findall(r"^(\d+) Errors: ", output, re.MULTILINE))
    answered = total - failed
    return Answer(rate * answered / total if total else 0.0, answered, {"read": failed})


if __name__ == "__main__":
    main("rewrk", command, parse)
