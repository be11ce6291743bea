"""Started and stopped many times: no variant leaves shared memory behind."""

from pathlib import Path

import pytest
from harness import variants

pytestmark = pytest.mark.contract
SHM, CYCLES = Path("/dev/shm"), 20


@pytest.mark.parametrize("variant", variants)
def test_cycles_leave_no_shared_memory(site, variant):
    started = site(variant)
    has_memory = bool(started.manifest.roles["controller"].argv)
    for _ in range(CYCLES):
        started.start()
        assert (SHM / started.tag).exists() == has_memory
        started.stop()
        assert not list(SHM.glob(f"*{started.tag}*"))
