"""The server that the generators load must answer with the bodies it is said to."""

import http.client
from typing import Any

from tare.lab.hooks import OracleError

BODIES = {"2b.txt": b"ok", "20k.txt": b"x" * 20460}


def oracle(site: Any) -> None:
    """Both bodies, byte for byte, on one kept connection."""
    connection = http.client.HTTPConnection(site.host, site.port["http"], timeout=5)
    for name, expected in BODIES.items():
        connection.request("GET", f"/{name}")
        answer = connection.getresponse()
        body = answer.read()
        if answer.status != 200 or body != expected:
            raise OracleError(
                f"/{name}: found status {answer.status} and {len(body)} bytes beginning with "
                f"{body[:20]!r}, expected 200 and {len(expected)} bytes"
            )
    connection.close()
