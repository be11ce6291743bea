"""A small HTTP/1.1 server: answers `ok` after counting to --spin, and `/count` with its counter."""

import argparse
import os
import selectors
import signal
import socket
import sys
import time
from pathlib import Path

CRASH_AFTER = 100
HOARD_BYTES = 1 << 20


def answer(mode: str, path: bytes, served: int) -> bytes:
    body = str(served).encode() if path == b"/count" else b"no\n" if mode == "wrong" else b"ok\n"
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def serve(host: str, port: int, spin: int, mode: str) -> None:
    listener = socket.create_server((host, port))
    selector = selectors.DefaultSelector()
    selector.register(listener, selectors.EVENT_READ)
    served = 0
    hoard = []
    while True:
        for key, _ in selector.select():
            connection = key.fileobj
            assert isinstance(connection, socket.socket)
            if connection is listener:
                selector.register(listener.accept()[0], selectors.EVENT_READ)
                continue
            request = connection.recv(4096)
            if not request:
                selector.unregister(connection)
                connection.close()
                continue
            path = request.split(b" ", 2)[1]
            for _ in range(spin):
                pass
            connection.sendall(answer(mode, path, served))
            served += path != b"/count"
            if mode == "hoard":
                hoard.append(bytearray(os.urandom(HOARD_BYTES)))
            if mode == "crash" and served > CRASH_AFTER:
                # A client notices before the process has ended.
                connection.close()
                time.sleep(0.1)
                sys.exit("the toy has had enough")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--spin", type=int, default=0)
    parser.add_argument("--mode", default="")
    parser.add_argument("--memory", type=Path, help="A file that nobody removes.")
    options = parser.parse_args()
    if options.memory:
        options.memory.touch()
    if options.mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.mode == "refuses":
        sys.exit("the toy does not want to")
    if options.mode == "idle":
        time.sleep(60)
    if options.mode == "holds":
        with socket.create_server((options.host, options.port)):
            print("holding", flush=True)
            time.sleep(60)
    serve(options.host, options.port, options.spin, options.mode)


main()
