"""The agent of a host, with what only a run knows: installing, building, and comparing sources."""

from typing import Any

from tare.lab.machine.hosts import agent
from tare.lab.machine.hosts.agent import Channel
from tare.lab.project.preparation import fingerprint, prepare
from tare.lab.run import subject
from tare.lab.run.benches import sources
from tare.lab.run.hosts.here import HERE
from tare.model.servers import Servers
from tare.model.trial import Plan


def serve(channel: Channel) -> None:
    """Answer the laboratory's questions until it has gone."""
    agent.serve(channel, {**HERE, "prepare": prepared})


def prepared(plan: str, own: str | None) -> dict[str, Any]:
    """Make what a plan measures ready here; return digests of its sources and its builds."""
    stored = Plan.model_validate_json(plan)
    servers = None if own is None else Servers.model_validate_json(own)
    loaded = subject.loaded(stored, servers)
    ready = prepare(loaded, stored.variants, lambda _: None, stored.scenarios)
    return {
        "sources": sources.digest(loaded),
        "fingerprint": fingerprint(loaded, ready),
        "lacking": {name: why for name in stored.variants if (why := ready.why_not(name))},
    }
