import time
from pathlib import Path

from tare.cli.readings import Reading, lines, rates
from tare.model.manifest import Counters
from tare.probes.machine import MachineCpu, machine_cpu

STAT = "cpu  100 20 300 4000 50 6 70 8 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n"


def task(folder: Path, flags: int, user: int, system: int) -> None:
    folder.mkdir()
    fields = ["S", "2", "0", "0", "0", "-1", str(flags), "0", "0", "0", "0", str(user), str(system)]
    (folder / "stat").write_text(f"9 (a) name) {' '.join(fields)} 0 0\n")


def test_times_are_read_by_what_used_them(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT)
    task(tmp_path / "9", 0x0020_8040, 0, 30)
    task(tmp_path / "10", 0x0040_0040, 500, 500)
    (tmp_path / "self").mkdir()
    assert machine_cpu(tmp_path) == MachineCpu(1.2, 3.0, 0.76, 0.3, 0.08)


def test_this_machine_has_been_used_and_time_only_grows() -> None:
    first = machine_cpu()
    begun = time.process_time()
    while time.process_time() - begun < 0.05:
        pass
    used = machine_cpu().since(first)
    assert first.user_s > 0 and first.system_s > 0
    assert used.user_s >= 0 and used.interrupts_s >= 0


def test_a_reading_shows_what_roles_are_not_charged_with() -> None:
    idle, busy = MachineCpu(0, 0, 0, 0, 0), MachineCpu(0.2, 1.0, 0.5, 0.4, 0.0)
    first, last = (
        Reading(at, {}, {}, {"requests": 49_000 * at}, Counters(), machine=used)
        for at, used in ((0, idle), (2, busy))
    )
    now = rates("echo/sockmap", first, last)
    assert now["machine"] == {
        "user_percent": 10.0, "system_percent": 50.0, "interrupts_percent": 25.0,
        "kernel_threads_percent": 20.0, "steal_percent": 0.0,
    }  # fmt: skip
    text = "\n".join(lines(now))
    assert "49,000 requests/s" in text
    assert "user 10.0, system 50.0 (kernel threads 20.0), interrupts 25.0" in text
