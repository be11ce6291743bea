"""A foreign server that runs, and the load generator against it."""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreign import H2C, PROGRAMS, TLS_H1, TLS_H2, Foreign

from tare.lab.project import build

PATIENCE_S = 120
REQUEST_ERRORS = ("body", "read", "status", "timeout", "ttfb_timeout", "write")
"""Those that end a request; the others end the making of a connection."""
BODY = "hello\n"
METHODS = re.compile(r"\b(?:GET|HEAD|POST)\b")


class Running:
    """A server in a folder of its own, which `close` kills."""

    def __init__(self, server: Foreign, folder: Path, host: str, port: int, *, http2: bool) -> None:
        self.server, self.folder = server, folder
        self._at, self._ports = host, (port, port + 1)
        certificate = build.component("certificate", print)
        program = server.program()
        named = {
            "folder": folder,
            "host": host,
            "port": port,
            "tls_port": port + 1,
            "certificate": certificate,
            "program": Path(program).parent,
        }

        def filled(text: str) -> str:
            for name, value in named.items():
                text = text.replace(f"@{name}@", str(value))
            return text

        (folder / "www").mkdir()
        (folder / "www" / "ok").write_text(BODY)
        keys = [(certificate / name).read_text() for name in ("certificate.pem", "key.pem")]
        (folder / "both.pem").write_text("".join(keys))
        for name in server.files:
            text = (PROGRAMS / name).read_text()
            if server.http2 is not None and not http2:
                text = text.replace(*server.http2)
            (folder / name).write_text(filled(text))
            (folder / name).chmod(0o755)
        with (folder / "output").open("w") as output:
            self.process = subprocess.Popen(
                [program, *filled(server.arguments).split()],
                env=os.environ | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder)},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                # Its processes are killed together.
                start_new_session=True,
            )

    def await_ready(self) -> None:
        """Wait until it accepts connections wherever it should."""
        needed = {self._ports[way in (TLS_H1, TLS_H2)] for way in self.server.ways}
        for port in needed:
            wait_until(lambda port=port: self._accepts(port), self.told)

    def _accepts(self, port: int) -> bool:
        assert self.process.poll() is None, f"it ended: {self.told()}"
        with socket.socket() as client:
            return client.connect_ex((self._at, port)) == 0

    def told(self) -> str:
        """Return what it said."""
        files = [self.folder / name for name in ("output", "error.log")]
        return "\n".join(file.read_text()[-2000:] for file in files if file.exists())

    def url(self, way: str, path: str = "/ok") -> str:
        """Return the URL of a path."""
        secure = way in (TLS_H1, TLS_H2)
        return f"http{'s' * secure}://{self._at}:{self._ports[secure]}{path}"

    def logged(self) -> int:
        """Return how many requests it has written down."""
        file = self.folder / self.server.log
        return len(METHODS.findall(file.read_text())) if file.exists() else 0

    def close(self) -> None:
        """Kill it and all its processes."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def command(
    running: Running, way: str, *options: str, path: str = "/ok", protocol: str | None = None
) -> list[str]:
    """Return the command of a load on a server, by default in this way; its result is JSON."""
    program = build.component("load", print) / "bin" / "tare-load"
    spoken = protocol or ("h2" if way in (H2C, TLS_H2) else "h1")
    return [str(program), running.url(way, path), "-p", spoken, "-c", "3", "--json", *options]


def load(argv: list[str]) -> dict[str, Any]:
    """Return the result of a load."""
    done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stdout.startswith("{"), f"{argv}: exit code {done.returncode}: {done.stderr}"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def failed(result: dict[str, Any]) -> int:
    """Return how many requests ended in an error, the whole run long."""
    return sum(result["total"]["errors"][kind] for kind in REQUEST_ERRORS)


def wait_until(holds: Callable[[], bool], told: Callable[[], str]) -> None:
    """Wait for something that must come to hold."""
    give_up = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < give_up, told()
        time.sleep(0.02)
