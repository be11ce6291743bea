"""Paths of outcomes: where a value is found in what a trial measured."""

from dataclasses import dataclass
from typing import Literal, cast

from tare.model.analysis import FINDS
from tare.model.fields import close_match
from tare.model.instrument import LOAD_FIGURES

Source = Literal["instrument", "load", "error", "target", "role", "counter", "probe", "analysis"]

_FORMS = {
    "instrument": "instrument.NAME",
    "load": "load.NAME",
    "error": "error.KIND or error.all",
    "target": "target.TARGET.NAME",
    "role": "role.ROLE.PROBE",
    "counter": "counter.NAME",
    "probe": "probe.NAME",
    "analysis": "analysis.NAME",
}
_NAMED = {"load": LOAD_FIGURES, "analysis": FINDS}
"""Sources whose names are known without looking."""


@dataclass(frozen=True)
class Path:
    """One path, as `role.sut.cpu_us`."""

    source: Source
    name: str
    of: str = ""
    """The target or the role."""

    def __str__(self) -> str:
        return ".".join(part for part in (self.source, self.of, self.name) if part)


def parse(text: str) -> tuple[Path, ...]:
    """Return the paths of a sum (`a + b`).

    Raises ValueError with what was expected of the part that is no path.
    """
    return tuple(_parse(part.strip()) for part in text.split("+"))


def _parse(text: str) -> Path:
    source, *names = text.split(".")
    if source not in _FORMS:
        expected = f"a path, as {', '.join(_FORMS.values())}"
        raise ValueError(f"{expected}, and not {text!r}{close_match(source, _FORMS)}")
    form = _FORMS[source]
    if len(names) != form.split(" ")[0].count(".") or not all(names):
        raise ValueError(f"{form}, and not {text!r}")
    *of, name = names
    if (known := _NAMED.get(source)) and name not in known:
        one = f"{source}. with one of {', '.join(known)}"
        raise ValueError(f"{one}, and not {name!r}{close_match(name, known)}")
    return Path(cast(Source, source), name, *of)
