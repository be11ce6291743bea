"""Errors that a user's own servers answer are said before they are timed."""

from typing import Literal

import pytest

from tare.cli.error_answers import remarks
from tare.model.servers import Expected, Load, Request, Server, Servers


def servers(*statuses: list[int], protocol: Literal["h1", "grpc"] = "h1") -> Servers:
    return Servers(
        servers=[
            Server(
                name=name,
                command="./server {port}",
                folder="/",
                expected=[Expected(status=each) for each in own],
            )
            for name, own in zip(("old", "new"), statuses, strict=True)
        ],
        request=Request(protocol=protocol, path="/nosuch"),
        load=Load(),
    )


@pytest.mark.parametrize("status", [200, 204, 301, 304])
def test_an_answer_that_is_no_error_needs_no_remark(status: int) -> None:
    assert list(remarks(servers([status], [status]))) == []


def test_an_error_is_said_with_its_request() -> None:
    assert list(remarks(servers([404], [404]))) == [
        "old and new answer 404 to GET /nosuch; if that is not meant, change the request"
    ]
    assert list(remarks(servers([200], [500]))) == [
        "new answers 500 to GET /nosuch; if that is not meant, change the request"
    ]


def test_a_failed_call_is_an_error() -> None:
    (told,) = remarks(servers([12], [12], protocol="grpc"))
    assert told.startswith("old and new answer gRPC code 12 to /nosuch; ")


def test_of_several_requests_the_errors_are_counted() -> None:
    (told,) = remarks(servers([200, 404, 500, 404], [200, 404, 500, 404]))
    assert told.startswith("old and new answer 3 of 4 requests with 404 and 500; ")
