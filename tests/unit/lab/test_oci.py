"""Archives are as specified, lead to the same image either way, and are reproducible."""

import hashlib
import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tare.lab.export import oci

SETTINGS = oci.Settings(["/bin/a"], ["b", "c"], "7:8", {"Z": "1", "A": "2"})
NAME = "localhost/tare/exp:thing"


def whole(file: Path) -> dict[str, bytes]:
    """Every file of an archive."""
    with tarfile.open(file) as archive:
        return {
            member.name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for member in archive
            if member.isfile()
        }


def by_index(files: dict[str, bytes]) -> tuple[str, Any, bytes]:
    """Name, settings and layer as the index leads to them, every digest compared."""

    def blob(descriptor: dict[str, Any]) -> bytes:
        kind, _, digest = descriptor["digest"].partition(":")
        found = files[f"blobs/{kind}/{digest}"]
        assert hashlib.new(kind, found).hexdigest() == digest
        assert len(found) == descriptor["size"]
        return found

    assert json.loads(files["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (image,) = json.loads(files["index.json"])["manifests"]
    manifest = json.loads(blob(image))
    (layer,) = manifest["layers"]
    name = image["annotations"]["io.containerd.image.name"]
    return name, json.loads(blob(manifest["config"])), blob(layer)


def by_list(files: dict[str, bytes]) -> tuple[str, Any, bytes]:
    """The same as Docker's list leads to them."""
    (image,) = json.loads(files["manifest.json"])
    ((name,), (layer,)) = image["RepoTags"], image["Layers"]
    return name, json.loads(files[image["Config"]]), files[layer]


def members(file: Path, folder: Path) -> dict[str, tarfile.TarInfo]:
    """What is in the layer of an archive."""
    _, config, layer = by_index(whole(file))
    (digest,) = config["rootfs"]["diff_ids"]
    assert digest == f"sha256:{hashlib.sha256(layer).hexdigest()}"
    (folder / "layer").write_bytes(layer)
    with tarfile.open(folder / "layer") as archive:
        found = archive.getmembers()
    assert [member.name for member in found] == sorted(member.name for member in found)
    assert {(each.mtime, each.uid, each.gid, each.uname) for each in found} == {(0, 0, 0, "")}
    return {member.name: member for member in found}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A folder with a program, a text, a folder and a link."""
    folder = tmp_path / "source"
    (folder / "below").mkdir(parents=True)
    (folder / "program").write_bytes(b"\x7fELF")
    (folder / "program").chmod(0o700)
    (folder / "below" / "text").write_text("words")
    (folder / "link").symlink_to("program")
    return folder


def test_both_ways_lead_to_the_same_image(tmp_path: Path, source: Path) -> None:
    target = tmp_path / "image.tar"
    oci.write(target, NAME, dict(oci.tree("/opt/it", source)), SETTINGS)
    files = whole(target)
    assert by_index(files) == by_list(files)
    name, config, _ = by_index(files)
    assert name == NAME
    assert (config["os"], config["created"]) == ("linux", "1970-01-01T00:00:00Z")
    assert config["config"] == {
        "User": "7:8",
        "Env": ["A=2", "Z=1"],
        "Entrypoint": ["/bin/a"],
        "Cmd": ["b", "c"],
        "WorkingDir": "/",
    }
    found = members(target, tmp_path)
    assert {name: (each.mode, each.type, each.linkname) for name, each in found.items()} == {
        "opt": (0o755, tarfile.DIRTYPE, ""),
        "opt/it": (0o755, tarfile.DIRTYPE, ""),
        "opt/it/below": (0o755, tarfile.DIRTYPE, ""),
        "opt/it/below/text": (0o644, tarfile.REGTYPE, ""),
        "opt/it/link": (0o777, tarfile.SYMTYPE, "program"),
        "opt/it/program": (0o755, tarfile.REGTYPE, ""),
    }


def test_the_same_entries_make_the_same_bytes(tmp_path: Path, source: Path) -> None:
    made = []
    for number in range(2):
        entries = list(oci.tree("/a", source))
        os.utime(source / "program", (number, number))
        target = tmp_path / f"{number}.tar"
        oci.write(target, NAME, dict(entries[:: 1 - 2 * number]), SETTINGS)
        made.append(target.read_bytes())
    assert made[0] == made[1]


def test_what_cannot_be_read_leaves_nothing_half_written(tmp_path: Path) -> None:
    target = tmp_path / "image.tar"
    target.write_text("before")
    with pytest.raises(FileNotFoundError):
        oci.write(target, NAME, {"/a": oci.Entry(0o755, tmp_path / "absent")}, SETTINGS)
    assert [path.name for path in tmp_path.iterdir()] == ["image.tar"]
    assert target.read_text() == "before"
    with pytest.raises(FileNotFoundError):
        list(oci.tree("/a", tmp_path / "absent"))


PART = st.text(
    st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=60
).filter(lambda part: part not in {".", ".."})


@settings(max_examples=50)
@given(st.dictionaries(st.lists(PART, min_size=1, max_size=6).map(tuple), st.binary(), min_size=1))
def test_whatever_is_put_in_comes_out(
    tmp_path_factory: pytest.TempPathFactory, contents: dict[tuple[str, ...], bytes]
) -> None:
    # Nothing is a file and a folder at once.
    contents = {
        path: body
        for path, body in contents.items()
        if not any(other != path and other[: len(path)] == path for other in contents)
    }
    folder = tmp_path_factory.mktemp("oci")
    entries = {}
    for number, (path, body) in enumerate(contents.items()):
        file = folder / str(number)
        file.write_bytes(body)
        entries["/" + "/".join(path)] = oci.Entry(0o644, file)
    oci.write(folder / "image.tar", NAME, entries, SETTINGS)
    found = members(folder / "image.tar", folder)
    with tarfile.open(folder / "layer") as archive:
        bodies = {
            name: archive.extractfile(member).read()  # type: ignore[union-attr]
            for name, member in found.items()
            if member.isfile()
        }
    assert bodies == {"/".join(path): body for path, body in contents.items()}
