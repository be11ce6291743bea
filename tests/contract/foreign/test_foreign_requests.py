"""The load generator asks servers that tare did not write, and both count the same."""

from collections.abc import Callable

import pytest
from foreign import H1, TLS_H1, spoken
from foreign_run import Running, command, load, wait_until

pytestmark = pytest.mark.contract
REQUESTS = 100
ROUNDS = ("-r", str(REQUESTS), "--timeout", "100s")
HELLO = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03"
EXACT = ("--expect-length", "6", "--expect-sha256", HELLO)


@pytest.mark.parametrize(("name", "way"), spoken())
def test_each_request_is_answered_once(serve: Callable[..., Running], name: str, way: str) -> None:
    running = serve(name)
    server = running.server
    kinds = {"get": ("/ok", EXACT), "head": ("/ok", ("-X", "HEAD"))}
    if server.post:
        post = ("-X", "POST", *EXACT)
        kinds["post"] = (server.post, (*post, "--body", "abc"))
        kinds["large post"] = (server.post, (*post, "-s", "200000"))
        # The server may answer 100 before its answer.
        kinds["continue"] = (server.post, (*post, "-s", "20", "-H", "Expect: 100-continue"))
    if server.chunked:
        kinds["chunked"] = (server.chunked, EXACT)
    if server.early:
        kinds["early"] = (server.early, EXACT)
    for kind, (path, options) in kinds.items():
        before = running.logged()
        result = load(command(running, way, *ROUNDS, *options, path=path))
        told = f"{kind}: {result['total']}"
        assert result["protocol"] == ("h1" if way in (H1, TLS_H1) else "h2"), told
        assert result["total"]["statuses"] == {"200": REQUESTS}, told
        assert not any(result["total"]["errors"].values()), told
        # Some write their lines later, and none writes more.
        wait_until(lambda since=before: running.logged() >= since + REQUESTS, running.told)
        assert running.logged() == before + REQUESTS, kind


@pytest.mark.parametrize(("name", "way"), [each for each in spoken() if each[1] in (H1, TLS_H1)])
def test_what_came_is_as_it_was_meant(serve: Callable[..., Running], name: str, way: str) -> None:
    """These servers do answer in chunks, and with hints before the answer."""
    running = serve(name)
    for path, mark in (
        (running.server.chunked, "transfer-encoding: chunked"),
        (running.server.early, " 103 "),
    ):
        if path:
            result = load(command(running, way, "-r", "3", "--show", "1", path=path))
            assert mark in result["samples"][0].lower(), result["samples"]
