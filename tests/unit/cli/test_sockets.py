"""URLs of servers on Unix sockets."""

import click
import pytest

from tare.cli import sockets


@pytest.mark.parametrize(
    ("url", "socket", "plain"),
    [
        ("http://unix:{folder}/a.sock:/x?y=1", "{folder}/a.sock", "http://127.0.0.1:{port}/x?y=1"),
        ("https://unix:{folder}/deep/a", "{folder}/deep/a", "https://127.0.0.1:{port}/"),
        ("unix:{folder}/a", "{folder}/a", "tcp://127.0.0.1:{port}"),
    ],
)
def test_a_url_is_split_into_its_socket_and_the_rest(url: str, socket: str, plain: str) -> None:
    assert sockets.is_socket(url)
    assert sockets.split(url) == (socket, plain)


@pytest.mark.parametrize("url", ["http://127.0.0.1:80/unix:/a", "tcp://unix", "./server unix:/a"])
def test_other_urls_have_none(url: str) -> None:
    assert not sockets.is_socket(url)


@pytest.mark.parametrize("url", ["unix:/run/a", "http://unix::/x", "http://unix:{folder}:/x"])
def test_a_socket_that_servers_would_share_is_refused(url: str) -> None:
    with pytest.raises(click.UsageError, match=r"expected \{folder\}/NAME"):
        sockets.split(url)
