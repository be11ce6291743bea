"""`-p auto`: the server chooses the version of HTTP, and that one is spoken."""

from collections.abc import Callable
from typing import Any

import pytest
from foreign import H1, SERVERS, TLS_H1, TLS_H2
from foreign_run import Running, command, load

pytestmark = pytest.mark.contract


def asked(running: Running, way: str, protocol: str = "auto") -> tuple[str, Any]:
    """Return the protocol that was spoken, without any error, and the server's choice."""
    rounds = ("-r", "20", "--timeout", "100")
    result = load(command(running, way, *rounds, protocol=protocol))
    assert result["total"]["statuses"] == {"200": 20}, result["total"]
    assert not any(result["total"]["errors"].values()), result["total"]
    return result["protocol"], result["tls"] and result["tls"]["alpn"]


@pytest.mark.parametrize("name", [name for name in SERVERS if TLS_H2 in SERVERS[name].ways])
def test_http2_is_spoken_where_the_server_chooses_it(
    serve: Callable[..., Running], name: str
) -> None:
    assert asked(serve(name), TLS_H2) == ("h2", "h2")


@pytest.mark.parametrize("name", [name for name in SERVERS if SERVERS[name].http2])
def test_http1_is_spoken_where_the_server_has_no_other(
    serve: Callable[..., Running], name: str
) -> None:
    """Some choose it, and some choose nothing."""
    assert asked(serve(name, http2=False), TLS_H1) in (("h1", "http/1.1"), ("h1", None))


@pytest.mark.parametrize("name", [name for name in SERVERS if H1 in SERVERS[name].ways])
def test_http1_is_spoken_without_tls(serve: Callable[..., Running], name: str) -> None:
    """To those, too, that also take HTTP/2 there: nothing was chosen."""
    assert asked(serve(name), H1) == ("h1", None)


def test_http3_is_never_chosen(serve: Callable[..., Running]) -> None:
    """The server has it, but no TCP connection can lead to it."""
    running = serve("caddy")
    assert asked(running, TLS_H2, "h3")[0] == "h3"
    assert asked(running, TLS_H2) == ("h2", "h2")
