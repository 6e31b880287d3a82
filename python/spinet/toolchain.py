# SPDX-License-Identifier: Apache-2.0
"""From C handlers to an ELF file that the simulated NIC runs.

A build is looked up by content before any compiler runs: the sources, the headers they include, the SDK, the flags and
the compiler. The cache lies in ``$SPINET_CACHE``, else ``$XDG_CACHE_HOME/spinet``, else ``~/.cache/spinet``.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from spinet import _elf
from spinet._build_errors import (
    BuildError,
    CompileError,
    CompilerNotFound,
    MissingHandlers,
    ProgramTooLarge,
    SourceNotFound,
)
from spinet._compiler import Compiler, find_compiler

__all__ = [
    "Build",
    "BuildError",
    "CompileError",
    "CompilerNotFound",
    "Entry",
    "MissingHandlers",
    "ProgramTooLarge",
    "SourceNotFound",
    "build",
    "cache_dir",
    "sdk_dir",
]

PROGRAM_MEMORY_BYTES = 32 * 1024  # source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv
_FORMAT = 1  # of what the cache holds; goes up when its meaning changes
_SUFFIXES = ("_hh", "_ph", "_th")
_RUNTIME = ("crt0.S", "boot.c", "string.c", "stdlib.c", "stdio.c")


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
    version: str  # what the compiler says about itself
    handlers: Mapping[str, int]  # address of every function whose name ends in _hh, _ph or _th
    sections: Mapping[str, int]  # bytes of every loaded section
    messages: str  # warnings, word for word; also when cached
    cached: bool  # no compiler ran
    key: str  # what the cache knows it by

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
        if name is None and len(names) > 1:
            raise MissingHandlers(
                f"{self.elf.name} has several sets of handlers: {', '.join(names)}",
                functions=sorted(self.handlers),
                hint="name one of them",
            )
        chosen = names[0] if name is None else name
        if chosen not in names:
            near = difflib.get_close_matches(chosen, names, n=1)
            raise MissingHandlers(
                f"there is no {chosen}_hh, {chosen}_ph or {chosen}_th; the program has {', '.join(sorted(self.handlers))}",
                functions=sorted(self.handlers),
                hint=f"did you mean {near[0]}?" if near else "",
            )
        header, payload, tail = (self.handlers.get(chosen + suffix, 0) for suffix in _SUFFIXES)
        return Entry(name=chosen, header=header, payload=payload, tail=tail)


def sdk_dir() -> Path:
    """The folder with headers, runtime and linker script: beside this module when installed, else the checkout's."""
    here = Path(__file__).resolve().parent
    for candidate in (here / "sdk", here.parent.parent / "sdk"):
        if (candidate / "include" / "handler.h").is_file():
            return candidate
    raise BuildError(f"no SDK beside {here} nor in {here.parent.parent}", hint="reinstall spinet")


def cache_dir() -> Path:
    """Where builds are kept."""
    if own := os.environ.get("SPINET_CACHE"):
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "spinet"


def build(
    sources: Sequence[Path | str],
    *,
    defines: Mapping[str, str | int] | None = None,
    cc: str | None = None,
    cache: Path | None = None,
    out: Path | None = None,
    opt: str = "-O3",
    debug: bool = True,
    flags: Sequence[str] = (),
) -> Build:
    """Compile handlers and link them with the runtime.

    Parameters
    ----------
    sources
        C files, or assembly (``.S``).
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

    Raises
    ------
    SourceNotFound, CompilerNotFound, CompileError, MissingHandlers, ProgramTooLarge
    """
    request = _Request(
        sources=tuple(_readable(Path(source)) for source in sources),
        flags=(opt, *(("-g",) if debug else ()), "-Wall", "-Wno-unused", *_define_flags(defines or {}), *flags),
        sdk=sdk_dir(),
        cache=(cache or cache_dir()).absolute(),
    )
    if not request.sources:
        raise SourceNotFound("no source file given")
    compiler = find_compiler(cc=cc, cache=request.cache)
    key = request.key(compiler)
    result = _look_up(request, compiler, key) or _compile(request, compiler, key)
    if out is not None:
        _copy(result.elf, out)
        result = Build(**{**result.__dict__, "elf": out})
    return result


@dataclass(frozen=True, kw_only=True)
class _Request:
    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    sdk: Path
    cache: Path

    def key(self, compiler: Compiler) -> str:
        """Stands for all that decides the build, except the headers of the user."""
        digest = hashlib.sha256(repr((_FORMAT, compiler.identity, compiler.compile_flags, self.flags)).encode())
        digest.update(_hash_tree(self.sdk).encode())
        for source in self.sources:
            digest.update(repr((str(source), _hash_file(source))).encode())
        return digest.hexdigest()


