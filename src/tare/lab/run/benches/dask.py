"""Dask as the benches' engine: who talks to whom, encrypted, and doing little while a block runs.

Its defaults are left where they would disturb a measurement or open a door: profiler and frequent
ticks are off, nothing answers HTTP, and connections are TLS 1.3 with certificates on both sides.
"""

import logging
import ssl
from typing import Any

import dask
from distributed import Scheduler, Security, Worker
from distributed.http.routing import RoutingApplication
from tornado.httpserver import HTTPServer
from tornado.ioloop import PeriodicCallback

from tare.lab.run.benches import keys
from tare.model.benches import Benches

_SETTINGS = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.tick.limit": "1 hour",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    # A bench that hangs or lost its network gives its block to another.
    "distributed.scheduler.worker-ttl": "30s",
    "distributed.comm.timeouts.connect": "10s",
    "distributed.comm.timeouts.tcp": "30s",
    "distributed.diagnostics.nvml": False,
}
_SILENCE_LOOK_S = 2.0
_LOGGERS = ("distributed", "distributed.client", "tornado", "tornado.application")
"""Those that Dask gives levels of their own."""


def settle() -> None:
    """Set what holds for this process."""
    dask.config.set(_SETTINGS)
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def security(benches: Benches, name: str) -> Security:
    """Return what `name` shows of itself, and whom it believes. Raises TareError."""
    authority, own = map(str, keys.files_of(benches, name))
    return Security(
        require_encryption=True,
        tls_min_version=ssl.TLSVersion.TLSv1_3,
        tls_ca_file=authority,
        **{f"tls_{role}_cert": own for role in ("client", "scheduler", "worker")},
    )


def url(address: str, port: int) -> str:
    """Return what Dask calls a place where somebody listens; 0 is any port."""
    return f"tls://{f'[{address}]' if ':' in address else address}:{port}"


class _NoPages:
    """Leaves out the HTTP server, which would neither encrypt nor ask who is there."""

    def start_http_server(self, *_: Any, **__: Any) -> None:
        self.http_application = RoutingApplication([])
        self.http_server = HTTPServer(self.http_application)


class QuietScheduler(_NoPages, Scheduler):  # type: ignore[misc]
    """Dask's scheduler without pages. It looks often for benches that hang."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Dask's own interval is as long as a bench may be silent, which doubles the time until one
        # is noticed.
        self.periodic_callbacks["worker-ttl"] = PeriodicCallback(
            self.check_worker_ttl, 1000 * _SILENCE_LOOK_S
        )


class QuietWorker(_NoPages, Worker):  # type: ignore[misc]
    """Dask's worker without pages."""
