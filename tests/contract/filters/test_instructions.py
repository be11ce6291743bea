"""A guard: a call takes as many instructions as when that was committed, within some percent.

What differs from machine to machine for good reasons is taken out: libc chooses functions by the
CPU, which is told to it, and other compilers make other code, for which the test does not ask.
"""

import os

import pytest
from harness import variants
from stepping import PLAIN_LIBC, STEPPED, WRITE, committed, result, run, spec_of, tools, write

pytestmark = pytest.mark.contract
REACH = 0.02
# LuaJIT throws dice when it hashes strings and places its traces: its counts differ between runs.
REACHES = {"luajit": 0.05}
counted: dict[str, dict[str, int]] = {}


@pytest.mark.parametrize("variant", STEPPED)
def test_a_call_takes_as_many_instructions_as_before(site, variant, tmp_path):
    started = site(variant)
    if started.manifest.roles["controller"].argv:
        started.start("controller")
    found = result(run(spec_of(started), tmp_path, GLIBC_TUNABLES=PLAIN_LIBC))
    assert found["errors"] == {"answer": 0, "counter": 0, "unequal": 0}
    counts = {
        name.removeprefix("instructions_"): count
        for name, count in found["outcomes"].items()
        if name.startswith("instructions_") and count is not None
    }
    counted[variant] = counts
    if WRITE in os.environ:
        return
    reach = REACHES.get(variant, REACH)
    if (expected := committed().get(here := tools())) is None:
        pytest.skip(f"no counts are committed of {here}: write them with {WRITE}=1")
    if variant not in expected:
        pytest.skip(f"no counts of {variant} are committed: write them with {WRITE}=1")
    off = {
        path: (count, expected[variant][path])
        for path, count in counts.items()
        if abs(count - expected[variant][path]) > reach * expected[variant][path]
    }
    assert off == {}, f"found and expected; if it is meant so, commit new ones with {WRITE}=1"


def test_every_variant_that_can_be_stepped_through_has_its_counts():
    if WRITE in os.environ:
        write(counted)
    # On a machine without them nobody can count what takes memory protection keys.
    rare = {name for name in STEPPED if any(need.cpu for need in variants[name].requires)}
    for made_by, counts in committed().items():
        assert set(STEPPED) - set(counts) <= rare, made_by
