"""What of the cache is in memory is the machine's doing: the fill says so by its exit code."""

import importlib
import os
import socket
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from tare.lab.paths import ROOT


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "experiments" / "cache"))
    for name in ("fill", "memory"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("fill")


def test_hot_objects_that_do_not_stay_in_memory_are_no_fault_of_the_cache(
    fill: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fill, "_file", lambda folder, path: folder / path)
    monkeypatch.setattr(fill, "_fetch", lambda *_: None)
    monkeypatch.setattr(fill.memory, "drop", lambda _: None)
    monkeypatch.setattr(fill.memory, "resident", lambda _: (2950, 3000))
    with pytest.raises(SystemExit) as ended:
        fill._settle("a cache", Path("/"), ["hot"], [])
    assert ended.value.code == os.EX_TEMPFAIL
    assert "2950 of 3000 pages of hot objects are in memory" in capsys.readouterr().err


def test_a_port_that_was_just_given_up_can_be_used(fill: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as earlier:
        place = earlier.getsockname()
        with socket.create_connection(place) as client:
            # Who closes first keeps the port for a minute.
            earlier.accept()[0].close()
            assert client.recv(1) == b""
    fill._Server(place, BaseHTTPRequestHandler).server_close()


class _Forgetful(BaseHTTPRequestHandler):
    """A cache that keeps an object only when it is fetched for so many times."""

    needed = 0
    fetched: ClassVar[Counter[str]] = Counter()

    def do_GET(self) -> None:
        self.fetched[self.path] += 1
        self._answer("MISS")

    def do_HEAD(self) -> None:
        self._answer("HIT from here" if self.fetched[self.path] >= self.needed else "MISS")

    def _answer(self, status: str) -> None:
        self.send_response(200)
        self.send_header("X-Cache", status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def forgetful() -> Iterator[Callable[[int], str]]:
    """Starts such a cache; returns its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Forgetful) as server:
        Thread(target=server.serve_forever).start()

        def needing(fetches: int) -> str:
            _Forgetful.needed = fetches
            _Forgetful.fetched.clear()
            return f"127.0.0.1:{server.server_port}"

        yield needing
        server.shutdown()


def test_what_a_cache_did_not_keep_is_fetched_again(
    fill: Any, forgetful: Callable[[int], str], capsys: pytest.CaptureFixture[str]
) -> None:
    fill._keep(forgetful(3), ["/a", "/b"])
    assert _Forgetful.fetched == {"/a": 3, "/b": 3}
    with pytest.raises(SystemExit) as ended:
        fill._keep(forgetful(99), ["/a", "/b"])
    assert ended.value.code == os.EX_TEMPFAIL
    assert "2 of 2 objects were not kept" in capsys.readouterr().err
