"""The oracle of the server that is loaded: what it must not let pass."""

import os
import signal
import time

import pytest
from adapters import needed

from tare.lab.project.hooks import HookError, OracleError

pytestmark = pytest.mark.contract
PEER = "wrk"


@pytest.fixture
def started(site):
    """The server, as any variant has it."""
    needed(PEER)
    return site(PEER)


def test_it_holds_again_and_again(started):
    started.hooks.oracle(started)
    started.hooks.oracle(started)


def test_a_wrong_body_is_refused(started):
    (started.folder / "server" / "2b.txt").write_text("no")
    with pytest.raises(OracleError, match=r"h1: /2b.txt: found status 200 and 2 bytes .*b'no'"):
        started.hooks.oracle(started)


@pytest.mark.parametrize(
    ("line", "instead", "sentence"),
    [
        ("ssl_protocols TLSv1.3;", "ssl_protocols TLSv1.2 TLSv1.3;", "accepts TLS 1.2"),
        ("curve X25519;", "curve X25519:prime256v1;", "accepts a group that is not X25519"),
        ("Ciphersuites TLS_AES_128_GCM_SHA256;", "Ciphersuites TLS_AES_256_GCM_SHA384;", "found"),
        ("http2 on;", "http2 off;", "ALPN: found .*, expected h2"),
    ],
)
def test_another_way_to_encrypt_is_refused(started, line, instead, sentence):
    file = started.folder / "server" / "nginx.conf"
    assert line in file.read_text()
    file.write_text(file.read_text().replace(line, instead))
    os.kill(started.processes["server"].pid, signal.SIGHUP)
    give_up = time.monotonic() + 10
    with pytest.raises(OracleError, match=sentence):
        while time.monotonic() < give_up:  # until the new worker has taken over
            try:
                started.hooks.oracle(started)
            except OracleError as error:
                # The old worker ends its connections with a GOAWAY.
                if "frame of type 7" not in str(error):
                    raise
            except HookError as error:
                # Its sockets are closed before the new one's are open.
                if "Connection" not in str(error):
                    raise
