"""Python's own HTTP server: `python_server.py PORT [header]`; `header` adds one to each answer."""

import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MORE = "header" in sys.argv[2:]


class Handler(BaseHTTPRequestHandler):
    """Answers any path with the same text."""

    protocol_version = "HTTP/1.1"
    # The head and the body leave together.
    wbufsize = -1

    def do_GET(self) -> None:
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "6")
        if MORE:
            self.send_header("X-More", "1")
        self.end_headers()
        self.wfile.write(b"hello\n")

    def log_message(self, form: str, *values: object) -> None:
        """Write no line a request."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
