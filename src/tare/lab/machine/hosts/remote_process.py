"""A process that an agent started; what it writes to its log is copied to the laboratory's."""

import queue
import signal
from typing import TYPE_CHECKING, Any

from tare.lab.errors import HostLost
from tare.lab.machine.hosts import wire
from tare.lab.machine.hosts.host import Launch
from tare.lab.machine.process import MOST_LOG, Place, last_words

if TYPE_CHECKING:
    from tare.lab.machine.hosts.remote import Remote

_KILL_PATIENCE_S = 10.0


class RemoteProcess:
    """One running role of another host."""

    def __init__(self, host: "Remote", what: Launch, pid: int, stream: Any) -> None:
        """`pid` is its number there, `stream` the channel of its standard output, if that is read
        here.
        """
        self.role, self.log, self.pid = what.role, what.log, pid
        self.place = Place(None, what.cpus, what.caps, machine=host.machine)
        self._host = host
        self._copied = 0
        self._stream = stream  # execnet announces the end of channels that are still held
        self._output: queue.Queue[bytes] = queue.Queue()
        self.log.touch()
        if stream is not None:
            stream.setcallback(self._output.put, endmarker=b"")

    def ensure_alive(self) -> None:
        """Raise what a process of this machine would, and HostLost; copy what its log gained."""
        found = self._host.ask("state", self.pid, self._copied)
        self._copy(found["log"])
        if found["fault"] is not None:
            kind, text = found["fault"]
            raise wire.raised(kind, text, self._host.name)

    def last_words(self) -> str:
        """The end of its log, to be appended to a message."""
        return last_words(self.log)

    def output(self, timeout_s: float) -> bytes | None:
        """Return what it has written to its standard output: nothing at the end of it, and None if
        there is none within `timeout_s`.
        """
        try:
            return self._output.get(timeout=timeout_s)
        except queue.Empty:
            return None

    def wait(self, timeout_s: float) -> int | None:
        """Return its exit code, or None if it has not ended within `timeout_s`."""
        found = self._host.ask("wait", self.pid, timeout_s, patience_s=timeout_s)
        return None if found is None else int(found)

    def stop(self, number: signal.Signals, patience_s: float) -> bool:
        """Ask it to end, kill what has not within `patience_s`. True when it ended by itself, or
        its host was lost, where the guardian ends it.
        """
        try:
            ended = self._host.ask("stop", self.pid, int(number), patience_s, patience_s=patience_s)
            self._copy_all()
        except HostLost:
            return True
        return bool(ended)

    def kill(self) -> None:
        """SIGKILL all its processes, and wait until they have ended."""
        try:
            self._host.ask("kill", self.pid, patience_s=_KILL_PATIENCE_S)
            self._copy_all()
        except HostLost:
            return

    def _copy_all(self) -> None:
        while self._copied <= MOST_LOG:
            found = self._host.ask("state", self.pid, self._copied)
            if not found["log"]:
                return
            self._copy(found["log"])

    def _copy(self, fresh: bytes) -> None:
        with self.log.open("ab") as log:
            log.write(fresh)
        self._copied += len(fresh)
