"""Python's own HTTP server: `server.py FOLDER HOST PORT`, a line in FOLDER/access.log a request."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LOG = Path(sys.argv[1], "access.log").open("a", buffering=1)  # noqa: SIM115


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        chunked = self.path == "/chunked"
        self.send_response(200)
        if chunked:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", "6")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"3\r\nhel\r\n3\r\nlo\n\r\n0\r\n\r\n" if chunked else b"hello\n")

    do_HEAD = do_GET

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.do_GET()

    def log_message(self, form: str, *values: object) -> None:
        # "100 Continue" is no line of its own.
        LOG.write(f"{form % values}\n")


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


Server((sys.argv[2], int(sys.argv[3])), Handler).serve_forever()
