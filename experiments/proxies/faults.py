"""The backend, and what is done to it (or to the proxy) while its answers are measured.

    faults.py FAULT --after S --site FOLDER --reload FILE --relay ADDRESS --to ADDRESS -- COMMAND...

Runs COMMAND, nginx in the foreground, until it is told to end. When the window is open (the file
`measuring` is there) and S more seconds have passed, FAULT happens once:

    none             nothing: COMMAND takes this process's place, so that nothing of this is there.
    backend-restart  it stops at once, cutting what it is sending, and starts again 0.3 s later.
    backend-stall    its workers stand still for a second.
    backend-reset    between --relay and --to its bytes pass through here, and each connection that
                     is open is reset in the middle of its next answer.
    proxy-reload     `sh FILE`, the proxy's own way to take a new configuration.
"""

import argparse
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

FAULTS = ("none", "backend-restart", "backend-stall", "backend-reset", "proxy-reload")
STALL_S = 1.0
DOWN_S = 0.3
_CHUNK = 65536
_HALF = 8192
"""Bytes of an answer that pass before a reset: less than half of the 20,460 bytes of a body."""


class Backend:
    """The server that is run: started, stopped, stalled."""

    def __init__(self, command: list[str]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._wanted = True
        self._child = subprocess.Popen(command)

    def restart(self) -> None:
        """Stop it at once, and start it again a little later."""
        with self._lock:
            self._child.terminate()
            self._child.wait()
            time.sleep(DOWN_S)
            if self._wanted:
                self._child = subprocess.Popen(self._command)

    def stall(self) -> None:
        """Let its workers stand still; the kernel still accepts connections for them."""
        workers = _children(self._child.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        time.sleep(STALL_S)
        for pid in workers:
            os.kill(pid, signal.SIGCONT)

    def end(self, *_: object) -> None:
        """Stop it for good."""
        self._wanted = False
        self._child.send_signal(signal.SIGQUIT)

    def wait(self) -> int:
        """Its exit code, when it has ended for good."""
        while True:
            code = self._child.wait()
            with self._lock:
                if self._child.poll() is not None and not (self._wanted and code == 0):
                    return code
            time.sleep(0.01)


class Relay:
    """Passes bytes between the proxy and the backend, and cuts answers when it is told to."""

    def __init__(self, front: tuple[str, int], back: tuple[str, int]) -> None:
        self._back = back
        self._doomed: set[socket.socket] = set()
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(front, backlog=4096)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Doom the connections that are open now."""
        self._doomed |= set(self._open)

    def _accept(self) -> None:
        while True:
            front, _ = self._listener.accept()
            threading.Thread(target=self._serve, args=(front,), daemon=True).start()

    def _serve(self, front: socket.socket) -> None:
        with front, socket.create_connection(self._back) as back:
            for each in (front, back):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open.add(front)
            asking = threading.Thread(target=_pass, args=(front, back), daemon=True)
            asking.start()
            with contextlib.suppress(OSError):
                self._answer(front, back)
            self._open.discard(front)
            self._doomed.discard(front)
            with contextlib.suppress(OSError):
                front.shutdown(
                    socket.SHUT_RD
                )  # wakes the thread that asks, which else holds it open
            asking.join()

    def _answer(self, front: socket.socket, back: socket.socket) -> None:
        while chunk := back.recv(_CHUNK):
            if front in self._doomed and len(chunk) > _HALF:
                front.sendall(chunk[:_HALF])
                time.sleep(0.05)  # so that these bytes have been read before the reset
                # Closed without lingering, the kernel sends a reset instead of an orderly end.
                front.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return
            front.sendall(chunk)
        front.shutdown(socket.SHUT_WR)


def _pass(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while chunk := source.recv(_CHUNK):
            target.sendall(chunk)
        target.shutdown(socket.SHUT_WR)


def _children(pid: int) -> list[int]:
    return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _when_measured(site: Path, after_s: float) -> None:
    while not (site / "measuring").exists():
        time.sleep(0.005)
    time.sleep(after_s)


def _happen(fault: str, site: Path, reload: Path, backend: Backend, relay: Relay | None) -> None:
    print(f"fault: {fault} begins", flush=True)
    match fault:
        case "backend-restart":
            backend.restart()
        case "backend-stall":
            backend.stall()
        case "backend-reset" if relay is not None:
            relay.cut()
        case "proxy-reload":
            subprocess.run(["sh", str(reload)], check=True)
    print(f"fault: {fault} is over", flush=True)
    (site / "fault-over").touch()


def main() -> int:
    """Run the backend, let the fault happen, and end as the backend does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("fault", choices=FAULTS)
    parser.add_argument("--after", type=float, required=True)
    parser.add_argument("--site", type=Path, required=True)
    parser.add_argument("--reload", type=Path, required=True)
    parser.add_argument("--relay", type=_address, required=True)
    parser.add_argument("--to", type=_address, required=True)
    parser.add_argument("command", nargs="+")
    known = parser.parse_args()
    if known.fault == "none":
        os.execv(known.command[0], known.command)
    backend = Backend(known.command)
    for number in (signal.SIGQUIT, signal.SIGTERM, signal.SIGINT):
        signal.signal(number, backend.end)
    relay = Relay(known.relay, known.to) if known.fault == "backend-reset" else None

    def later() -> None:
        _when_measured(known.site, known.after)
        _happen(known.fault, known.site, known.reload, backend, relay)

    threading.Thread(target=later, daemon=True).start()
    return backend.wait()


if __name__ == "__main__":
    sys.exit(main())
