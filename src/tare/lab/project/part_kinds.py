"""Kinds of parts: does a file's content fit one?"""

import io
import platform
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from jinja2 import Environment, TemplateSyntaxError

from tare.model.part import Kind

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

_ELF, _WASM = b"\x7fELF", b"\0asm"
_MODULE = b"\x01\0\0\0"
"""The version of a WebAssembly module, behind the four bytes that all WebAssembly begins with."""
_MACHINES = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
_BEGINNING = 16


def fault(kind: Kind, content: bytes, needs: Sequence[str]) -> str | None:
    """Return in words why the content is not of that kind or lacks what it needs, or None."""
    if not content and kind != "file":
        return "it is empty"
    if (check := _CHECKS.get(kind)) is None:
        return None
    try:
        return check(content, needs)
    except Exception as error:  # the reader of ELF files trusts what they say of themselves
        return f"it is a damaged ELF file ({type(error).__name__})"


def build_id(content: bytes) -> str | None:
    """Return the GNU build ID of an ELF file, or None."""
    try:
        if (elf := _elf(content)) is None:
            return None
        for segment in elf.iter_segments("PT_NOTE"):
            for note in segment.iter_notes():  # type: ignore[attr-defined]
                if note["n_type"] == "NT_GNU_BUILD_ID":
                    return str(note["n_desc"])
    except Exception:  # of a damaged file: its hash names it as well
        return None
    return None


def _elf(content: bytes) -> "ELFFile | None":
    from elftools.elf.elffile import ELFFile  # a tenth of a second, which few commands need

    return ELFFile(io.BytesIO(content)) if content.startswith(_ELF) else None


def _beginning(content: bytes) -> str:
    """Return what the content is instead, in words."""
    if (elf := _elf(content)) is not None:
        return f"an ELF file of type {elf['e_type']} for {elf['e_machine']}"
    return f"it begins with {content[:_BEGINNING]!r}"


def _other_machine(elf: "ELFFile") -> str | None:
    here = _MACHINES.get(platform.machine())
    return None if elf["e_machine"] == here else f"it is for {elf['e_machine']}, this is {here}"


def _exported(elf: "ELFFile") -> Iterator[str]:
    for segment in elf.iter_segments("PT_DYNAMIC"):
        for symbol in segment.iter_symbols():  # type: ignore[attr-defined]
            if symbol["st_shndx"] != "SHN_UNDEF":
                yield symbol.name


def _library(content: bytes, needs: Sequence[str]) -> str | None:
    elf = _elf(content)
    if elf is None or elf["e_type"] != "ET_DYN":
        return f"it is no shared library ({_beginning(content)})"
    if other := _other_machine(elf):
        return other
    known = set(_exported(elf))
    lacking = [name for name in needs if name not in known]
    return f"it does not export {', '.join(lacking)}" if lacking else None


def _program(content: bytes, _needs: Sequence[str]) -> str | None:
    elf = _elf(content)
    if elf is None or elf["e_type"] not in ("ET_EXEC", "ET_DYN") or not elf["e_entry"]:
        return f"it is no program ({_beginning(content)})"
    if any(elf.iter_segments("PT_INTERP")):
        return "it is linked dynamically, expected a static program"
    return _other_machine(elf)


def _wasm(content: bytes, _needs: Sequence[str]) -> str | None:
    if content.startswith(_WASM):
        return None if content.startswith(_MODULE, 4) else "it is WebAssembly, and no module"
    elf = _elf(content)
    if elf is not None and elf.get_section_by_name(".wasmtime.engine") is not None:
        return None  # compiled by wasmtime already
    return f"it is no WebAssembly module ({_beginning(content)})"


def _bpf(content: bytes, _needs: Sequence[str]) -> str | None:
    elf = _elf(content)
    if elf is None or (elf["e_type"], elf["e_machine"]) != ("ET_REL", "EM_BPF"):
        return f"it is no BPF object ({_beginning(content)})"
    return None


def _text(content: bytes, _needs: Sequence[str]) -> str | None:
    try:
        content.decode()
    except UnicodeDecodeError as error:
        return f"it is no text in UTF-8 (byte {error.start})"
    return None


def _template(content: bytes, needs: Sequence[str]) -> str | None:
    if trouble := _text(content, needs):
        return trouble
    text = content.decode()
    try:
        Environment().parse(text)
    except TemplateSyntaxError as error:
        return f"line {error.lineno} is no template: {(error.message or '').rstrip('.')}"
    lacking = [name for name in needs if not re.search(rf"\b{re.escape(name)}\b", text)]
    return f"it does not use {{{{ {lacking[0]} }}}}" if lacking else None


_CHECKS: dict[Kind, Callable[[bytes, Sequence[str]], str | None]] = {
    "library": _library,
    "program": _program,
    "wasm": _wasm,
    "bpf": _bpf,
    "template": _template,
    "text": _text,
}
