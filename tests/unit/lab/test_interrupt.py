import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tare.lab.errors import Interrupted
from tare.lab.interrupt import held, raising


def test_the_first_signal_raises_and_later_ones_are_ignored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with raising():
        with pytest.raises(Interrupted, match="stopped by SIGTERM"):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_is_held_back_is_obeyed_at_the_end() -> None:
    done = []
    with raising(), pytest.raises(Interrupted, match="stopped by SIGHUP"), held():
        signal.raise_signal(signal.SIGHUP)
        signal.raise_signal(signal.SIGTERM)
        done.append("the rest")
    assert done == ["the rest"]


def test_holding_back_changes_nothing_else() -> None:
    with raising():
        before = signal.getsignal(signal.SIGINT)
        with held():
            pass
        assert signal.getsignal(signal.SIGINT) is before


def test_a_thread_of_a_script_s_own_has_nothing_to_hold_back() -> None:
    def work() -> str:
        with held():
            return "done"

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(work).result() == "done"
