"""A block's results from a bench as one archive, and their way into the run's folder."""

import io
import json
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from tare.lab.errors import TareError
from tare.model.profile import PROFILES
from tare.model.tail import TAILS
from tare.model.trial import Trial, parse_trials

_FOLDERS = ("histograms", PROFILES, TAILS, "logs")
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
    files: bytes

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
        if not 0 < zstandard.frame_content_size(packed) <= _WHOLE_MAX:
            raise ValueError(f"expected at most {_WHOLE_MAX} bytes")
        whole = zstandard.decompress(packed)
        with tarfile.open(fileobj=io.BytesIO(whole)) as archive:
            trials, damaged = parse_trials(_member(archive, "trials.jsonl"))
            environment = json.loads(_member(archive, "environment.json"))
    except (zstandard.ZstdError, tarfile.TarError, KeyError, ValueError) as error:
        raise TareError(f"bench {bench} answered with a damaged block: {error}") from error
    if damaged:
        raise TareError(f"bench {bench} answered with damaged trials: {damaged[0]}")
    own = [trial.model_copy(update={"bench": bench}) for trial in trials if trial.id not in known]
    return Parcel(bench, own, environment, whole)


def keep(parcel: Parcel, folder: Path) -> None:
    """Put histograms, profiles and logs of a parcel where those of the run are. Raises OSError."""
    there = folder / "work" / f"from-{parcel.bench}"
    with tarfile.open(fileobj=io.BytesIO(parcel.files)) as archive:
        archive.extractall(there, filter="data")
    for name in _FOLDERS:
        if (there / name).is_dir():
            shutil.copytree(there / name, folder / name, dirs_exist_ok=True)
    shutil.rmtree(there)


def _kept(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in ("trials.jsonl", "environment.json"):
        yield name, (folder / name).read_bytes()
    for name in _FOLDERS:
        for file in sorted((folder / name).rglob("*")):
            if file.is_file():
                content = file.read_bytes()
                yield (
                    str(file.relative_to(folder)),
                    content[-_LOG_MAX:] if name == "logs" else content,
                )


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(name)
    if stream is None:
        raise KeyError(name)
    return stream.read()
