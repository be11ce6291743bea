"""Wait until the laboratory that started it has ended, then remove all that a run left.

`python -m tare.lab.machine.guardian LEDGER`, with a pipe from the laboratory as standard input. A
farewell in it means that nothing is left to do; without one the laboratory was killed.
"""

import sys
from pathlib import Path

from tare.lab.machine.ledger import sweep


def main() -> None:
    """Wait, then sweep what was not given up in order."""
    if not sys.stdin.buffer.read():
        # The kernel may close the pipe before it releases the lock, so the owner is known dead.
        sweep(Path(sys.argv[1]), dead=True)


if __name__ == "__main__":
    main()
