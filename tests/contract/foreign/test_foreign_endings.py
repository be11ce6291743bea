"""Foreign servers end connections, and themselves, under load: no request is lost uncounted."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from foreign import SERVERS, spoken
from foreign_run import PATIENCE_S, REQUEST_ERRORS, Running, command, failed, load, wait_until

pytestmark = pytest.mark.contract
ENOUGH = 100
"""Requests that the server must have written down before it is disturbed."""


@contextmanager
def loaded(running: Running, way: str) -> Iterator[dict[str, Any]]:
    """Load the server for the block, and fill in the result."""
    # What is still unanswered at the end is waited for so long.
    argv = command(running, way, "-d", "600", "--warmup", "0", "--timeout", "2")
    generator = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    result: dict[str, Any] = {}
    try:
        yield result
        # It may have given up by itself, if nothing listens any more.
        generator.send_signal(signal.SIGINT)
        stdout, stderr = generator.communicate(timeout=PATIENCE_S)
        assert stdout.startswith("{"), stderr
        result |= json.loads(stdout)
    finally:
        generator.kill()
        generator.wait()


def assert_counted(result: dict[str, Any], running: Running) -> None:
    """Hold what the server has written down against what the generator says became of it."""
    answered = result["total"]["requests"]
    sent = answered + failed(result) + result["load"]["unfinished"]
    assert answered > 0 and running.logged() <= sent, (running.logged(), result)


def asked_to_end(running: Running) -> bool:
    """Tell a server to end, and return whether it has."""
    assert running.server.stop is not None
    # Told again and again: lighttpd forgets a signal that comes just before its new start.
    running.process.send_signal(running.server.stop)
    time.sleep(1)
    return running.process.poll() is not None


def with_signal(kind: str) -> list[tuple[str, str]]:
    return [each for each in spoken() if getattr(SERVERS[each[0]], kind) is not None]


@pytest.mark.parametrize(
    ("name", "way"), [each for each in spoken() if each[0] in ("apache", "lighttpd", "nginx")]
)
def test_a_connection_that_ends_when_it_has_served_enough_costs_no_request(
    serve: Callable[..., Running], name: str, way: str
) -> None:
    """It says so in its last answer, or by a GOAWAY."""
    running = serve(name)
    result = load(command(running, way, "-r", "500", "--timeout", "100"))
    assert result["total"]["statuses"] == {"200": 500}, result["total"]
    assert sum(result["total"]["errors"].values()) == 0, result["total"]
    wait_until(lambda: running.logged() >= 500, running.told)


@pytest.mark.parametrize(("name", "way"), with_signal("stop"))
def test_nothing_is_lost_uncounted_when_the_server_ends_with_care(
    serve: Callable[..., Running], name: str, way: str
) -> None:
    running = serve(name)
    assert running.server.stop is not None
    with loaded(running, way) as result:
        wait_until(lambda: running.logged() >= ENOUGH, running.told)
        running.process.send_signal(running.server.stop)
        wait_until(lambda: running.process.poll() is not None, running.told)
    assert_counted(result, running)


@pytest.mark.parametrize(("name", "way"), with_signal("reload"))
def test_nothing_is_lost_uncounted_when_the_server_reads_its_configuration_anew(
    serve: Callable[..., Running], name: str, way: str
) -> None:
    running = serve(name)
    assert running.server.reload is not None
    with loaded(running, way) as result:
        for most in (ENOUGH, 2 * ENOUGH, 3 * ENOUGH):
            wait_until(lambda most=most: running.logged() >= most, running.told)
            running.process.send_signal(running.server.reload)
        wait_until(lambda: running.logged() >= 4 * ENOUGH, running.told)
    # Then all its lines are written.
    wait_until(lambda: asked_to_end(running), running.told)
    assert_counted(result, running)


@pytest.mark.parametrize(("name", "way"), spoken())
def test_what_is_due_is_counted_when_the_server_is_killed(
    serve: Callable[..., Running], name: str, way: str
) -> None:
    """By the clock: what is due after the server's end counts, too."""
    running = serve(name)
    clock = ("--rate", "300", "--arrivals", "even", "-d", "1", "--warmup", "0", "--timeout", "1")
    argv = command(running, way, *clock)
    generator = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: running.logged() > 50 or generator.poll() is not None, running.told)
        running.close()
        stdout, stderr = generator.communicate(timeout=PATIENCE_S)
    finally:
        generator.kill()
        generator.wait()
    result = json.loads(stdout)
    told = (result["load"], result["errors"], stderr)
    offered, known = result["load"]["offered"], result["load"]["completed"]
    known += result["load"]["unfinished"]
    # A connection that breaks while it has no request is an error, too.
    errors = sum(result["errors"][kind] for kind in REQUEST_ERRORS)
    assert known <= offered == 300 <= known + errors, told
