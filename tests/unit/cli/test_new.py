"""`tare new`: the lines that it prints can be run."""

import shlex
from pathlib import Path

from click.testing import CliRunner

from tare.cli.new import command


def test_a_folder_with_a_blank_is_quoted(tmp_path: Path) -> None:
    folder = tmp_path / "my variants"
    done = CliRunner().invoke(
        command, ["proxies/mine", "--from", "nginx", "--into", str(folder)], catch_exceptions=False
    )
    assert done.exit_code == 0, done.output
    lines = [shlex.split(line) for line in done.stdout.splitlines() if line.startswith("  tare ")]
    assert [line[-2:] for line in lines] == [["--variants-dir", str(folder)]] * 2
