"""Benches compared with each other, before anything is measured."""

import time
from collections.abc import Iterator, Mapping
from typing import Any

from tare.lab.run.benches import sources
from tare.lab.run.benches.pool import opened
from tare.lab.run.hosts import checking
from tare.model.benches import Benches

_COMPARED = {
    "cpu": "CPU",
    "cpu_count": "number of CPUs",
    "microcode": "microcode",
    "memory_bytes": "bytes of memory",
    "kernel": "kernel",
    "kernel_command_line": "kernel's command line",
    "distribution": "system",
    "compilers": "compilers",
    "revision": "commit of tare",
}
_LOOK_S = 0.2
OTHERS = "its files of the laboratory differ from those here; bring both to the same commit"


def look(benches: Benches, wait_s: float) -> dict[str, Any]:
    """Return bench → what it is, of those that join within some seconds. Raises TareError."""
    with opened(benches) as pool:
        give_up = time.monotonic() + wait_s
        while len(pool.names()) < len(benches.benches) and time.monotonic() < give_up:
            time.sleep(_LOOK_S)
        return pool.descriptions(benches.spread)


def is_ours(what: Mapping[str, Any]) -> bool:
    """Return true if a bench has the laboratory of this machine, as each must that makes blocks."""
    return bool(what.get("sources") == sources.of_laboratory())


def described(what: Mapping[str, Any] | None) -> str:
    """Return what a bench is, in a few words, with a line for each thing to say of its hosts."""
    if what is None:
        return "not there"
    lines = [f"{what['cpu']}, kernel {what['kernel']}"]
    for each in hosts_of(what):
        lines += [f"  {line}" for line in checking.described(each)]
    return "\n".join(lines)


def hosts_of(what: Mapping[str, Any]) -> list[checking.HostSeen]:
    """Return the hosts of a bench's roles, as they were found."""
    return [checking.HostSeen.model_validate(each) for each in what.get("hosts", [])]


def differences(found: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Say in a line each what is not the same on all benches."""
    for key, title in _COMPARED.items():
        values = {name: what.get(key) for name, what in found.items()}
        if len({repr(value) for value in values.values()}) > 1:
            yield f"{title}: " + "; ".join(f"{name} {value}" for name, value in values.items())
    settings = {
        (finding["name"], name): finding["value"]
        for name, what in found.items()
        for finding in what.get("audit", [])
        if finding["status"] in ("ok", "differs")
    }
    for setting in dict.fromkeys(key for key, _ in settings):
        values = {name: settings.get((setting, name)) for name in found}
        if len(set(values.values())) > 1:
            yield f"{setting}: " + "; ".join(f"{name} {value}" for name, value in values.items())
