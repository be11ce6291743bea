"""An instrument (docs/FORMAT.md): round trips of tasks through a queue, in the worker that has it.

The cache's own harness (components/cache-nginx/harness) keeps as many tasks under way as it is
asked to. This asks it for one depth after the other, and says in the laboratory's words what it
answered.
"""

import argparse
import http.client
import json
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

_FIELDS = {"schema", "address", "path", "depths", "work", "task_us", "warmup_s", "duration_s"}
_KINDS = ("sleep", "burn")
_SLACK_S = 30.0
_LEAST = {"p50": 5, "p99": 299}
"""How many samples a quantile needs to be named (METHODOLOGY.md, Quantiles)."""


def main() -> None:
    """Measure as the spec says; exit with 2 for one that cannot be used, 1 for a failure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", required=True)
    file = parser.parse_args().spec
    try:
        spec = _spec(file)
    except (OSError, ValueError) as error:
        _fail(2, f"{file}: {error}")
    try:
        _measure(spec)
    except (OSError, http.client.HTTPException, ValueError) as error:
        _fail(1, f"http://{spec['address']}{spec['path']}: {error}")


def _spec(file: str) -> dict[str, Any]:
    spec: dict[str, Any] = json.loads(Path(file).read_text(encoding="utf-8"))
    if wrong := _FIELDS ^ set(spec):
        raise ValueError(f"found the fields {sorted(spec)}, expected {sorted(_FIELDS)}: {wrong}")
    if spec["schema"] != 1:
        raise ValueError(f"schema: found {spec['schema']!r}, expected 1")
    if spec["work"] not in _KINDS:
        raise ValueError(f"work: found {spec['work']!r}, expected {' or '.join(_KINDS)}")
    return spec


def _measure(spec: dict[str, Any]) -> None:
    depths = spec["depths"]
    begun = time.monotonic()
    warm = _run_harness(spec, depths[-1], spec["warmup_s"], 0.0)
    opened = time.monotonic()
    _print_event({"event": "measure", "t_s": opened - begun})
    part_s = spec["duration_s"] / len(depths)
    # The threads are warm, and only the depth is new.
    found = {depth: _run_harness(spec, depth, part_s / 10, part_s) for depth in depths}
    closed = time.monotonic()
    _print_event({"event": "measured", "t_s": closed - begun})
    outcomes: dict[str, float | None] = {"tasks": sum(each["tasks"] for each in found.values())}
    for depth, each in found.items():
        outcomes |= {f"{name}_{depth}": value for name, value in _outcomes(each).items()}
    asked = (warm, *found.values())
    errors = {kind: sum(each[kind] for each in asked) for kind in ("refused", "wrong")}
    _print_event(
        {
            "event": "result",
            "schema": 1,
            "instrument": "task-harness 1",
            "window_s": closed - opened,
            "outcomes": outcomes,
            "errors": errors,
            "total": {"completed": sum(each["completed"] for each in asked)},
            "depths": {str(depth): each for depth, each in found.items()},
        }
    )


def _outcomes(found: dict[str, int]) -> dict[str, float | None]:
    """Of one depth; what too few tasks cannot tell is None."""
    tasks = found["tasks"]
    times = {
        f"trip_{name}_us": found[f"{name}_ns"] / 1e3 if tasks >= least else None
        for name, least in _LEAST.items()
    }
    if not tasks:
        return times | dict.fromkeys(("tasks_per_second", "run_us", "cpu_us", "switches"))
    return times | {
        "tasks_per_second": tasks / found["window_ns"] * 1e9,
        "run_us": found["run_ns"] / 1e3,
        "cpu_us": found["cpu_ns"] / tasks / 1e3,
        "switches": found["switches"] / tasks,
    }


def _run_harness(
    spec: dict[str, Any], depth: int, warmup_s: float, duration_s: float
) -> dict[str, int]:
    query = urlencode(
        {
            "depth": depth,
            "ns": round(spec["task_us"] * 1000),
            "work": spec["work"],
            "warmup_ms": round(warmup_s * 1000),
            "ms": max(round(duration_s * 1000), 1),
        }
    )
    connection = http.client.HTTPConnection(
        spec["address"], timeout=warmup_s + duration_s + _SLACK_S
    )
    connection.request("GET", f"{spec['path']}?{query}")
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    if answer.status != 200:
        raise ValueError(f"depth {depth}: found status {answer.status}, expected 200")
    found: dict[str, int] = json.loads(body)
    return found


def _print_event(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)


def _fail(code: int, why: str) -> None:
    print(f"harness: {why}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
