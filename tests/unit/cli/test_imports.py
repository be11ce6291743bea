import subprocess
import sys

import pytest

HEAVY = {"numpy", "scipy", "rich", "hdrh"}


@pytest.mark.parametrize(
    ("arguments", "heavy"), [(["list"], HEAVY | {"pydantic"}), (["show", "filters"], HEAVY)]
)
def test_quick_commands_import_nothing_heavy(arguments: list[str], heavy: set[str]) -> None:
    script = (
        "import sys; from tare.cli.main import tare\n"
        f"tare({arguments}, standalone_mode=False)\n"
        f"print(sorted({heavy} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().splitlines()[-1:] == ["[]"]


def test_scipy_is_imported_only_by_what_judges() -> None:
    script = (
        "import sys; from tare.cli.main import _COMMANDS, tare\n"
        "for each in _COMMANDS: tare.get_command(None, each)\n"
        "print(sorted(each for each in sys.modules if each.startswith('scipy')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
