"""A small instrument: a closed loop over keep-alive connections, every figure measured. Several
targets take turns."""

import argparse
import json
import random
import selectors
import socket
import sys
import time
from pathlib import Path

from hdrh.histogram import HdrHistogram

REQUEST = b"GET / HTTP/1.1\r\nHost: toy\r\n\r\n"
TICK_S = 0.05
PATIENCE_S = 5


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Load:
    """The connections to one target, and what has come back over them."""

    def __init__(self, host: str, port: int, connections: int) -> None:
        self.latencies_ns: list[int] = []
        self.slices_s = 0.0
        self.total = 0
        self._sent: dict[socket.socket, int] = {}
        self._selector = selectors.DefaultSelector()
        self._idle: list[socket.socket] = []
        for _ in range(connections):
            each = socket.create_connection((host, port), timeout=5)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(each, selectors.EVENT_READ)
            self._idle.append(each)

    def run(self, until: float, *, send: bool = True) -> None:
        """Answer by answer until the time is up or, without sending, nothing is in flight."""
        while send and self._idle:
            self._send(self._idle.pop())
        while self._sent and (now := time.perf_counter()) < until:
            for key, _ in self._selector.select(min(TICK_S, until - now)):
                each = key.fileobj
                assert isinstance(each, socket.socket)
                if not each.recv(4096).endswith(b"ok\n"):
                    sys.exit("the connection was closed, or the answer is wrong")
                self.latencies_ns.append(time.perf_counter_ns() - self._sent.pop(each))
                self.total += 1
                if send:
                    self._send(each)
                else:
                    self._idle.append(each)

    def slice(self, length_s: float) -> None:
        """Have the load alone for a while."""
        begun = time.perf_counter()
        self.run(begun + length_s)
        self.slices_s += time.perf_counter() - begun
        self.run(begun + PATIENCE_S, send=False)

    def figures(self) -> dict[str, float]:
        """What was measured of it, in the latencies that are left."""
        measured = sorted(self.latencies_ns)
        return {
            "requests": len(measured),
            "requests_per_second": len(measured) / self.slices_s,
            "latency_mean_us": sum(measured) / len(measured) / 1e3,
            "latency_p50_us": measured[len(measured) // 2] / 1e3,
        }

    def histogram(self) -> str:
        """Of the same, encoded."""
        histogram = HdrHistogram(1, 60_000_000_000, 3)
        for latency in self.latencies_ns:
            histogram.record_value(latency)
        return str(histogram.encode().decode())

    def _send(self, each: socket.socket) -> None:
        self._sent[each] = time.perf_counter_ns()
        each.sendall(REQUEST)


def in_turns(loads: list[Load], length_s: float, until: float) -> int:
    """Rounds of one slice for each, in random order, until the time is up and all were answered."""
    rounds = 0
    while time.perf_counter() < until or not all(load.latencies_ns for load in loads):
        for load in random.sample(loads, len(loads)):
            load.slice(length_s)
        rounds += 1
    return rounds


def target(name: str, load: Load) -> dict[str, object]:
    """A side of a duel, as results have it."""
    count = len(load.latencies_ns)
    counts = {"offered": count, "completed": count, "unfinished": 0, "answered": count}
    outcomes, total = load.figures(), {"requests": load.total}
    histograms = {"latency": load.histogram()}
    return {
        "name": name,
        **counts,
        "outcomes": outcomes,
        "total": total,
        "histograms": histograms,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", type=Path, required=True)
    spec = json.loads(parser.parse_args().spec.read_text())
    slices = spec.get("slices")
    addresses = [each["url"] for each in spec.get("targets", [spec])]
    ends = [address.removeprefix("toy://").split(":") for address in addresses]
    loads = [Load(host, int(port), spec["connections"]) for host, port in ends]
    if "start_file" in spec:
        say(event="ready")
        while not Path(spec["start_file"]).exists():
            time.sleep(0.001)
    begun = time.perf_counter()
    length_s = slices["length_ms"] / 1e3 if slices else TICK_S
    in_turns(loads, length_s, begun + spec["warmup_s"])
    warm = sum(load.total for load in loads)
    say(event="progress", t_s=spec["warmup_s"], phase="warmup", rate=warm, errors=0)
    for load in loads:
        load.latencies_ns.clear()
        load.slices_s = 0.0
    say(event="measure", t_s=time.perf_counter() - begun)
    opened, cpu = time.perf_counter(), time.process_time()
    rounds = in_turns(loads, length_s, opened + spec["duration_s"])
    window_s, cpu = time.perf_counter() - opened, time.process_time() - cpu
    say(event="measured", t_s=time.perf_counter() - begun)
    duel = {}
    if slices:
        names = [each["name"] for each in spec["targets"]]
        duel = {
            "targets": [target(name, load) for name, load in zip(names, loads, strict=True)],
            "slices": {
                "length_ms": slices["length_ms"],
                "lead_in_ms": 0.0,
                "rounds": rounds,
                "kept": rounds,
                "share": sum(load.slices_s for load in loads) / window_s,
            },
        }
    say(
        event="result",
        schema=1,
        instrument="toy 1",
        window_s=window_s,
        outcomes={**loads[0].figures(), "asked": spec.get("rate")},
        load={
            "loop": "closed",
            "in_flight_mean": spec["connections"],
            "cpu_busiest_thread": cpu / window_s,
        },
        errors={},
        total={"requests": sum(load.total for load in loads)},
        histograms={"latency": loads[0].histogram()},
        **duel,
    )


main()
