from collections.abc import Iterable
from pathlib import Path

import pytest

from tare.lab.errors import BuildError
from tare.lab.project.cargo_lock import content

REGISTRY, ELSEWHERE = "registry+https://registry.example", "git+https://elsewhere.example"
# Name, version, source and dependencies.
USED = {
    "own": ("own", "0.1.0", REGISTRY, ["direct", "twice 2.0.0"]),
    "direct": ("direct", "1.0.0", REGISTRY, ["below", f"twin 1.0.0 ({REGISTRY})"]),
    "below": ("below", "1.0.0", REGISTRY, ["direct"]),
    "twice 2": ("twice", "2.0.0", REGISTRY, []),
    "twin": ("twin", "1.0.0", REGISTRY, []),
}
UNUSED = {
    "twice 1": ("twice", "1.0.0", REGISTRY, ["foreign"]),
    "twin elsewhere": ("twin", "1.0.0", ELSEWHERE, []),
    "foreign": ("foreign", "1.0.0", REGISTRY, []),
}
ALL = USED | UNUSED


def write(folder: Path, order: Iterable[str] = ALL, changed: str = "") -> Path:
    """A lock file in which one entry may be changed."""
    file = folder / "Cargo.lock"
    text = ""
    for key in order:
        name, version, source, dependencies = ALL[key]
        text += f'[[package]]\nname = "{name}"\nversion = "{version}"\nsource = "{source}"\n'
        text += f"dependencies = {dependencies}\nchecksum = {'0' if key != changed else '1'}\n"
    file.write_text(text)
    return file


@pytest.mark.parametrize("key", ALL)
def test_what_a_package_depends_on_changes_it_and_nothing_else(tmp_path: Path, key: str) -> None:
    before = content(write(tmp_path), "own")
    after = content(write(tmp_path, changed=key), "own")
    assert (after != before) == (key in USED)


def test_the_order_of_the_file_says_nothing(tmp_path: Path) -> None:
    before = content(write(tmp_path), "own")
    assert content(write(tmp_path, reversed(list(ALL))), "own") == before


def test_a_package_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="found 0 packages 'onw', expected one"):
        content(write(tmp_path), "onw")
