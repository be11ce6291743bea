"""Kinds of parts: what is accepted, and the words for what is not."""

import struct
import subprocess
from pathlib import Path

import numpy
import pytest

from tare.lab.project import part_kinds
from tare.model.part import Kind

LIBRARY = next(Path(numpy.__file__).parent.rglob("_multiarray_umath*.so")).read_bytes()
WASM = b"\0asm\x01\0\0\0"


def elf(kind: int, machine: int, entry: int = 0) -> bytes:
    """The head of an ELF file of 64 bits, which has nothing else."""
    identity = b"\x7fELF\x02\x01\x01" + bytes(9)
    return identity + struct.pack(
        "<HHIQQQIHHHHHH", kind, machine, 1, entry, 0, 0, 0, 64, 56, 0, 64, 0, 0
    )


BPF, PROGRAM, OTHER = elf(1, 247), elf(2, 62, 0x1000), elf(3, 243)


def test_a_library_exports_what_is_needed() -> None:
    assert part_kinds.fault("library", LIBRARY, ["PyInit__multiarray_umath"]) is None
    lacking = part_kinds.fault("library", LIBRARY, ["module_initialize", "PyObject_Call", "b"])
    # What it takes from others it does not export.
    assert lacking == "it does not export module_initialize, PyObject_Call, b"


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("library", b"hello", "it is no shared library (it begins with b'hello')"),
        ("library", BPF, "it is no shared library (an ELF file of type ET_REL for EM_BPF)"),
        ("library", OTHER, "it is for EM_RISCV, this is "),
        ("program", b"#!/bin/sh\n", "it is no program (it begins with b'#!/bin/sh\\n')"),
        ("program", LIBRARY, "it is no program (an ELF file of type ET_DYN for "),
        ("program", Path("/bin/sh").read_bytes(), "linked dynamically, expected a static program"),
        ("wasm", b"(module)", "it is no WebAssembly module (it begins with b'(module)')"),
        ("wasm", b"\0asm\x0d\0\x01\0", "it is WebAssembly, and no module"),
        ("wasm", LIBRARY, "it is no WebAssembly module (an ELF file"),
        ("bpf", LIBRARY, "it is no BPF object (an ELF file of type ET_DYN for "),
        ("bpf", WASM, "it is no BPF object (it begins with "),
        ("text", b"a\xff", "it is no text in UTF-8 (byte 1)"),
        ("template", b"{% iff x %}", "line 1 is no template: Encountered unknown tag 'iff'"),
        ("template", b"listen 80;", "it does not use {{ port.front }}"),
        ("text", b"", "it is empty"),
        ("library", b"", "it is empty"),
    ],
)
def test_what_is_wrong_is_said(kind: Kind, content: bytes, words: str) -> None:
    found = part_kinds.fault(kind, content, ["port.front"] if kind == "template" else [])
    assert found is not None and words in found


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("program", PROGRAM),
        ("bpf", BPF),
        ("wasm", WASM),
        ("text", "ü".encode()),
        ("template", b"listen {{ port.front }};"),
        ("file", b""),
        ("file", b"\xff"),
    ],
)
def test_what_fits_is_accepted(kind: Kind, content: bytes) -> None:
    needs = ["port.front"] if kind == "template" else []
    if kind != "program" or b"x86" in subprocess.check_output(["uname", "-m"]):
        assert part_kinds.fault(kind, content, needs) is None


@pytest.mark.parametrize("kind", ["library", "program", "wasm", "bpf"])
def test_a_file_that_was_cut_short_or_changed_is_refused_in_words(kind: Kind) -> None:
    for length in (4, 5, 16, 20, 63, 64, 100, 1000, 5000):
        assert part_kinds.build_id(LIBRARY[:length]) is None or length > 64
        assert part_kinds.fault(kind, LIBRARY[:length], ["PyInit__multiarray_umath"]), length
    for place in range(16, 64):
        changed = LIBRARY[:place] + b"\xff" + LIBRARY[place + 1 :]
        part_kinds.fault(kind, changed, ["PyInit__multiarray_umath"])
        part_kinds.build_id(changed)


def test_a_build_id_is_read_where_there_is_one(tmp_path: Path) -> None:
    source, made = tmp_path / "a.c", tmp_path / "a.so"
    source.write_text("int one(void) { return 1; }\n")
    for option, found in (
        (f"-Wl,--build-id=0x{'ab' * 20}", "ab" * 20),
        ("-Wl,--build-id=none", None),
    ):
        subprocess.run(["cc", "-shared", "-fPIC", option, "-o", made, source], check=True)
        assert part_kinds.build_id(made.read_bytes()) == found
    assert part_kinds.build_id(b"text") is None
