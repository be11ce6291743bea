"""A small server for duels: `server.py PORT|SOCKET [MODE]`."""

import itertools
import os
import signal
import socket
import sys
import threading
import time

BODY = b"hello\n"
ANSWERS = itertools.count()


def answer(mode: str, number: int, asked: bytes) -> bytes:
    more = b"X-More: 1\r\n" if mode == "header" else b""
    body = b"other\n" if mode == "body" else b"%d\n" % number if mode == "counts" else BODY
    if mode.startswith("paths"):
        body = b"other\n" if mode == "paths-b" and b" /b " in asked else asked.split(b"\r\n")[0]
    fails = mode == "status" or (mode == "fails" and number > 10)
    status = b"500 No" if fails else b"200 OK"
    return b"HTTP/1.1 %s\r\n%sContent-Length: %d\r\n\r\n%s" % (status, more, len(body), body)


def serve(stream: socket.socket, mode: str) -> None:
    own = 0
    with stream:
        if stream.family != socket.AF_UNIX:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while asked := stream.recv(4096):
            if mode == "slow":
                sum(range(20_000))
            if mode == "late":
                time.sleep(0.01)
            stream.sendall(answer(mode, next(ANSWERS), asked))
            own += 1
            if mode == "crash" and own > 15:
                print("out of luck", file=sys.stderr, flush=True)
                os._exit(3)


def listening(place: str) -> socket.socket:
    if place.isdecimal():
        return socket.create_server(("127.0.0.1", int(place)), backlog=64)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(place)
    listener.listen(64)
    return listener


def main() -> None:
    place, mode = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    if mode == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if mode == "leaks" and os.fork() == 0:
        os.setsid()
        time.sleep(600)
    if mode == "loud":
        print("x" * 1_000_000, flush=True)
    with listening(place) as listener:
        while True:
            stream, _ = listener.accept()
            threading.Thread(target=serve, args=(stream, mode), daemon=True).start()


main()