def _readable(source: Path) -> Path:
    path = source.absolute()
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise SourceNotFound(f"{source} {what}")
    if not os.access(path, os.R_OK):
        raise SourceNotFound(f"{source} cannot be read")
    return path


def _define_flags(defines: Mapping[str, str | int]) -> list[str]:
    return [f"-D{name}" if value == "" else f"-D{name}={value}" for name, value in defines.items()]


def _hash_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _hash_tree(sdk: Path) -> str:
    """Of everything in the SDK that a build can see."""
    digest = hashlib.sha256()
    for folder in ("include", "link", "runtime"):
        for path in sorted((sdk / folder).iterdir()):
            digest.update(f"{folder}/{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()


# The cache: <key>.json tells, for each set of headers seen with this key, which ELF file came of it.


def _look_up(request: _Request, compiler: Compiler, key: str) -> Build | None:
    try:
        entries = json.loads((request.cache / "builds" / f"{key}.json").read_text())
        for entry in entries:
            elf = request.cache / "builds" / entry["elf"]
            if elf.is_file() and all(_hash_file(Path(path)) == known for path, known in entry["headers"].items()):
                return _result(elf, entry, compiler, key, cached=True)
    except (OSError, ValueError, KeyError, TypeError):
        pass  # nothing there, a header is gone, or the file is damaged: build again
    return None


def _store(request: _Request, key: str, elf: Path, entry: dict[str, object]) -> Path:
    folder = request.cache / "builds"
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{key[:24]}-{_hash_file(elf)[:24]}.elf"
    os.replace(elf, folder / name)
    index = folder / f"{key}.json"
    try:
        entries = json.loads(index.read_text())
    except (OSError, ValueError):
        entries = []
    entries = [{**entry, "elf": name}, *(old for old in entries if old.get("headers") != entry["headers"])]
    scratch = elf.with_suffix(".json")
    scratch.write_text(json.dumps(entries[:16]))
    os.replace(scratch, index)
    return folder / name


def _result(elf: Path, entry: Mapping[str, object], compiler: Compiler, key: str, *, cached: bool) -> Build:
    return Build(
        elf=elf,
        compiler=compiler.kind,
        version=compiler.version,
        handlers=entry["handlers"],  # type: ignore[arg-type]
        sections=entry["sections"],  # type: ignore[arg-type]
        messages=str(entry["messages"]),
        cached=cached,
        key=key,
    )


def _copy(elf: Path, out: Path) -> None:
    scratch = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    shutil.copyfile(elf, scratch)
    os.replace(scratch, out)


# The compiler at work.


def _compile(request: _Request, compiler: Compiler, key: str) -> Build:
    with _workshop(request.cache) as workshop:
        runtime = [request.sdk / "runtime" / name for name in _RUNTIME]
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            ours = pool.map(lambda unit: _compile_runtime(request, compiler, unit, workshop), runtime)
            theirs = pool.map(lambda unit: _compile_source(request, compiler, unit, workshop), enumerate(request.sources))
            objects, messages = [], ""
            for unit in (*theirs, *ours):
                objects.append(unit.object)
                messages += unit.messages
        elf = workshop / "program.elf"
        messages += _link(request, compiler, objects, elf)
        contents = _elf.read(elf)
        entry: dict[str, object] = {
            "headers": _headers(request, workshop),
            "handlers": _handlers(request, contents),
            "sections": contents.sections,
            "messages": messages,
        }
        return _result(_store(request, key, elf, entry), entry, compiler, key, cached=False)


@contextlib.contextmanager
def _workshop(cache: Path) -> Iterator[Path]:
    """A folder of our own on the cache's file system, so that what is finished can be moved in one step."""
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="build-") as folder:
        yield Path(folder)


@dataclass(frozen=True, kw_only=True)
class _Unit:
    object: Path
    messages: str


def _compile_source(request: _Request, compiler: Compiler, unit: tuple[int, Path], workshop: Path) -> _Unit:
    index, source = unit
    target = workshop / f"{index}.o"
    command = (*compiler.compile_flags, *request.flags, "-MMD", "-MF", str(target.with_suffix(".d")))
    return _compile_one(request, compiler, source, target, command)


def _compile_runtime(request: _Request, compiler: Compiler, source: Path, workshop: Path) -> _Unit:
    """The runtime is compiled as its authors meant it, whatever the user's flags; -fno-builtin keeps memcpy from itself."""
    target = workshop / f"runtime-{source.name}.o"
    return _compile_one(request, compiler, source, target, (*compiler.compile_flags, "-O3", "-g", "-fno-builtin"))


def _compile_one(
    request: _Request, compiler: Compiler, source: Path, target: Path, flags: Sequence[str]
) -> _Unit:
    include = f"-I{request.sdk / 'include'}"
    done = _run(request, compiler, (*flags, include, "-c", str(source), "-o", str(target)))
    if done.returncode != 0:
        raise CompileError(f"{source.name} does not compile", stderr=done.stderr)
    return _Unit(object=target, messages=done.stderr)


