"""The table of experiments/loadgen/README.md is what its record shows."""

import pytest

from tare.lab.paths import ROOT
from tare.model.results import Results, ScenarioResult

FOUND = Results.model_validate_json((ROOT / "record" / "loadgen" / "results.json").read_text())
PAGE = (ROOT / "experiments" / "loadgen" / "README.md").read_text()
OTHERS = ("wrk", "h2load", "oha", "rewrk")
ROWS = {
    "protocol=h1,body=2b,depth=1": "h1, 2 bytes",
    "protocol=h1,body=20k,depth=1": "h1, 20,460 bytes",
    "protocol=tls,body=2b,depth=1": "tls, 2 bytes",
    "protocol=tls,body=20k,depth=1": "tls, 20,460 bytes",
    "protocol=h2,body=2b,depth=1": "h2, 2 bytes, 1 stream",
    "protocol=h2,body=2b,depth=10": "h2, 2 bytes, 10 streams",
    "protocol=h2,body=20k,depth=1": "h2, 20,460 bytes, 1 stream",
    "protocol=h2,body=20k,depth=10": "h2, 20,460 bytes, 10 streams",
}


@pytest.mark.parametrize("scenario", FOUND.scenarios, ids=lambda each: each.name)
def test_a_line_has_the_shares_of_its_scenario(scenario: ScenarioResult) -> None:
    cells = []
    for name in OTHERS:
        known = scenario.variants[name].outcomes.get("client_cpu_us")
        if known is None or known.effect_pct is None or known.ci_pct is None:
            cells.append("")
            continue
        share, low, high = (
            1 / (1 + each / 100) for each in (known.effect_pct, known.ci_pct[1], known.ci_pct[0])
        )
        cells.append(f"{share:.2f} [{low:.2f}, {high:.2f}]")
    line = f"| {ROWS[scenario.name]} |" + "".join(f" {cell} |" if cell else " |" for cell in cells)
    assert line in PAGE, line
