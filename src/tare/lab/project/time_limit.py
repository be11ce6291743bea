"""A time limit for code that the laboratory calls and did not write."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class TimeOver(BaseException):
    """The time is over. No handler of failures in the code within may take it for one."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Within, TimeOver is raised after so many seconds, also out of a system call that waits.

    Only the main thread can be interrupted; in another one there is no limit.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def over(_: int, __: FrameType | None) -> None:
        raise TimeOver

    handler = signal.signal(signal.SIGALRM, over)
    before = signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, *before)
        signal.signal(signal.SIGALRM, handler)
