# SPDX-License-Identifier: Apache-2.0
"""Sections and symbols of a 32-bit little-endian ELF file, as far as the build needs them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

_SHT_PROGBITS = 1
_SHT_SYMTAB = 2
_SHF_ALLOC = 2
_STT_NOTYPE = 0
_STT_FUNC = 2


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A named place in the program."""

    name: str
    address: int
    size: int  # bytes
    is_function: bool


@dataclass(frozen=True, kw_only=True)
class Elf:
    """What an ELF file holds: bytes and end of each section that is loaded, and the symbols that have a place."""

    sections: dict[str, int]
    ends: tuple[int, ...]
    symbols: tuple[Symbol, ...]


def read(path: Path) -> Elf:
    """Read what the linker wrote."""
    data = path.read_bytes()
    assert data[:6] == b"\x7fELF\x01\x01", f"{path} is not a 32-bit little-endian ELF file"
    (table_at,) = struct.unpack_from("<I", data, 32)
    entry_size, count, names_index = struct.unpack_from("<HHH", data, 46)
    headers = [struct.unpack_from("<10I", data, table_at + i * entry_size) for i in range(count)]
    names_at = headers[names_index][4]
    sections = {
        _text(data, names_at + header[0]): header[5] for header in headers if header[2] & _SHF_ALLOC and header[5]
    }
    ends = tuple(header[3] + header[5] for header in headers if header[2] & _SHF_ALLOC and header[5])
    symbols = [
        symbol
        for header in headers
        if header[1] == _SHT_SYMTAB
        for symbol in _symbols(data, at=header[4], size=header[5], names_at=headers[header[6]][4])
    ]
    return Elf(sections=sections, ends=ends, symbols=tuple(symbols))


def content(path: Path) -> list[tuple[int, bytes]]:
    """Address and bytes of each section that is loaded and has content, in the order of the file."""
    data = path.read_bytes()
    (table_at,) = struct.unpack_from("<I", data, 32)
    entry_size, count = struct.unpack_from("<HH", data, 46)
    headers = [struct.unpack_from("<10I", data, table_at + i * entry_size) for i in range(count)]
    return [
        (address, data[at : at + size])
        for _name, kind, flags, address, at, size, *_rest in headers
        if kind == _SHT_PROGBITS and flags & _SHF_ALLOC
    ]


def _symbols(data: bytes, *, at: int, size: int, names_at: int) -> list[Symbol]:
    found = []
    for name, address, length, info, _other, section in struct.iter_unpack("<IIIBBH", data[at : at + size]):
        if section != 0 and name != 0 and info & 0xF in (_STT_NOTYPE, _STT_FUNC):
            text = _text(data, names_at + name)
            found.append(Symbol(name=text, address=address, size=length, is_function=info & 0xF == _STT_FUNC))
    return found


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode("utf-8", "replace")
