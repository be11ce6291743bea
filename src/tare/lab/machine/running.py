"""A role that runs already: watched and measured, but neither started nor stopped."""

import os
import signal
from pathlib import Path

from tare.lab.errors import RoleError
from tare.lab.machine.listening import holders
from tare.lab.machine.proc import ended, family, start_time
from tare.lab.machine.process import Place
from tare.model.role import Running
from tare.probes.cpu import CpuTime, of_processes
from tare.probes.throttling import Throttling


def identity(host: str, port: int, kind: str) -> str:
    """Return which process listens: its number and its start. Raises RoleError if none does."""
    pid = min(holders(host, port, kind), key=lambda each: (start_time(each) or 0, each))
    return f"{pid} since {start_time(pid)}"


class RunningProcess:
    """The processes that listen on a port, with their children."""

    def __init__(self, role: str, running: Running, log: Path) -> None:
        """Find them. Raises RoleError if there are none, or others than `running` says."""
        found = identity(running.host, running.port, running.kind)
        if found != running.process:
            raise RoleError(
                f"role {role}: port {running.port} now belongs to process {found}, "
                f"expected {running.process}: the server was started anew"
            )
        self.role, self.log = role, log
        self.place = Place(None, sorted(os.sched_getaffinity(int(found.split()[0]))))
        self.pid = int(found.split()[0])
        self._started = start_time(self.pid)
        self._holders = holders(running.host, running.port, running.kind)

    def pids(self) -> list[int]:
        """Those that held the socket when it was found and live, with their descendants."""
        return family(self._holders)

    def cpu_time(self) -> CpuTime:
        """CPU time of the living processes."""
        return of_processes(self.pids())

    def throttling(self) -> Throttling:
        """Return no effects of limits: tare sets none."""
        return Throttling()

    def ensure_alive(self) -> None:
        """Raise RoleError when the process has ended."""
        if ended(self.pid) or start_time(self.pid) != self._started:
            raise RoleError(f"role {self.role}: the running process {self.pid} has ended")

    def last_words(self) -> str:
        """Return nothing: its output goes elsewhere."""
        return ""

    def stop(self, number: signal.Signals, patience_s: float) -> bool:
        """Leave it running."""
        return True
