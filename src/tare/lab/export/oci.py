"""Write container images as one archive that both `podman load` and `docker load` take.

It is an image layout of the Open Container Initiative
(https://github.com/opencontainers/image-spec) with Docker's list of images beside its index: both
lead to the same blobs. The same entries make the same bytes: names in order, no times, one owner,
nothing compressed.
"""

import hashlib
import io
import json
import platform
import tarfile
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

_EPOCH = "1970-01-01T00:00:00Z"
_MEDIA = "application/vnd.oci.image"
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Entry:
    """The content of one place: a copy of the file `source`, a link to `link`, or else a folder."""

    mode: int
    source: Path | None = None
    link: str | None = None


@dataclass(frozen=True)
class Settings:
    """The command, user and environment of an image."""

    entrypoint: list[str]
    command: list[str]
    user: str
    env: Mapping[str, str]


def write(target: Path, reference: str, entries: Mapping[str, Entry], settings: Settings) -> None:
    """Make `target` the archive of an image called `reference`, with `entries` by their absolute
    paths; folders around them are added. Raises OSError, and `target` is then as it was.
    """
    fresh = target.with_name(f"{target.name}.new")
    try:
        with tempfile.TemporaryFile(dir=target.parent) as layer:
            _write_layer(layer, entries)
            _write_archive(fresh, reference, layer, settings)
        fresh.rename(target)
    finally:
        fresh.unlink(missing_ok=True)


def _write_layer(stream: IO[bytes], entries: Mapping[str, Entry]) -> None:
    around = {str(parent) for path in entries for parent in PurePosixPath(path).parents}
    whole = {path: Entry(0o755) for path in around - {"/"}} | dict(entries)
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in sorted(whole):
            _add(archive, path.removeprefix("/"), whole[path])


def _add(archive: tarfile.TarFile, name: str, entry: Entry) -> None:
    head = tarfile.TarInfo(name)  # of nobody's time, and root's
    head.mode = entry.mode
    if entry.source is not None:
        with entry.source.open("rb") as stream:
            head.size = entry.source.stat().st_size
            archive.addfile(head, stream)
        return
    head.type = tarfile.DIRTYPE if entry.link is None else tarfile.SYMTYPE
    head.linkname = entry.link or ""
    archive.addfile(head)


def _write_archive(file: Path, reference: str, layer: IO[bytes], settings: Settings) -> None:
    layer.seek(0)
    layer_digest = hashlib.file_digest(layer, "sha256").hexdigest()  # type: ignore[arg-type]
    layer_size = layer.tell()
    config = _json(_config(layer_digest, settings))
    manifest = _json(
        {
            "schemaVersion": 2,
            "mediaType": f"{_MEDIA}.manifest.v1+json",
            "config": _descriptor("config.v1+json", config),
            "layers": [
                {
                    "mediaType": f"{_MEDIA}.layer.v1.tar",
                    "digest": f"sha256:{layer_digest}",
                    "size": layer_size,
                }
            ],
        }
    )
    index = {
        "schemaVersion": 2,
        "mediaType": f"{_MEDIA}.index.v1+json",
        "manifests": [
            _descriptor("manifest.v1+json", manifest)
            | {
                "annotations": {
                    # The whole name is Docker's and Podman's way, the tag the specification's.
                    "io.containerd.image.name": reference,
                    "org.opencontainers.image.ref.name": reference.rpartition(":")[2],
                }
            }
        ],
    }
    docker = [
        {
            "Config": _blob(config),
            "RepoTags": [reference],
            "Layers": [f"blobs/sha256/{layer_digest}"],
        }
    ]
    texts = {
        _blob(config): config,
        _blob(manifest): manifest,
        "index.json": _json(index),
        "manifest.json": _json(docker),
        "oci-layout": _json({"imageLayoutVersion": "1.0.0"}),
    }
    layer.seek(0)
    with tarfile.open(file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in ("blobs", "blobs/sha256"):
            _add(archive, folder, Entry(0o755))
        _add_bytes(archive, f"blobs/sha256/{layer_digest}", layer, layer_size)
        for name in sorted(texts):
            _add_bytes(archive, name, io.BytesIO(texts[name]), len(texts[name]))


def _add_bytes(archive: tarfile.TarFile, name: str, stream: IO[bytes], size: int) -> None:
    head = tarfile.TarInfo(name)
    head.size = size
    archive.addfile(head, stream)


def _config(layer_digest: str, settings: Settings) -> dict[str, Any]:
    machine = platform.machine()
    return {
        "created": _EPOCH,
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {
            "User": settings.user,
            "Env": [f"{name}={value}" for name, value in sorted(settings.env.items())],
            "Entrypoint": settings.entrypoint,
            "Cmd": settings.command,
            "WorkingDir": "/",
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
        "history": [{"created": _EPOCH, "created_by": "tare export"}],
    }


def _descriptor(kind: str, content: bytes) -> dict[str, Any]:
    return {
        "mediaType": f"{_MEDIA}.{kind}",
        "digest": f"sha256:{hashlib.sha256(content).hexdigest()}",
        "size": len(content),
    }


def _blob(content: bytes) -> str:
    return f"blobs/sha256/{hashlib.sha256(content).hexdigest()}"


def _json(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode()


def tree(place: str, source: Path) -> Iterable[tuple[str, Entry]]:
    """List what the file or folder `source` puts at `place` and below it; links are not followed.

    Raises OSError where there is nothing.
    """
    if source.is_symlink():
        yield place, Entry(0o777, link=str(source.readlink()))
    elif source.is_dir():
        yield place, Entry(0o755)
        for child in source.iterdir():
            yield from tree(f"{place}/{child.name}", child)
    else:
        yield place, Entry(0o755 if source.stat().st_mode & 0o111 else 0o644, source=source)
