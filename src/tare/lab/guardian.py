"""Waits until the laboratory that started it has ended, then takes away what a run left.

`python -m tare.lab.guardian LEDGER`, with a pipe from the laboratory as standard input: it closes
when the laboratory ends, also by SIGKILL.
"""

import sys
from pathlib import Path

from tare.lab.ledger import sweep


def main() -> None:
    """Wait, then sweep."""
    sys.stdin.buffer.read()
    sweep(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
