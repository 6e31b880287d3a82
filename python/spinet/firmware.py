# SPDX-License-Identifier: Apache-2.0
"""Firmware of MIPS cards: from C and assembly to an ELF file, and to an image that a driver copies into a card.

The compiler is zig from PyPI, else Debian's ``mips-linux-gnu-gcc``. Builds are kept as those of handlers are
(`spinet.toolchain`).
"""

from __future__ import annotations

import difflib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _arguments, _compile_commands, _elf
from spinet._build_cache import Request
from spinet._build_errors import BuildError, SourceNotFound
from spinet._compile import build as compile_request
from spinet._compiler import find_compiler
from spinet._target import MIPS
from spinet.toolchain import cache_dir, copy_elf, define_flags, readable

__all__ = ["Firmware", "Image", "build", "compile_commands", "firmware_dir", "image", "shipped"]

_SUFFIXES = (".c", ".S")
_MOST_BYTES = 16 << 20  # largest image; the simulator has the same limit


@dataclass(frozen=True, kw_only=True)
class Image:
    """The bytes that a driver copies into a card, in the card's byte order, and the entry of its first processor."""

    load_address: int
    entry: int
    data: bytes

    def with_header(self, version: tuple[int, int, int] = (0, 0, 0)) -> bytes:
        """The form of Alteon's images: version (three bytes and a zero), entry, load address, then the data."""
        major, minor, fix = version
        return struct.pack(">4B2I", major, minor, fix, 0, self.entry, self.load_address) + self.data


@dataclass(frozen=True, kw_only=True)
class Firmware:
    """Firmware, ready to be loaded."""

    elf: Path
    compiler: str  # "zig" or "gcc"
    version: str  # name and version, as the compiler prints them
    sections: Mapping[str, int]  # bytes of every section
    messages: str  # warnings, word for word; also when cached
    cached: bool  # no compiler ran
    key: str  # its key in the cache

    def image(self) -> Image:
        """Its bytes as they lie in the card before it runs."""
        return image(self.elf)


def firmware_dir() -> Path:
    """The folder with the firmware that comes with spinet: beside this module when installed, else the checkout's."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "firmware_sources", here.parent.parent / "firmware"):
        if (candidate / "common").is_dir():
            return candidate.resolve()
    raise BuildError(f"no firmware beside {here} nor in {here.parent.parent}", hint="reinstall spinet")


def shipped() -> list[str]:
    """Names of the firmware that comes with spinet."""
    return sorted(script.parent.name for script in firmware_dir().glob("*/*.ld"))


def build(
    sources: str | Path | Sequence[Path | str],
    *,
    script: Path | str | None = None,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    cache: Path | str | None = None,
    out: Path | str | None = None,
    opt: str = "-O2",
    debug: bool = True,
    flags: Sequence[str] = (),
) -> Firmware:
    """Compile firmware and link it.

    Parameters
    ----------
    sources
        Name of firmware that comes with spinet (``"tigon2"``), a folder of C and assembly (``.S``) with one linker
        script, or files.
    script
        Linker script; by default the one (``.ld``) beside the first source.
    defines
        Preprocessor macros; an empty string defines a name without a value. ``{"SPLIT": ""}`` is a build of ``tigon2``.
    cc
        Another compiler than zig from PyPI: a big-endian MIPS gcc.
    cache
        Folder of the cache; that of handlers if not given.
    out
        Also write the ELF file here.
    opt
        Optimisation level.
    debug
        Keep line numbers and types.
    flags
        Further compiler flags.

    Raises
    ------
    SourceNotFound, CompilerNotFound, CompileError
    """
    _arguments.check({"out": out})
    request = _request(sources, script=script, defines=defines, cache=cache, opt=opt, debug=debug, flags=flags)
    compiler = find_compiler(cc=cc, cache=request.cache, target=MIPS)
    built = compile_request(request, compiler)
    product = built.product
    if out is not None:
        copy_elf(product.elf, Path(out))
    return Firmware(
        elf=product.elf if out is None else Path(out),
        compiler=compiler.kind,
        version=compiler.version,
        sections=product.sections,
        messages=product.messages,
        cached=built.cached,
        key=built.key,
    )


def compile_commands(
    sources: str | Path | Sequence[Path | str],
    *,
    script: Path | str | None = None,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    opt: str = "-O2",
    flags: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The commands that `build` compiles sources with, as entries of `compile_commands.json`. Nothing is compiled."""
    request = _request(sources, script=script, defines=defines, cache=None, opt=opt, debug=True, flags=flags)
    return _compile_commands.entries(request, find_compiler(cc=cc, cache=request.cache, target=MIPS))


