"""Runs k6 as an instrument."""

import json
from pathlib import Path

from peer import Answer, Spec, Unfit, Unreadable, main

_SCRIPT = Path(__file__).with_name("script.js")


def command(spec: Spec) -> list[str]:
    """Its argv."""
    if spec.depth != 1:
        raise Unfit("a virtual user of it has one request at a time, expected depth 1")
    # It offers HTTP/2 whenever it can; only Go's own switch makes it leave that.
    go = [f"GOMAXPROCS={spec.threads}", f"GODEBUG=http2client={int(spec.protocol == 'h2')}"]
    argv = ["env", *go, spec.program, "run", "--quiet", "--no-usage-report", "--address", ""]
    milliseconds = max(1000, round(spec.run_s * 1e3))  # less than a second it refuses
    argv += ["--vus", str(spec.connections), "--duration", f"{milliseconds}ms"]
    return [*argv, "--env", f"URL={spec.url}", str(_SCRIPT)]


def parse(output: str) -> Answer:
    """Read the script's closing output. k6 does not distinguish a wrong status from no answer."""
    try:
        metrics = json.loads(output)
        answered, rate = metrics["http_reqs"]["count"], metrics["http_reqs"]["rate"]
        failed = metrics["http_req_failed"]["passes"]
    except (ValueError, KeyError) as error:
        raise Unreadable(f"its output is no summary: {output.strip()[-300:]!r}") from error
    return Answer(rate, answered, {"status": failed})


if __name__ == "__main__":
    main("k6", command, parse)
