"""A headless Chromium, driven over its own pipe by the Chrome DevTools Protocol."""

import base64
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PATIENCE_S = 30
NAMES = ("chromium", "chromium-browser", "google-chrome")


def found() -> str | None:
    """Return the program, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Page:
    """One tab, and all that it reported."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self._to, self._from = to_browser, os.fdopen(from_browser, "rb")
        self._number = 0
        self._session: str | None = None
        self._rest = b""
        self.requests: list[str] = []
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> Any:
        """Send a command, and return its result."""
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != number:
            self._note(answer)
        assert "error" not in answer, answer["error"]
        return answer["result"]

    def open(
        self, file: Path, width: int = 1280, *, dark: bool = False, print_: bool = False
    ) -> None:
        """Show a file at a width."""
        self.requests.clear()
        self.errors.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        media = "print" if print_ else ""
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])
        self.call("Page.navigate", url=file.as_uri())
        while True:
            event = self._next()
            self._note(event)
            if event.get("method") == "Page.loadEventFired":
                return

    def value(self, expression: str) -> Any:
        """Return what an expression of JavaScript evaluates to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, file: Path, *, whole: bool = True) -> None:
        """Write what is shown as PNG."""
        shot = self.call(
            "Page.captureScreenshot",
            captureBeyondViewport=whole,
            format="png",
            **({"clip": self._whole()} if whole else {}),
        )
        file.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self) -> bytes:
        """Return the page as it prints."""
        return base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True)["data"])

    def _whole(self) -> dict[str, float]:
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            more = self._from.read1(1 << 16)  # type: ignore[attr-defined]
            if not more:
                raise RuntimeError("Chromium has ended")
            self._rest += more
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        parameters = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                self.errors.append(str(parameters["exceptionDetails"]))
            case "Runtime.consoleAPICalled" | "Log.entryAdded":
                self.errors.append(json.dumps(parameters))


@contextmanager
def browser(program: str, profile: Path) -> Iterator[Page]:
    """Start a Chromium with a profile of its own, and end it."""
    their_in, our_out = os.pipe()
    our_in, their_out = os.pipe()

    def numbered() -> None:
        """Give Chromium its ends of the pipes as 3 and 4."""
        first, last = os.dup(their_in), os.dup(their_out)
        os.dup2(first, 3)
        os.dup2(last, 4)

    process = subprocess.Popen(
        [
            program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ],
        close_fds=False,
        preexec_fn=numbered,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    os.close(their_in)
    os.close(their_out)
    try:
        page = Page(our_out, our_in)
        yield page
        page.call("Browser.close")
    finally:
        os.close(our_out)
        try:
            process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
