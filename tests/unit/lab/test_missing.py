from pathlib import Path

import pytest

from tare.lab.errors import BuildError
from tare.lab.missing import remedy
from tare.lab.project import versions
from tare.model.manifest import Version

NOT_THERE = FileNotFoundError(2, "No such file or directory")


def test_a_program_of_a_build_that_was_damaged_is_built_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TARE_CACHE", str(tmp_path))
    folder = tmp_path / "built" / "nginx-0123"
    found = remedy(f"{folder}/sbin/nginx", NOT_THERE)
    assert found == f"; remove {folder} and it is built again"


def test_another_program_is_to_be_installed() -> None:
    assert "install it" in remedy("no-such-program", NOT_THERE)
    assert remedy("sh", PermissionError(13, "Permission denied")) == ""


def test_a_version_that_nobody_can_tell_comes_with_a_remedy() -> None:
    version = Version(argv=["no-such-program"], pattern="(.*)")
    with pytest.raises(BuildError, match=r"cannot ask no-such-program .*; install it"):
        versions.read(version, {}, "here")
