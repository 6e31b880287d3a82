# SPDX-License-Identifier: Apache-2.0
"""Builds an ELF file, which the simulated NIC runs, from C handlers.

A build is first looked up in the cache (`spinet.cache`), by what the preprocessor reads, the SDK, the flags and the
compiler.
"""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from spinet import _arguments, _compile_commands, _elf, _files
from spinet._build_cache import Place, Request
from spinet._build_errors import (
    BuildError,
    CompileError,
    CompilerNotFound,
    MissingHandlers,
    ProgramTooLarge,
    SourceNotFound,
    UnsupportedByTarget,
)
from spinet._compile import PROGRAM_MEMORY_BYTES, SUFFIXES
from spinet._compile import build as compile_request
from spinet._compiler import Compiler, find_compiler
from spinet._target import RISCV, RV32I
from spinet.cache import cache_dir

__all__ = [
    "SOURCES",
    "SUFFIXES",
    "TARGETS",
    "Build",
    "BuildError",
    "CardTarget",
    "CompileError",
    "CompilerNotFound",
    "Entry",
    "MissingHandlers",
    "Place",
    "ProgramTooLarge",
    "SourceNotFound",
    "UnsupportedByTarget",
    "build",
    "build_runtime",
    "cache_dir",
    "compile_commands",
    "place_after",
    "sdk_dir",
]

CardTarget = Literal["pspin", "panic"]
TARGETS: tuple[CardTarget, ...] = ("pspin", "panic")

SOURCES = (".c", ".S", ".s")  # files of other names are programs that are linked already
# Where linker scripts put code and static data; see link/pspin.ld.
_CODE, _DATA, _DATA_BYTES = 0x1D000000, 0x1C000000, 3 << 20
_ALIGN = 64


@dataclass(frozen=True, kw_only=True)
class Entry:
    """Addresses of one set of handlers; 0 for those that it leaves out."""

    name: str
    header: int
    payload: int
    tail: int


@dataclass(frozen=True, kw_only=True)
class Build:
    """A program, ready to be loaded."""

    elf: Path
    compiler: str  # "zig", "clang" or "gcc"
    version: str  # name and version, as the compiler prints them
    handlers: Mapping[str, int]  # address of every function whose name ends in _hh, _ph or _th
    sections: Mapping[str, int]  # bytes of every loaded section
    messages: str  # warnings, word for word; also when cached
    cached: bool  # no compiler ran
    key: str  # key in the cache

    def names(self) -> list[str]:
        """Names of the sets of handlers, without suffix."""
        return sorted({symbol[:-3] for symbol in self.handlers})

    def entry(self, *, name: str | None = None) -> Entry:
        """Addresses of the handlers called ``name``; of the only set there is if no name is given.

        Raises
        ------
        MissingHandlers
            If there is no such set, or several and no name.
        """
        names = self.names()
        if not names:
            raise MissingHandlers(f"{self.elf.name} has no function that ends in _hh, _ph or _th", functions=())
        if name is None and len(names) > 1:
            raise MissingHandlers(
                f"{self.elf.name} has several sets of handlers: {', '.join(names)}",
                functions=sorted(self.handlers),
                hint="name one of them",
            )
        chosen = names[0] if name is None else name
        if chosen not in names:
            near = difflib.get_close_matches(chosen, names, n=1)
            present = ", ".join(sorted(self.handlers))
            raise MissingHandlers(
                f"there is no {chosen}_hh, {chosen}_ph or {chosen}_th; the program has {present}",
                functions=sorted(self.handlers),
                hint=f"did you mean {near[0]}?" if near else "",
            )
        header, payload, tail = (self.handlers.get(chosen + suffix, 0) for suffix in SUFFIXES)
        return Entry(name=chosen, header=header, payload=payload, tail=tail)


