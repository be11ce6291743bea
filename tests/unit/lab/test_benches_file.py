"""benches.toml, keys, and parcels: what is wrong with them is told."""

import io
import ssl
import tarfile
from pathlib import Path

import pytest
import zstandard

from tare.lab.errors import ManifestError, TareError
from tare.lab.run.benches import file, keys, parcel
from tare.lab.run.benches.dask import url
from tare.lab.run.hosts import file as hosts_file

GOOD = """
schema = 1
[coordinator]
address = "127.0.0.1"
[benches.left]
address = "127.0.0.1"
[benches.right]
address = "127.0.0.1"
port = 7700
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "benches.toml"
    path.write_text(text)
    return path


def test_a_file_is_read(tmp_path: Path) -> None:
    found = file.read(written(tmp_path, GOOD))
    assert list(found.benches) == ["left", "right"] and found.benches["right"].port == 7700
    assert found.coordinator.port == 7600 and found.keys == str(tmp_path / "keys")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (GOOD.replace("schema = 1", "schema = 2"), "schema: found 2, expected 1"),
        (GOOD.replace("[benches.left]", "[benches.coordinator]"), "may not be called"),
        (
            GOOD.replace("[benches.left]", "[benches.authority]"),
            "not be called 'authority'; choose",
        ),
        (
            GOOD.replace('"127.0.0.1"', '"127.0.0.1:7600"', 1),
            "coordinator.address: an IP address or a host's name, without a scheme; a port has its",
        ),
        (
            GOOD.replace('"127.0.0.1"', '"tls://127.0.0.1"', 1),
            "coordinator.address: an IP address or a host's name, without a scheme",
        ),
        (
            GOOD.replace("port = 7700", "port = 7600"),
            "right and coordinator have the same address and port; give one another port",
        ),
        (
            GOOD.replace(
                'left]\naddress = "127.0.0.1"', 'left]\naddress = "127.0.0.1"\nport = 7700'
            ),
            "right and left have the same address and port",
        ),
        (GOOD.replace("7700", "77000"), "benches.right.port: found 77000, expected less than"),
        (GOOD.replace('address = "127.0.0.1"\n[', "[", 1), "coordinator.address: missing"),
        (GOOD + "speed = 3\n", "benches.right.speed: unknown field"),
        ("schema =", "Invalid value"),
    ],
)
def test_a_wrong_file_names_the_field(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ManifestError, match=words) as raised:
        file.read(written(tmp_path, text))
    assert str(tmp_path / "benches.toml") in str(raised.value)


@pytest.mark.parametrize("written_as", ["::1", "[::1]", "0:0:0:0:0:0:0:1"])
def test_an_ipv6_address_is_one_in_any_spelling(tmp_path: Path, written_as: str) -> None:
    found = file.read(written(tmp_path, GOOD.replace("127.0.0.1", written_as)))
    assert found.coordinator.address == found.benches["left"].address == "::1"
    assert url(found.coordinator.address, 7600) == "tls://[::1]:7600"
    assert url("localhost", 7600) == "tls://localhost:7600"


def test_a_file_of_the_other_kind_is_told_as_such(tmp_path: Path) -> None:
    benches = written(tmp_path, GOOD)
    hosts = tmp_path / "hosts.toml"
    hosts.write_text('schema = 1\ndefault = "a"\n[hosts.a]\naddress = "127.0.0.1"\n')
    with pytest.raises(ManifestError, match=r"found a file of hosts .*, expected one of benches"):
        file.read(hosts)
    with pytest.raises(ManifestError, match=r"found a file of benches .*; --benches takes it"):
        hosts_file.read(benches)


def test_keys_are_for_their_owner_and_are_believed_by_each_other_only(tmp_path: Path) -> None:
    benches = file.read(written(tmp_path, GOOD))
    made = keys.make(benches)
    assert sorted(path.name for path in made) == [
        "authority.pem", "coordinator.pem", "left.pem", "right.pem",
    ]  # fmt: skip
    assert {path.stat().st_mode & 0o777 for path in made} == {0o600}
    assert "PRIVATE" not in (tmp_path / "keys" / "authority.pem").read_text()
    before = [path.read_bytes() for path in made]
    keys.make(benches)
    assert all(path.read_bytes() != old for path, old in zip(made, before, strict=True))
    context = ssl.create_default_context(cafile=str(made[0]))
    context.load_cert_chain(str(made[1]))


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    benches = file.read(written(tmp_path, GOOD))
    with pytest.raises(TareError, match="there is no such file; make keys once with"):
        keys.files_of(benches, "left")
    keys.make(benches)
    keys.files_of(benches, "left")
    (tmp_path / "keys" / "left.pem").chmod(0o644)
    with pytest.raises(TareError, match="others may read this key; run: chmod 600"):
        keys.files_of(benches, "left")


def archive(**files: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as made:
        for name, content in files.items():
            head = tarfile.TarInfo(name)
            head.size = len(content)
            made.addfile(head, io.BytesIO(content))
    return zstandard.compress(stream.getvalue())


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"no archive",
        zstandard.compress(b"no archive"),
        archive(other=b""),
        archive(**{"trials.jsonl": b"", "environment.json": b"{"}),
        archive(**{"trials.jsonl": b"{}\n", "environment.json": b"{}"}),
        archive(**{"trials.jsonl": b"", "environment.json": b"[]"}),
        archive(**{"trials.jsonl": b"", "environment.json": b"{}"}),
        zstandard.compress(b"\0" * (257 << 20)),
    ],
    ids=[
        "empty",
        "noise",
        "no tar",
        "nothing in it",
        "environment",
        "trials",
        "no table",
        "no fingerprint",
        "too large",
    ],
)
def test_a_damaged_parcel_is_told(packed: bytes) -> None:
    with pytest.raises(TareError, match="bench left answered with"):
        parcel.open_("left", packed, set())


def test_a_parcel_stays_in_its_folder(tmp_path: Path) -> None:
    content = {"trials.jsonl": b"", "environment.json": b'{"fingerprint": "f"}'}
    (tmp_path / "run").mkdir()
    for name in ("../../outside", "logs/../../outside", "/outside", "histograms", "plan.json"):
        evil = parcel.open_("left", archive(**content, **{name: b"x"}), set())
        with pytest.raises(tarfile.TarError, match="is no file of histograms"):
            parcel.keep(evil, tmp_path / "run")
        assert not list((tmp_path / "run").iterdir()) and not list(tmp_path.rglob("outside"))
    good = archive(**content, **{"histograms/b0.json": b"{}", "logs/b0/sut.log": b"hello"})
    parcel.keep(parcel.open_("left", good, set()), tmp_path / "run")
    assert (tmp_path / "run" / "logs" / "b0" / "sut.log").read_bytes() == b"hello"
    assert not (tmp_path / "run" / "environment.json").exists()
