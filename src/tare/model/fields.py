"""Types of single fields of manifests, and requirements, which all kinds of manifests have."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Annotated, Literal

from pydantic import AfterValidator, StringConstraints, model_validator

from tare.model.base import Record

NAME = r"^[a-z0-9][a-z0-9-]*$"
Name = Annotated[str, StringConstraints(pattern=NAME)]
Key = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
Scalar = bool | int | float | str
Selection = dict[Key, str | list[str]]
"""Factor → one level, or several of them."""


def close_match(name: str, known: Iterable[str]) -> str:
    """Return the known name that is closest, in words to append to a message, or nothing."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"a regular expression ({error})") from error
    return text


Pattern = Annotated[str, AfterValidator(_pattern)]
"""A regular expression."""


def _cpus(text: str) -> str:
    if text not in ("server", "client", "backend", "support", "all") and "{{" not in text:
        raise ValueError("'server', 'client', 'backend', 'support', 'all' or a template of one")
    return text


Cpus = Annotated[str, AfterValidator(_cpus)]
"""Which of the machine's CPUs (template): server, client, backend, support, or all tested."""


def _netns(text: str) -> str:
    if text not in ("laboratory", "trial") and "{{" not in text:
        raise ValueError("'laboratory', 'trial' or a template of one")
    return text


Netns = Annotated[str, AfterValidator(_netns)]
"""Which network namespace (template): the laboratory's own, or one that the trial makes."""


def _idle(text: str) -> str:
    if text not in ("poll", "sleep") and "{{" not in text:
        raise ValueError("'poll', 'sleep' or a template of one")
    return text


Idle = Annotated[str, AfterValidator(_idle)]
"""What idle CPUs do (template): poll for work, or sleep until they are woken."""


def _place(text: str) -> str:
    parts = text.split("/")
    if parts[0] != "" or len(parts) < 2 or {"", ".", ".."} & {*parts[1:]}:
        raise ValueError("an absolute path, in its shortest form, below /")
    return text


Place = Annotated[str, AfterValidator(_place)]
"""Where something lies in an image."""


def within(text: str) -> str:
    """Return the path of a file, which may be a template. Raises ValueError if it leads out of the
    folder that it is in.
    """
    if text.startswith("/") or ".." in text.split("/"):
        raise ValueError("a file in the role's folder")
    return text


Within = Annotated[str, AfterValidator(within)]

Priority = Literal["high", "normal"]
"""The CPU weight of roles: before everything else on the machine, or as any process."""


class Requirement(Record):
    """One thing that must be there: exactly one of debian, command, path, cpu, pci, root."""

    debian: str | None = None
    command: str | None = None
    path: str | None = None
    cpu: str | None = None
    """A flag of every CPU in /proc/cpuinfo."""
    pci: str | None = None
    """A device, VENDOR:DEVICE in hexadecimal digits, or a shell's pattern of some."""
    root: Literal[True] | None = None
    """That it is root who runs the laboratory."""
    remedy: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> "Requirement":
        kinds = (self.debian, self.command, self.path, self.cpu, self.pci, self.root)
        if sum(kind is not None for kind in kinds) != 1:
            raise ValueError("exactly one of debian, command, path, cpu, pci, root")
        if self.debian is None and not self.remedy:
            raise ValueError("a remedy in words, since nothing here can install it")
        return self
