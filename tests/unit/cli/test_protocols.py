"""Protocols of a user's own servers: URLs that fit, and options that do not."""

import click
import pytest

from tare.cli import running_servers
from tare.cli.protocols import PROTOCOLS, refuse_options, spoken


@pytest.mark.parametrize(
    ("named", "url", "protocol", "scheme"),
    [
        (None, None, "h1", "http"),
        (None, "https://127.0.0.1:{port}/a?b", "h1", "https"),
        (None, "ws://127.0.0.1:{port}/", "ws", "ws"),
        (None, "tcp://127.0.0.1:{port}", "echo", "tcp"),
        ("proto", "tcp://127.0.0.1:{port}/", "proto", "tcp"),
        ("h3", None, "h3", "https"),
        ("grpc", None, "grpc", "http"),
        ("ws", "https://127.0.0.1:{port}/", "ws", "https"),
        ("ws", None, "ws", "ws"),
        ("echo", None, "echo", "tcp"),
    ],
)
def test_protocol_and_scheme_follow_from_each_other(
    named: str | None, url: str | None, protocol: str, scheme: str
) -> None:
    found, target = spoken(named, url)
    assert (found, target.scheme) == (protocol, scheme)


@pytest.mark.parametrize(
    ("named", "url", "words"),
    [
        (None, "unix:/run/socket", "expected http://, https://, ws://, wss://, tcp://"),
        ("h2", "tcp://h:1", "found tcp:// for h2, expected http:// or https://"),
        ("h3", "http://h:1/", "found http:// for h3, expected https://"),
        ("echo", "http://h:1/", "found http:// for echo, expected tcp://"),
        (None, "tcp://h:1/path", "found a path, expected tcp://HOST:PORT"),
        (None, "http://[::1/", "http://[::1/: Invalid IPv6 URL"),
    ],
)
def test_a_url_that_does_not_fit_is_told(named: str | None, url: str, words: str) -> None:
    with pytest.raises(click.UsageError) as refused:
        spoken(named, url)
    assert words in str(refused.value)


def test_an_option_is_refused_only_where_it_makes_no_sense() -> None:
    for protocol in PROTOCOLS:
        refuse_options(protocol, {"--connections"})
    refuse_options("grpc", {"--get", "--header", "--body", "--requests"})
    refuse_options("proto", {"--body"})
    for protocol, option in (("grpc", "--method"), ("ws", "--body"), ("echo", "--get")):
        with pytest.raises(click.UsageError, match=f"^{option}: {protocol} "):
            refuse_options(protocol, {option})


def test_urls_of_running_servers_that_are_none_are_told() -> None:
    with pytest.raises(click.UsageError, match="Invalid IPv6 URL"):
        running_servers.common(["http://127.0.0.1:1/", "http://[::1/"])