def sdk_dir() -> Path:
    """The folder with headers, runtime and linker script: beside this module when installed, else the checkout's."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "sdk", here.parent.parent / "sdk"):
        if (candidate / "include" / "handler.h").is_file():
            return candidate.resolve()  # in a checkout, the first candidate is a link to the second
    raise BuildError(f"no SDK beside {here} nor in {here.parent.parent}", hint="reinstall spinet")


def build(
    sources: Path | str | Sequence[Path | str],
    *,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    cache: Path | str | None = None,
    out: Path | str | None = None,
    opt: str = "-O3",
    debug: bool = True,
    flags: Sequence[str] = (),
    place: Place | None = None,
    target: CardTarget = "pspin",
    handler: str | None = None,
) -> Build:
    """Compile handlers and link them with the runtime.

    Parameters
    ----------
    sources
        A C file, or several, or assembly (``.S``).
    defines
        Preprocessor macros; an empty string defines a name without a value.
    cc
        Another compiler than zig from PyPI: a RISC-V gcc or clang.
    cache
        Folder of the cache; `cache_dir()` if not given.
    out
        Also write the ELF file here.
    opt
        Optimisation level.
    debug
        Keep line numbers and types, for profiles and debuggers.
    flags
        Further compiler flags.
    place
        Link without start code for this memory. The program then runs beside others, under the runtime in the card.
    target
        ``"pspin"``, or ``"panic"`` for a core-based unit of a PANIC NIC: the same handlers, or a program with
        `panic_main`.
    handler
        For ``"panic"``: the set of handlers, if the sources have several.

    Raises
    ------
    SourceNotFound, CompilerNotFound, CompileError, MissingHandlers, ProgramTooLarge, UnsupportedByTarget

    Examples
    --------
    >>> import spinet
    >>> built = spinet.build("sdk/examples/ping_pong.c")
    >>> list(built.handlers), built.elf.suffix
    (['ping_pong_ph'], '.elf')
    """
    _arguments.check({"sources": sources, "cc": cc, "cache": cache, "out": out, "debug": debug, "handler": handler})
    if not isinstance(place, Place | None):
        raise BuildError(f"place is {place!r}, must be what place_after returns")
    several = [sources] if isinstance(sources, str | Path) else sources
    request = _request(
        several, defines=defines, cache=cache, opt=opt, debug=debug, flags=flags, place=place, target=target
    )
    if target == "panic":
        request = dataclasses.replace(request, handler=handler)
    elif handler is not None:
        hint = "a program for PsPIN has all its handlers; spinet.run(handler=...) chooses"
        raise BuildError(f"handler is {handler!r}, but the target is {target}", hint=hint)
    return _build(request, cc=cc, out=None if out is None else Path(out))


def compile_commands(
    sources: Sequence[Path | str],
    *,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    opt: str = "-O3",
    flags: Sequence[str] = (),
    target: CardTarget = "pspin",
) -> list[dict[str, Any]]:
    """The commands that `build` compiles sources with, as entries of `compile_commands.json`. Nothing is compiled."""
    request = _request(sources, defines=defines, opt=opt, flags=flags, target=target)
    compiler = _compiler_for(request, cc)
    return _compile_commands.entries(request, compiler)


def _request(
    sources: Sequence[Path | str],
    *,
    defines: Mapping[str, str | int] | None,
    opt: str,
    flags: Sequence[str],
    target: CardTarget,
    cache: Path | str | None = None,
    debug: bool = True,
    place: Place | None = None,
) -> Request:
    _arguments.check({"defines": defines, "opt": opt, "flags": flags})
    request = Request(
        sources=tuple(readable(Path(source)) for source in sources),
        flags=(opt, *(("-g",) if debug else ()), "-Wall", "-Wno-unused", *define_flags(defines or {}), *flags),
        sdk=sdk_dir(),
        cache=(cache_dir() if cache is None else Path(cache)).absolute(),
        place=place,
        is_unit=_is_unit(target),
    )
    if not request.sources:
        raise SourceNotFound("no source file given")
    for source in request.sources:
        if source.suffix not in SOURCES:
            raise BuildError(f"{source.name} is not a source, must end in {', '.join(SOURCES)}")
    return request


def place_after(elfs: Sequence[Path]) -> Place:
    """The free memory behind consecutive programs, in PsPIN's program memory and data memory."""
    ends = [end for elf in elfs for end in _elf.read(elf).ends]
    code = max((end for end in ends if end > _CODE), default=_CODE)
    data = max((end for end in ends if _DATA < end <= _DATA + _DATA_BYTES), default=_DATA)
    code, data = -(-code // _ALIGN) * _ALIGN, -(-data // _ALIGN) * _ALIGN
    return Place(
        code=code, code_bytes=_CODE + PROGRAM_MEMORY_BYTES - code, data=data, data_bytes=_DATA + _DATA_BYTES - data
    )


def build_runtime(*, defines: Mapping[str, str | int] | None = None, cc: str | None = None) -> Build:
    """The runtime alone: a program without handlers, under which the programs of tenants run.

    Parameters
    ----------
    defines
        ``NB_CLUSTERS`` and ``NB_CORES``, for a card that does not have 4 clusters of 8 cores.
    cc
        As for `build`.
    """
    flags = tuple(define_flags(defines or {}))
    return _build(Request(sources=(), flags=flags, sdk=sdk_dir(), cache=cache_dir().absolute()), cc=cc, out=None)


def _is_unit(target: str) -> bool:
    if target not in TARGETS:
        raise BuildError(f"target is {target!r}, must be one of {', '.join(TARGETS)}")
    return target == "panic"


def _compiler_for(request: Request, cc: str | None) -> Compiler:
    return find_compiler(cc=cc, cache=request.cache, target=RV32I if request.is_unit else RISCV)


def _build(request: Request, *, cc: str | None, out: Path | None) -> Build:
    compiler = _compiler_for(request, cc)
    built = compile_request(request, compiler)
    product = built.product
    if out is not None:
        copy_elf(product.elf, out)
        product = dataclasses.replace(product, elf=out)
    return Build(
        elf=product.elf,
        compiler=compiler.kind,
        version=compiler.version,
        handlers=product.handlers,
        sections=product.sections,
        messages=product.messages,
        cached=built.cached,
        key=built.key,
    )


def readable(source: Path) -> Path:
    """The absolute path of a source file that can be read."""
    path = source.absolute()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "is a pipe or a device, must be a file"
        raise SourceNotFound(f"{source} {what if path.exists() else 'does not exist'}")
    if path.stat().st_size > _files.MOST_BYTES:
        raise SourceNotFound(f"{source} has more than {_files.MOST_BYTES} bytes, the most that is compiled")
    if not os.access(path, os.R_OK):
        raise SourceNotFound(f"{source} cannot be read")
    return path


def define_flags(defines: Mapping[str, str | int]) -> list[str]:
    """Macros as the compiler takes them."""
    return [f"-D{name}" if value == "" else f"-D{name}={value}" for name, value in defines.items()]


def copy_elf(elf: Path, out: Path) -> None:
    """Write the ELF file also to the requested place."""
    if out.is_dir():
        raise BuildError(f"cannot write {out}: it is a folder")
    content = elf.read_bytes()
    try:
        _files.write(out, content)
    except OSError as error:
        raise BuildError(f"cannot write {out}: {error.strerror}") from error