def _request(
    sources: str | Path | Sequence[Path | str],
    *,
    script: Path | str | None,
    defines: Mapping[str, str | int] | None,
    cache: Path | str | None,
    opt: str,
    debug: bool,
    flags: Sequence[str],
) -> Request:
    _arguments.check(
        {"sources": sources, "script": script, "defines": defines, "cache": cache, "opt": opt, "debug": debug}
        | {"flags": flags}
    )
    files = _files(sources)
    return Request(
        sources=tuple(readable(path) for path in files),
        flags=(opt, *(("-g",) if debug else ()), "-Wall", "-Wextra", *define_flags(defines or {}), *flags),
        cache=(cache_dir() if cache is None else Path(cache)).absolute(),
        script=_script(files[0].parent) if script is None else readable(Path(script)),
    )


def image(elf: Path) -> Image:
    """The image of an ELF file that a loader copies: its sections at their load addresses, zeros between them.

    Raises
    ------
    BuildError
        If nothing is loaded, sections overlap, or the image would exceed the memory of any card.
    """
    entry, sections = _elf.entry_and_load(elf)
    if not sections:
        raise BuildError(f"{elf} has nothing to load")
    first = sections[0][0]
    data = bytearray()
    for address, content in sections:
        gap = address - first - len(data)
        if gap < 0:
            raise BuildError(f"{elf}: two sections are loaded to 0x{address:x}", hint="check AT() in the linker script")
        if address + len(content) - first > _MOST_BYTES:
            where = f"0x{first:x} to 0x{address + len(content):x}"
            raise BuildError(f"{elf}: it is loaded to {where}, must be within {_MOST_BYTES} bytes")
        data += bytes(gap) + content
    return Image(load_address=first, entry=entry, data=bytes(data))


def _files(sources: str | Path | Sequence[Path | str]) -> list[Path]:
    """The source files that a name, a folder or a list stands for."""
    if not isinstance(sources, str | Path):
        files = [Path(source) for source in sources]
        if len(files) != 1:
            if not files:
                raise SourceNotFound("no source file given")
            return files
        sources = files[0]
    path = Path(sources)
    if not path.exists() and path.name == str(sources) and not path.suffix:
        path = _named(path.name)
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    if not files:
        raise SourceNotFound(f"{path} has no .c and no .S file")
    return files


def _named(name: str) -> Path:
    """The folder of firmware that comes with spinet."""
    if name in shipped():
        return firmware_dir() / name
    near = difflib.get_close_matches(name, shipped(), n=1)
    raise SourceNotFound(
        f"there is no firmware {name}; spinet has {', '.join(shipped())}",
        hint=f"did you mean {near[0]}?" if near else "or give a folder, or source files",
    )


def _script(folder: Path) -> Path:
    """The only linker script of a folder."""
    scripts = sorted(folder.absolute().glob("*.ld"))
    if len(scripts) != 1:
        found = (
            f"several linker scripts: {', '.join(script.name for script in scripts)}" if scripts else "no linker script"
        )
        hint = "spinet firmware --script names one; handlers are not firmware; they run on cards such as pspin"
        raise SourceNotFound(f"{folder.absolute()} has {found}, which firmware needs", hint=hint)
    return scripts[0]
