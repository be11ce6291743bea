"""The CPU time that a host's agent takes, idle and asked five times a second.

    python tests/system/agent_cost.py [--seconds 15]

Needs root: the host is a network namespace. Prints CPU time, context switches and memory.
"""

import argparse
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from tare.lab.machine.hosts.remote import Remote
from tare.lab.machine.ledger import Ledger
from tare.lab.paths import ROOT
from tare.lab.run.hosts import file
from tare.lab.run.hosts.opening import ENTRY, network
from tare.lab.trial.bench import LEDGER, tag_of

_ASKED_S = 0.2


def main() -> None:
    """Start an agent, leave it alone, then ask it; print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15.0)
    asked = parser.parse_args()
    hosts = file.read(ROOT / "examples" / "three-namespaces.toml")
    name, place = next(iter(hosts.hosts.items()))
    with ExitStack() as ending:
        home = Path(ending.enter_context(tempfile.TemporaryDirectory(prefix="tare-cost-")))
        tag = tag_of("cost", home)
        ledger = ending.enter_context(closing(Ledger(home / LEDGER, tag, None, guarded=True)))
        ending.callback(network(hosts, tag, ledger))
        remote = Remote(name, place, ENTRY)
        ending.callback(remote.close)
        remote.connect()
        pids = subprocess.run(
            ["ip", "netns", "pids", str(place.namespace)],
            capture_output=True,
            text=True,
            check=True,
        )
        (agent,) = (Path(f"/proc/{pid}") for pid in pids.stdout.split())
        before = spent(agent)
        time.sleep(asked.seconds)
        between = spent(agent)
        end = time.monotonic() + asked.seconds
        while time.monotonic() < end:
            remote.ask("clock")
            time.sleep(_ASKED_S)
        after = spent(agent)
        for what, first, last in (("idle", before, between), ("asked", between, after)):
            cpu_ms, switches = ((one - other) for one, other in zip(last, first, strict=True))
            print(f"{what}: {cpu_ms:.1f} ms CPU, {switches:.0f} switches in {asked.seconds:g} s")
        print(" ".join((agent / "status").read_text().split("VmRSS:")[1].split()[:2]) + " resident")


def spent(process: Path) -> tuple[float, float]:
    """Return the CPU time of all its threads in milliseconds, and their context switches."""
    cpu_ns = switches = 0
    for thread in (process / "task").iterdir():
        cpu_ns += int((thread / "schedstat").read_text().split()[0])
        lines = (thread / "status").read_text().splitlines()
        switches += sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)
    return cpu_ns / 1e6, switches


if __name__ == "__main__":
    main()
