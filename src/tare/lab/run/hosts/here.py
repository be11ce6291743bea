"""Questions about a machine that its agent answers, and this machine itself."""

from collections.abc import Callable
from typing import Any

from tare.lab.machine.hosts import agent
from tare.lab.run.benches import sources
from tare.probes import bystanders

_WATCHED_S = 0.5

HERE: dict[str, Callable[..., Any]] = {
    **agent.MACHINE,
    "sources": sources.of_laboratory,
    "busy": lambda: bystanders.named(bystanders.busy(_WATCHED_S)),
}
"""Question → what answers it."""
