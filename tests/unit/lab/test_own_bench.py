"""Failures of a user's own servers name the one that has ended."""

import re
from typing import Any

import pytest

from tare.lab.errors import RoleError, TareError
from tare.lab.run.own_bench import naming_ended
from tare.model.servers import Load, Request, Server, Servers

SERVERS = Servers(
    servers=[
        Server(name=name, command=f"./{name} {{port}}", folder="/") for name in ("old", "new")
    ],
    request=Request(),
    load=Load(),
)


class Standing:
    """A site, whose server may have ended."""

    def __init__(self, variant: str, ended: str = "") -> None:
        self.variant, self._ended = variant, ended

    def ensure_alive(self) -> None:
        if self._ended:
            raise RoleError(self._ended)


def test_a_server_that_has_ended_is_named_with_its_command() -> None:
    ended = "role sut ended with signal SIGSEGV: its | last lines"
    sites: list[Any] = [Standing("old"), Standing("new", ended)]
    words = f"new (./new {{port}}): {ended}"
    with pytest.raises(TareError, match=f"^{re.escape(words)}$"), naming_ended(SERVERS, sites):
        raise RoleError("it closed its connections")


def test_a_failure_of_living_servers_stays_as_it_is() -> None:
    sites: list[Any] = [Standing("old"), Standing("new")]
    with pytest.raises(TareError, match=r"^too fast$"), naming_ended(SERVERS, sites):
        raise TareError("too fast")
