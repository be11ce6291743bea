"""How often `tare tail` names the cause of slow requests, where it is known.

    python tests/contract/tail/series.py [--each 12]

Needs root and a C compiler. Prints a line for each look in which another cause leads, and the sums.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

from tare.lab.paths import ROOT
from tare.model.tail import Tail

CAUSES = ("lock", "disk", "sleep", "own", "housekeeping", "backend")
"""Those that slow.c can have by itself."""
LOAD = ("--rate", "1000", "-c", "8", "--duration", "3")
_SOURCE = Path(__file__).with_name("slow.c")


def main() -> None:
    """Look, and print how often the known cause leads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=12)
    asked = parser.parse_args()
    right = unseen = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "slow"
        subprocess.run(["cc", "-O2", "-pthread", "-o", program, _SOURCE], check=True)
        for cause in CAUSES * asked.each:
            command = [ROOT / "tare", "tail", f"{program} {{port}} {cause}", *LOAD, "--json"]
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, check=True)
            tail = Tail.model_validate(json.loads(done.stdout)[0]["tail"])
            first = tail.parts[0]
            right += first.cause == cause
            unseen += any(part.cause == "unseen" for part in tail.parts)
            if first.cause != cause:
                print(f"{cause}: {first.cause} {first.who} leads", flush=True)
    total = asked.each * len(CAUSES)
    print(f"of {total} looks: the known cause leads in {right}; in {unseen} a part was unseen")


if __name__ == "__main__":
    main()
