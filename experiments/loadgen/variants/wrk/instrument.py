"""Runs wrk as an instrument: docs/FORMAT.md, "The instrument protocol"."""

import argparse
import json
import math
import re
import subprocess
import sys
import time
from pathlib import Path

_AFTER_S = 0.1
"""wrk goes on so long after the window, so that probes see a loaded server."""


def emit(event: str, **fields: object) -> None:
    """One line of the protocol."""
    print(json.dumps({"event": event, **fields}), flush=True)


def main() -> int:
    """One run; its exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", required=True)
    spec = json.loads(Path(parser.parse_args().spec).read_text())
    warmup_s, window_s = float(spec["warmup_s"]), float(spec["duration_s"])
    seconds = math.ceil(round(warmup_s + window_s + _AFTER_S, 6))  # wrk takes whole seconds only
    argv = ["wrk", f"-t{spec['threads']}", f"-c{spec['connections']}", f"-d{seconds}s"]
    begun = time.monotonic()
    wrk = subprocess.Popen([*argv, spec["url"]], stdout=subprocess.PIPE, text=True)
    time.sleep(warmup_s)
    emit("measure", t_s=time.monotonic() - begun)
    time.sleep(window_s)
    emit("measured", t_s=time.monotonic() - begun)
    answer, _ = wrk.communicate()
    rate = re.search(r"Requests/sec:\s+([\d.]+)", answer)
    if wrk.returncode != 0 or rate is None:
        print(f"wrk ended with {wrk.returncode}: {answer.strip()[:300]}", file=sys.stderr)
        return 1
    emit(
        "result",
        schema=1,
        instrument="wrk",
        protocol="h1",
        window_s=window_s,
        outcomes=outcomes(float(rate.group(1)), window_s),
        errors=errors(answer),
    )
    return 0


def outcomes(rate: float, window_s: float) -> dict[str, float]:
    """What wrk says of the window. Its latencies are not from intended sends: left out."""
    return {"requests": rate * window_s, "requests_per_second": rate}


def errors(answer: str) -> dict[str, int]:
    """wrk's own counts of what went wrong."""
    found = {"connect": 0, "read": 0, "write": 0, "status": 0, "timeout": 0}
    if sockets := re.search(r"Socket errors: (.*)", answer):
        found |= {kind: int(n) for kind, n in re.findall(r"(\w+) (\d+)", sockets.group(1))}
    if statuses := re.search(r"Non-2xx or 3xx responses: (\d+)", answer):
        found["status"] = int(statuses.group(1))
    return found


if __name__ == "__main__":
    sys.exit(main())