def _link(request: _Request, compiler: Compiler, objects: Sequence[Path], elf: Path) -> str:
    """Link; with the compiler's helper library only if something is missing without it, since zig first has to build it."""
    script = request.sdk / "link" / "pspin.ld"
    done = _run_linker(request, compiler, objects, elf, script, ("-nostdlib",))
    if done.returncode != 0 and "undefined" in done.stderr:
        done = _run_linker(request, compiler, objects, elf, script, compiler.library_flags)
    if done.returncode != 0 and "prog_mem" in done.stderr:
        raise _too_large(request, compiler, objects, elf, done.stderr)
    if done.returncode != 0:
        names = ", ".join(source.name for source in request.sources)
        raise CompileError(f"{names} does not link", stderr=done.stderr)
    return done.stderr


def _run_linker(
    request: _Request, compiler: Compiler, objects: Sequence[Path], elf: Path, script: Path, libraries: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    files = [str(path) for path in objects]
    return _run(request, compiler, (*compiler.link_flags, "-T", str(script), *files, *libraries, "-o", str(elf)))


def _too_large(
    request: _Request, compiler: Compiler, objects: Sequence[Path], elf: Path, stderr: str
) -> BuildError:
    """Link once more into a roomy memory, to learn how large the program is and what makes it so."""
    roomy = elf.with_suffix(".ld")
    script = (request.sdk / "link" / "pspin.ld").read_text()
    roomy.write_text(re.sub(r"(prog_mem .*LENGTH = )\w+", r"\g<1>16M", script))
    done = _run_linker(request, compiler, objects, elf, roomy, compiler.library_flags)
    if done.returncode != 0:
        return CompileError("the program does not link", stderr=stderr)
    contents = _elf.read(elf)
    size = contents.sections[".text"]
    largest = sorted((symbol for symbol in contents.symbols if symbol.is_function), key=lambda s: (-s.size, s.name))
    return ProgramTooLarge(
        f"the program has {size} bytes of code, program memory holds {PROGRAM_MEMORY_BYTES}; largest functions: "
        + ", ".join(f"{symbol.name} {symbol.size}" for symbol in largest[:3]),
        sections=contents.sections,
        limit=PROGRAM_MEMORY_BYTES,
        hint="optimise for size with -Os, or move tables from code to data",
    )


def _run(request: _Request, compiler: Compiler, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    zig_cache = str(request.cache / "zig")
    environment = {**os.environ, "ZIG_GLOBAL_CACHE_DIR": zig_cache, "ZIG_LOCAL_CACHE_DIR": zig_cache, "LC_ALL": "C.UTF-8"}
    return subprocess.run((*compiler.command, *arguments), capture_output=True, text=True, errors="replace", env=environment)


def _headers(request: _Request, workshop: Path) -> dict[str, str]:
    """Path and hash of every header that the sources include, the SDK's own left out."""
    found: dict[str, str] = {}
    for rules in workshop.glob("*.d"):
        _, _, names = rules.read_text().partition(": ")
        for name in re.split(r"(?<!\\)\s+", names.replace("\\\n", " ").strip()):
            path = Path(name.replace("\\ ", " ")).absolute()
            if path not in request.sources and not path.is_relative_to(request.sdk):
                found[str(path)] = _hash_file(path)
    return found


def _handlers(request: _Request, contents: _elf.Elf) -> dict[str, int]:
    handlers = {s.name: s.address for s in contents.symbols if s.is_function and s.name.endswith(_SUFFIXES)}
    if not handlers:
        names = ", ".join(source.name for source in request.sources)
        candidates = _functions_of(request.sources)
        found = f"it has {', '.join(candidates)}" if candidates else "it has no function that takes handler_args_t *"
        raise MissingHandlers(
            f"{names} has no handler: none of its functions ends in _hh, _ph or _th; {found}",
            functions=candidates,
            hint=f"rename {candidates[0]} to {_suggest(candidates[0])}" if candidates else "write void NAME_ph(handler_args_t *args)",
        )
    return handlers


def _functions_of(sources: Sequence[Path]) -> list[str]:
    """Functions that look like handlers, by their one argument."""
    pattern = re.compile(r"\b(\w+)\s*\(\s*handler_args_t\s*\*\s*\w*\s*\)\s*\{")
    return [name for source in sources for name in pattern.findall(source.read_text(errors="replace"))]


def _suggest(name: str) -> str:
    """A near miss such as `ping_hp` or `ping_PH` keeps its stem."""
    stem, _, last = name.rpartition("_")
    near = {"".join(sorted(suffix[1:])): suffix for suffix in _SUFFIXES}.get("".join(sorted(last.lower())))
    return f"{stem}{near}" if stem and near else f"{name}_ph"
