"""How well `tare duel --why` finds the one of fifty functions that does more.

    python tests/system/why_ranking.py [--runs 10] [--duels 30] [--share 1.0]

Needs root and a C compiler. Each run compares two starts of fifty.c, of which the second does SHARE
percent more work in one function; every other run compares the server with itself.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tare.lab.paths import runs
from tare.model.results import CauseResult, Results
from tare.report.folder import read
from tare.report.stacks import of_run
from tare.report.why import culprits

_SOURCE = Path(__file__).with_name("fifty") / "fifty.c"
_NEAR = 0.1
"""Of a side's CPU time, by which the sum of all stacks may miss it."""


def main() -> None:
    """Make the runs, and print a line for each and the sums."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--duels", type=int, default=30)
    parser.add_argument("--share", type=float, default=1.0)
    asked = parser.parse_args()
    first = named = near = alarms = 0
    draw = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        program = built(Path(folder))
        for seed in range(asked.runs):
            function = draw.randrange(10, 60)
            variant = f"{program} {{port}} {function} {asked.share}"
            try:
                cause, parts = compared(program, variant, duels=asked.duels, seed=seed)
                same, _ = compared(program, f"{program} {{port}} ", duels=asked.duels, seed=seed)
            except LookupError as error:
                print(f"work_{function}: {error}", flush=True)
                continue
            found = [each.name for each in culprits(cause)]
            ranked = [each.name for each in cause.frames if each.own]
            first += ranked[0] == f"work_{function}"
            named += found == [f"work_{function}"]
            whole = (cause.baseline_ns, cause.variant_ns)
            near += all(
                abs(part - all_ns) <= _NEAR * all_ns
                for part, all_ns in zip(parts, whole, strict=True)
            )
            print(
                f"work_{function}: first {ranked[0]}, named {found}; "
                f"{whole[0]:.0f} and {whole[1]:.0f} ns a request, "
                f"of which stacks have {parts[0]:.0f} and {parts[1]:.0f}",
                flush=True,
            )
            alarms += any(each.clear for each in same.frames)
    print(
        f"of {asked.runs} runs: the function ranked first in {first}, and alone was named in "
        f"{named}; in {near} the stacks of both sides sum to their CPU time within "
        f"{100 * _NEAR:.0f} %; {alarms} of {asked.runs} A/A runs had a clear difference"
    )


def built(folder: Path) -> Path:
    """Return the program of fifty functions."""
    program = folder / "fifty"
    subprocess.run(["cc", "-O2", "-o", program, _SOURCE], check=True)
    return program


def compared(
    program: Path, variant: str, *, duels: int, seed: int, duration: float = 1.0
) -> tuple[CauseResult, list[float]]:
    """Return what a run of the program against the variant's command found, and the sums of both
    sides' stacks in ns per request. Raises LookupError where too few duels counted.
    """
    done = subprocess.run(
        [sys.executable, "-m", "tare", "duel", f"{program} {{port}}", variant, "--saturated",
         "--why", "--duels", str(duels), "--duration", str(duration), "--seed", str(seed),
         "--json"],
        stdout=subprocess.PIPE, check=False,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(done.stdout)
    causes = [each for each in result["scenarios"][0]["causes"] if each["label"] == "new"]
    if not causes:
        raise LookupError(f"{result['run']}: too few duels counted")
    stacks = of_run(read(runs() / result["run"]), Results.model_validate(result))
    sums = [sum(each.ns.values()) for each in stacks if each.label == "new"]
    return CauseResult.model_validate(causes[0]), sums


if __name__ == "__main__":
    main()
