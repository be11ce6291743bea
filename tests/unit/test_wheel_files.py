"""The files of the wheel: what the laboratory reads and builds, and nothing else."""

import subprocess
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tare.lab import paths

ROOT = Path(__file__).parents[2]
BROUGHT = "tare/project/"
# What a wheel brings of the project; folders of fuzzing stay in the clone.
TAKEN = ("crates", "components", "experiments", "docs/schema", "Cargo.toml", "Cargo.lock", ".cargo")


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """Each file's place in the wheel, and its path in the project."""
    builder = WheelBuilder(str(ROOT))
    data = builder.get_default_build_data()
    builder.set_build_data_defaults(data)
    with builder.config.set_build_data(data):
        found = list(builder.recurse_included_files())
    return {each.distribution_path: str(Path(each.path).relative_to(ROOT)) for each in found}


def test_it_brings_every_source(files: dict[str, str]) -> None:
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--", *TAKEN],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    known = {file for file in listed.stdout.split("\0") if file and "/fuzz/" not in file}
    brought = {place.removeprefix(BROUGHT) for place in files if place.startswith(BROUGHT)}
    assert known <= brought
    for place, file in files.items():
        if place.startswith(BROUGHT):
            assert place == BROUGHT + file


def test_it_brings_nothing_made(files: dict[str, str]) -> None:
    for place in files:
        parts = set(Path(place).parts)
        assert not parts & {"target", "record", "runs", ".venv", "__pycache__", "tests.py", "fuzz"}
        assert place.startswith("tare/"), "it would land beside other packages"


def test_it_brings_the_pages_and_the_commands(files: dict[str, str]) -> None:
    assert files["tare/report/page/page.css"] == "src/tare/report/page/page.css"
    assert files["tare/cli/load.py"] == "src/tare/cli/load.py"


def test_a_clone_keeps_what_it_makes_in_its_own_folder() -> None:
    assert paths.IS_CLONE
    assert paths.target() == paths.ROOT / "target"


def test_installed_it_writes_to_the_user_s_folders_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(paths, "IS_CLONE", False)
    for name in ("TARE_RUNS", "TARE_CACHE", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert paths.runs() == tmp_path / ".local" / "share" / "tare" / "runs"
    assert paths.target() == tmp_path / ".cache" / "tare" / "target"
    assert paths.images() == Path("dist")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert paths.runs() == Path("/data/tare/runs")
