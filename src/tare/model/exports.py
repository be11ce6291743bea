"""Exports of an experiment beside its results: names in other formats, and images."""

from typing import Annotated

from pydantic import Field, StringConstraints, model_validator

from tare.model.base import Record
from tare.model.fields import Key, Name, Place, Requirement


class BenchmarkName(Record):
    """The names of some scenarios' results in Google Benchmark's JSON. Strings are templates over
    the parameters, `variant` (or `control`) and its `properties` (which the A/A control lacks).
    """

    within: dict[Key, list[str]]
    """Factor → levels: the first of all names that a scenario is within is its own."""
    name: str
    label: str = ""
    says: list[Key] = []
    """Factors beside those of `within` whose level the name contains."""
    defaults: dict[Key, str] = {}
    """Factor → the level that is omitted from the name (default: its first)."""
    counters: dict[Key, float | str] = {}


class GoogleBenchmark(Record):
    """The scenarios that `tare export --format google-benchmark` writes, and their names."""

    real_time: Key
    """An outcome that is a time."""
    cpu_time: Key
    """Likewise, in the same unit."""
    names: list[BenchmarkName] = Field(min_length=1)


class Image(Record):
    """The content and command of a container image: files of builds, without a distribution."""

    requires: list[Requirement] = []
    components: list[Name] = []
    files: dict[Place, str] = Field(min_length=1)
    """Place → file, or folder with all that is in it (template)."""
    folders: dict[Place, Annotated[str, StringConstraints(pattern="^[01]?[0-7]{3}$")]] = {}
    """Place → permissions, in octal digits. Folders around a place need not be named."""
    links: dict[Place, str] = {}
    """Place → where the symbolic link there leads to."""
    user: Annotated[str, StringConstraints(pattern="^[0-9]+:[0-9]+$")] = "0:0"
    """Numbers of the user and the group."""
    env: dict[str, str] = {}
    entrypoint: list[str] = Field(min_length=1)
    command: list[str] = []
    """Arguments of the entry point, which the container's user can replace."""

    @model_validator(mode="after")
    def _each_place_once(self) -> "Image":
        places = [*self.files, *self.folders, *self.links]
        for place in places:
            if places.count(place) > 1:
                raise ValueError(f"one of files, folders and links for {place!r}")
        return self
