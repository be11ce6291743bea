"""Scripts in nginx's own engines: one that fails lets nothing through."""

import pytest
from test_workers import all_workers, reload, workers

pytestmark = pytest.mark.contract


@pytest.mark.parametrize(
    ("variant", "file", "before", "status"),
    [
        ("njs", "filter.js", "const uri", 403),
        ("lua-nginx", "filter.lua", "local accepted", 500),
    ],
)
def test_a_script_that_fails(site, hooks, variant, file, before, status):
    started = site(variant).start()
    hooks.oracle(started)
    script = started.folder / "sut" / file
    failing = "throw new Error('no');" if file.endswith("js") else "error('no')"
    script.write_text(script.read_text().replace(before, f"{failing}\n{before}", 1))
    reload(started)
    serving = all_workers(started)
    wire = hooks.Wire(started.host, started.port["http"])
    for _ in range(3):
        assert wire.request(b"GET /aaaa")[0] == status
    assert workers(started) == serving


@pytest.mark.parametrize("variant", ["map-if", "prefix-location", "auth-request", "njs"])
@pytest.mark.parametrize("prefix", [".*", "/a$uri", "/(a|b)", "/a b", "/;}", "/{", "/ü'", "x"])
def test_a_prefix_stands_for_itself(site, hooks, variant, prefix):
    hooks.oracle(site(variant, prefix=prefix).start())
