"""Parts: files of a variant that a user may exchange for one of their own."""

from typing import Literal

from pydantic import Field

from tare.model.base import Record
from tare.model.fields import Key, Name, Scalar

Kind = Literal["library", "program", "wasm", "bpf", "template", "text", "file"]


class Part(Record):
    """A file that is exchanged by the option of the part's name; templates know it as `part.NAME`,
    which exists only then.
    """

    kind: Kind
    about: str = Field(min_length=1)
    """What the file does, in words."""
    needs: list[str] = []
    """Symbols that a library exports, or names that a template uses."""
    remedy: str = Field(min_length=1)
    """How to get a right one: what to do about a file that is not."""
    beside: list[Key] = []
    """It is exchanged only where one of these is exchanged, too."""
    studies: list[Name] = []
    """The studies in which it can be exchanged; without them, all."""
    sets: dict[Key, Scalar] = {}
    """Parameters that have these values where it is exchanged."""


class Exchanged(Record):
    """A user's own file in the place of a part, as it was when the run was planned."""

    file: str
    """Its absolute path."""
    bytes: int
    sha256: str
    build_id: str | None = None
    """Of an ELF file that has one."""
    variants: list[Name]
    """Those that use it."""

    @property
    def name(self) -> str:
        """The file's name, without its folder."""
        return self.file.rpartition("/")[2]

    @property
    def digest(self) -> str:
        """The beginning of its hash, enough to tell files apart."""
        return self.sha256[:12]
