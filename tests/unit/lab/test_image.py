"""Images are what the manifest says, and what it says wrongly is refused by name."""

import tarfile
from pathlib import Path

import projects
import pytest

from tare.lab.errors import BuildError, ManifestError, UnknownName
from tare.lab.export import image
from tare.lab.project import build, catalog

IMAGES = """
[image]
entrypoint = ["/bin/it"]
env = { A = "1" }
files = { "/bin/it" = "{{ component.thing }}/it" }
folders = { "/tmp" = "1777" }

[images.plain]

[images.more]
user = "7:7"
env = { B = "2" }
files = { "/etc/all" = "SOURCE" }
links = { "/bin/sh" = "it" }
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    source = tmp_path / "source"
    source.mkdir()
    (source / "it").write_text("#!/bin/true")
    monkeypatch.setattr(build, "components", lambda names, say: {"thing": source})
    return projects.write(
        tmp_path, experiment=projects.EXPERIMENT + IMAGES.replace("SOURCE", str(source))
    )


def test_each_image_lies_over_what_all_have_in_common(root: Path, tmp_path: Path) -> None:
    loaded = catalog.load("exp", root=root)
    assert loaded.image("plain").user == "0:0"
    more = loaded.image("more")
    assert (more.user, more.env) == ("7:7", {"A": "1", "B": "2"})
    told: list[str] = []
    target = image.export(loaded, "more", tmp_path / "out", told.append)
    assert target == tmp_path / "out" / "exp-more.tar" and str(target) in told[-1]
    with tarfile.open(target) as archive:
        (layer,) = (each for each in archive if each.name.startswith("blobs/") and each.size > 9999)
        with tarfile.open(fileobj=archive.extractfile(layer)) as inner:
            assert inner.getnames() == [
                "bin", "bin/it", "bin/sh", "etc", "etc/all", "etc/all/it", "tmp",
            ]  # fmt: skip
            assert inner.getmember("tmp").mode == 0o1777
    with pytest.raises(UnknownName, match="image of exp 'mor'; did you mean 'more'"):
        loaded.image("mor")


def test_a_file_that_is_not_there_is_named_with_its_place(root: Path, tmp_path: Path) -> None:
    (root / "source" / "it").unlink()
    with pytest.raises(BuildError, match=r"images.plain.files./bin/it: .*/it: No such file"):
        image.export(catalog.load("exp", root=root), "plain", tmp_path / "out", print)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"/tmp" = "1777"', '"/tmp" = "rwx"', "images.plain.folders./tmp: found 'rwx'"),
        ('"/tmp" = "1777"', '"tmp" = "755"', "expected an absolute path"),
        ('"/tmp" = "1777"', '"/a/../b" = "755"', "expected an absolute path"),
        ('"/tmp" = "1777"', '"/bin/it" = "755"', "expected one of files, folders and links for"),
        ('user = "7:7"', 'user = "nobody"', "images.more.user: found 'nobody'"),
        ('entrypoint = ["/bin/it"]\n', "", "images.plain.entrypoint: missing"),
        ("[images.plain]", "[images.plain]\nspeed = 1", "images.plain.speed: unknown field"),
        ("[images.plain]", "[images]\nplain = 1\n", "images.plain: found 1"),
    ],
)
def test_a_fault_of_an_image_is_named(root: Path, old: str, new: str, message: str) -> None:
    file = root / "experiments" / "exp" / "experiment.toml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    with pytest.raises(ManifestError) as caught:
        catalog.load("exp", root=root)
    assert str(caught.value).startswith(f"{file}: ") and message in str(caught.value)
