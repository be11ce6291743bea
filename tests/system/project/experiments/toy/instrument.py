"""A small instrument: a closed loop over keep-alive connections, every figure measured."""

import argparse
import json
import selectors
import socket
import sys
import time
from pathlib import Path

from hdrh.histogram import HdrHistogram

REQUEST = b"GET / HTTP/1.1\r\nHost: toy\r\n\r\n"
TICK_S = 0.05


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


class Load:
    """The connections, and what has come back over them."""

    def __init__(self, host: str, port: int, connections: int) -> None:
        self.begun = time.perf_counter()
        self.latencies_ns: list[int] = []
        self.total = 0
        self._sent: dict[socket.socket, int] = {}
        self._selector = selectors.DefaultSelector()
        for _ in range(connections):
            each = socket.create_connection((host, port), timeout=5)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._selector.register(each, selectors.EVENT_READ)
            self._send(each)

    def run(self, until: float, *, send: bool = True) -> None:
        """Answer by answer until the time is up or, without sending, nothing is in flight."""
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

    def _send(self, each: socket.socket) -> None:
        self._sent[each] = time.perf_counter_ns()
        each.sendall(REQUEST)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--spec", type=Path, required=True)
    spec = json.loads(parser.parse_args().spec.read_text())
    load = Load(spec["host"], spec["port"], spec["connections"])
    load.run(load.begun + spec["warmup_s"])
    say(event="progress", t_s=spec["warmup_s"], phase="warmup", rate=load.total, errors=0)
    load.latencies_ns.clear()
    say(event="measure", t_s=time.perf_counter() - load.begun)
    opened, cpu = time.perf_counter(), time.process_time()
    load.run(opened + spec["duration_s"])
    while not load.latencies_ns:  # the machine was busy with others for all of the window
        load.run(time.perf_counter() + TICK_S)
    window_s, cpu = time.perf_counter() - opened, time.process_time() - cpu
    measured = sorted(load.latencies_ns)
    say(event="measured", t_s=time.perf_counter() - load.begun)
    load.run(time.perf_counter() + 5, send=False)
    histogram = HdrHistogram(1, 60_000_000_000, 3)
    for latency in measured:
        histogram.record_value(latency)
    mean_us = sum(measured) / len(measured) / 1e3
    say(
        event="result",
        schema=1,
        instrument="toy 1",
        window_s=window_s,
        outcomes={
            "requests": len(measured),
            "requests_per_second": len(measured) / window_s,
            "latency_mean_us": mean_us,
            "latency_p50_us": measured[len(measured) // 2] / 1e3,
            "asked": spec.get("rate"),
        },
        load={
            "loop": "closed",
            "in_flight_mean": spec["connections"],
            "cpu_busiest_thread": cpu / window_s,
        },
        errors={},
        total={"requests": load.total},
        histograms={"latency": histogram.encode().decode()},
    )


main()
