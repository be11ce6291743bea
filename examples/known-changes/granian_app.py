"""An application for Granian, a server written in Rust; SLEEP_US says how long a request sleeps."""

import os
import time
from collections.abc import Callable, Iterable

SLEEP_S = int(os.environ.get("SLEEP_US", "0")) / 1e6


def app(environ: dict[str, object], start: Callable[..., object]) -> Iterable[bytes]:
    """Answer any request (WSGI)."""
    if SLEEP_S:
        time.sleep(SLEEP_S)
    start("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "6")])
    return [b"hello\n"]
