"""What stall.py makes of what each generator really printed."""

import importlib.util
from pathlib import Path

import pytest
from adapters import loaded

OUTPUTS = Path(__file__).parent / "outputs"
WRK = """Running 1s test @ http://127.0.0.1:20000/2b.txt
  1 threads and 20 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.20s    1.74ms  13.20ms   88.11%
    Req/Sec    18.11k     4.31k   23.55k    60.00%
  Latency Distribution
     50%  683.00us
     75%    1.01ms
     90%    2.27ms
     99%  890.79ms
  18347 requests in 1.02s, 4.15MB read
"""


@pytest.fixture(scope="module")
def stall():
    spec = importlib.util.spec_from_file_location("loadgen_stall", loaded.folder / "stall.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("hey", {"mean": 4.2, "p95": 12.2, "p99": 17.8, "max": 28.1}),
        ("oha", {"mean": 1.31, "p95": 2.724, "p99": 8.122, "max": 13.711}),
        ("k6", {"mean": 11.904, "p95": 28.701, "p99": 99.809, "max": 108.255}),
    ],
)
def test_summaries(stall, name, found):
    parsed = stall.GENERATORS[name].parse((OUTPUTS / f"{name}.txt").read_text())
    assert parsed == pytest.approx(found, abs=1e-3)


def test_wrk(stall):
    assert stall.wrk(WRK) == {"mean": 1200.0, "p99": 890.79, "max": 13.2}


def test_h2load_log(stall):
    # In the order in which requests ended, among the lines of its summary.
    lines = [f"17953075977{number:05}\t200\t{number * 1000}" for number in range(1000, 0, -1)]
    found = stall.h2load("starting benchmark...\n" + "\n".join(lines) + "\nfinished in 1.00s\n")
    assert found == pytest.approx({"mean": 500.5, "p95": 950.95, "p99": 990.99, "max": 1000.0})


@pytest.mark.parametrize("name", ["tare", "oha", "h2load", "hey", "k6", "wrk"])
def test_anything_else_is_refused(stall, name):
    with pytest.raises((ValueError, KeyError)):
        stall.GENERATORS[name].parse("{}")
