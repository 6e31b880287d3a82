# SPDX-License-Identifier: Apache-2.0
"""Sections and symbols of a 32-bit ELF file of either byte order, as far as the build needs them."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from spinet._build_errors import BuildError

_Found = TypeVar("_Found")

_SHT_PROGBITS = 1
_SHT_SYMTAB = 2
_SHF_ALLOC = 2
_STT_NOTYPE = 0
_STT_OBJECT = 1
_STT_FUNC = 2


@dataclass(frozen=True, kw_only=True)
class Symbol:
    """A named place in the program."""

    name: str
    address: int
    size: int  # bytes
    is_function: bool
    is_variable: bool


@dataclass(frozen=True, kw_only=True)
class Elf:
    """Contents of an ELF file: bytes and end of each loaded section, and the symbols with addresses."""

    sections: dict[str, int]
    ends: tuple[int, ...]
    symbols: tuple[Symbol, ...]


def _of_any_file(reader: Callable[[Path], _Found]) -> Callable[[Path], _Found]:
    """Reports damage, because other linkers may have written the file."""

    @functools.wraps(reader)
    def cached(path: Path) -> _Found:
        try:
            return reader(path)
        except OSError as error:
            raise BuildError(f"{path}: {error.strerror}") from error
        except (struct.error, IndexError, ValueError) as error:
            raise BuildError(f"{path}: a damaged ELF file: {error}") from error

    return cached


@_of_any_file
def read(path: Path) -> Elf:
    """Read what the linker wrote."""
    data = path.read_bytes()
    order = _order(data, path)
    (table_at,) = struct.unpack_from(f"{order}I", data, 32)
    entry_size, count, names_index = struct.unpack_from(f"{order}HHH", data, 46)
    headers = [struct.unpack_from(f"{order}10I", data, table_at + i * entry_size) for i in range(count)]
    names_at = headers[names_index][4]
    sections = {
        _text(data, names_at + header[0]): header[5] for header in headers if header[2] & _SHF_ALLOC and header[5]
    }
    ends = tuple(header[3] + header[5] for header in headers if header[2] & _SHF_ALLOC and header[5])
    symbols = [
        symbol
        for header in headers
        if header[1] == _SHT_SYMTAB
        for symbol in _symbols(data, order, at=header[4], size=header[5], names_at=headers[header[6]][4])
    ]
    return Elf(sections=sections, ends=ends, symbols=tuple(symbols))


@_of_any_file
def missing(path: Path) -> set[str]:
    """Names that an object file uses and does not have."""
    data = path.read_bytes()
    order = _order(data, path)
    (table_at,) = struct.unpack_from(f"{order}I", data, 32)
    entry_size, count = struct.unpack_from(f"{order}HH", data, 46)
    headers = [struct.unpack_from(f"{order}10I", data, table_at + i * entry_size) for i in range(count)]
    return {
        _text(data, headers[header[6]][4] + name)
        for header in headers
        if header[1] == _SHT_SYMTAB
        for name, *_, section in struct.iter_unpack(f"{order}IIIBBH", data[header[4] : header[4] + header[5]])
        if section == 0 and name != 0
    }


@_of_any_file
def content(path: Path) -> list[tuple[int, bytes]]:
    """Address and bytes of each section that is loaded and has content, in the order of the file."""
    data = path.read_bytes()
    return [(address, data[at : at + size]) for at, address, size in _filled(data, _order(data, path))]


def _filled(data: bytes, order: str) -> list[tuple[int, int, int]]:
    """Place in the file, address and size of each section that is loaded and has content."""
    (table_at,) = struct.unpack_from(f"{order}I", data, 32)
    entry_size, count = struct.unpack_from(f"{order}HH", data, 46)
    headers = [struct.unpack_from(f"{order}10I", data, table_at + i * entry_size) for i in range(count)]
    return [
        (at, address, size)
        for _name, kind, flags, address, at, size, *_rest in headers
        if kind == _SHT_PROGBITS and flags & _SHF_ALLOC and size
    ]


@_of_any_file
def entry_and_load(path: Path) -> tuple[int, list[tuple[int, bytes]]]:
    """Where the program begins, and load address and bytes of each section with content, lowest first.

    The load address is where a loader puts the bytes; a program may move them from there to where it runs.
    """
    data = path.read_bytes()
    order = _order(data, path)
    entry, table_at = struct.unpack_from(f"{order}II", data, 24)
    entry_size, count = struct.unpack_from(f"{order}HH", data, 42)
    segments = [struct.unpack_from(f"{order}4xIIII", data, table_at + i * entry_size) for i in range(count)]
    # Overlays share the address at which they run, so sections are told apart by their place in the file.
    moved = {at: load - address for at, address, load, _size in segments}

    def load_address(at: int, address: int) -> int:
        return address + next((moved[start] for start, _, _, size in segments if start <= at < start + size), 0)

    return entry, sorted(
        (load_address(at, address), data[at : at + size]) for at, address, size in _filled(data, order)
    )


def _order(data: bytes, path: Path) -> str:
    """Byte order, as `struct` writes it."""
    order = {b"\x7fELF\x01\x01": "<", b"\x7fELF\x01\x02": ">"}.get(data[:6])
    if order is None:
        raise BuildError(f"{path} is not a 32-bit ELF file")
    return order


def _symbols(data: bytes, order: str, *, at: int, size: int, names_at: int) -> list[Symbol]:
    found = []
    for name, address, length, info, _other, section in struct.iter_unpack(f"{order}IIIBBH", data[at : at + size]):
        kind = info & 0xF
        if section != 0 and name != 0 and kind in (_STT_NOTYPE, _STT_OBJECT, _STT_FUNC):
            is_function, is_variable = kind == _STT_FUNC, kind == _STT_OBJECT
            named = _text(data, names_at + name)
            found.append(
                Symbol(name=named, address=address, size=length, is_function=is_function, is_variable=is_variable)
            )
    return found


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode("utf-8", "replace")
