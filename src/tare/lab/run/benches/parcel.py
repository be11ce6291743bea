"""A block's results from a bench as one archive, and their way into the run's folder."""

import io
import json
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import zstandard

from tare.lab.errors import TareError
from tare.model.profile import PROFILES
from tare.model.tail import TAILS
from tare.model.trial import Trial, parse_trials

_FOLDERS = ("histograms", PROFILES, TAILS, "logs")
_HEADS = ("trials.jsonl", "environment.json")
"""What a parcel begins with."""
_LOG_MAX = 64 * 1024
"""Bytes of each log that travel: its end."""
_WHOLE_MAX = 256 << 20
"""Bytes that a parcel may unpack to."""


@dataclass(frozen=True)
class Parcel:
    """A block as one bench made it."""

    bench: str
    trials: list[Trial]
    environment: dict[str, Any]
    packed: bytes

    @property
    def fingerprint(self) -> str:
        """Return the digest of the experiment and its builds there."""
        return str(self.environment["fingerprint"])


def pack(folder: Path) -> bytes:
    """Return what is to be kept of a run's folder that holds one block."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in _kept(folder):
            head = tarfile.TarInfo(name)
            head.size = len(content)
            archive.addfile(head, io.BytesIO(content))
    return zstandard.compress(stream.getvalue())


def open_(bench: str, packed: bytes, known: set[str]) -> Parcel:
    """Return what was packed, its trials without the known ones. Raises TareError."""
    try:
        with _unpacked(packed) as archive:
            heads = _heads(archive)
        trials, damaged = parse_trials(heads["trials.jsonl"])
        environment = json.loads(heads["environment.json"])
        if not isinstance(environment, dict) or "fingerprint" not in environment:
            raise ValueError("its environment.json has no fingerprint")
    except (zstandard.ZstdError, tarfile.TarError, KeyError, ValueError) as error:
        raise TareError(f"bench {bench} answered with a damaged block: {error}") from error
    if damaged:
        raise TareError(f"bench {bench} answered with damaged trials: {damaged[0]}")
    own = [trial.model_copy(update={"bench": bench}) for trial in trials if trial.id not in known]
    return Parcel(bench, own, environment, packed)


def keep(parcel: Parcel, folder: Path) -> None:
    """Put histograms, profiles and logs of a parcel where those of the run are.

    Raises OSError, and TarError for a damaged one.
    """
    made: set[Path] = set()
    with _unpacked(parcel.packed) as archive:
        for member in archive:
            if member.name in _HEADS:
                continue
            target = folder / _inside(member)
            if target.parent not in made:
                target.parent.mkdir(parents=True, exist_ok=True)
                made.add(target.parent)
            target.write_bytes(_content(archive, member))


def _inside(member: tarfile.TarInfo) -> PurePosixPath:
    """Return where a member belongs in a run's folder. Raises TarError if it does not."""
    path = PurePosixPath(member.name)
    head, *rest = path.parts or ("",)
    if not member.isfile() or head not in _FOLDERS or not rest or ".." in rest:
        raise tarfile.ExtractError(f"{member.name!r} is no file of {', '.join(_FOLDERS)}")
    return path


def _unpacked(packed: bytes) -> tarfile.TarFile:
    """Raises ValueError if it is too large, and the errors of a damaged archive."""
    if not 0 < zstandard.frame_content_size(packed) <= _WHOLE_MAX:
        raise ValueError(f"expected at most {_WHOLE_MAX} bytes")
    return tarfile.open(fileobj=io.BytesIO(zstandard.decompress(packed)))


def _kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in _HEADS:
        yield name, (folder / name).read_bytes()
    for name in _FOLDERS:
        for file in sorted((folder / name).rglob("*")):
            if file.is_file():
                content = file.read_bytes()
                yield (
                    str(file.relative_to(folder)),
                    content[-_LOG_MAX:] if name == "logs" else content,
                )


def _heads(archive: tarfile.TarFile) -> dict[str, bytes]:
    """Return what the parcel begins with, without reading on. Raises KeyError."""
    return {name: _content(archive, _next(archive, name)) for name in _HEADS}


def _next(archive: tarfile.TarFile, name: str) -> tarfile.TarInfo:
    found = archive.next()
    if found is None or found.name != name:
        raise KeyError(name)
    return found


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    stream = archive.extractfile(member)
    if stream is None:
        raise KeyError(member.name)
    return stream.read()
