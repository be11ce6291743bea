from pathlib import Path

from tare.lab.trial.rendered import kept


def test_folders_of_this_machine_are_named() -> None:
    folders = {"SITE": Path("/a/runs/x"), "CACHE": Path("/c"), "ROOT": Path("/a")}
    text = 'root "/a/runs/x/backend"; module /c/m.so; include /a/b.conf;'
    assert kept(text, folders) == 'root "$SITE/backend"; module $CACHE/m.so; include $ROOT/b.conf;'


def test_a_body_becomes_its_digest() -> None:
    found = kept("x" * 20000, {})
    assert found.startswith("(20000 bytes, SHA-256 ") and len(found) < 100
    assert kept("x" * 16384, {}) == "x" * 16384
