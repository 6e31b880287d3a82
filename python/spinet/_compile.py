# SPDX-License-Identifier: Apache-2.0
"""Compiles sources and the runtime, and links them into an ELF file."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from pathlib import Path

from spinet import _build_cache, _elf, _files, _unit, cache
from spinet._build_cache import FORMAT, Product, Request, hash_sdk
from spinet._build_errors import CompileError, MissingHandlers, ProgramTooLarge, UnsupportedByTarget
from spinet._compiler import Compiler, run

SUFFIXES = ("_hh", "_ph", "_th")  # header, payload and tail handler
PROGRAM_MEMORY_BYTES = 32 * 1024  # source: PsPIN RTL a49fec8, pspin_cfg_pkg.sv

_START = ("crt0.S", "boot.c")  # left out of programs that run under another program's runtime
_RUNTIME = (*_START, "string.c", "stdlib.c", "stdio.c", "putchar.c")
# For a PANIC unit, which has no console; handlers.c is for programs with handlers.
_UNIT_HANDLERS = "panic/handlers.c"
_UNIT_RUNTIME = ("panic/start.S", "string.c", "stdlib.c", "stdio.c")

# A function that looks like a handler by its one argument.
_FUNCTION = re.compile(r"\b(\w+)\s*\(\s*handler_args_t\s*\*\s*\w*\s*\)\s*\{")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_ALL = "/* all */"  # ends the line of a linker script that keeps functions without callers

# A linker's complaint about a function that the compiler calls by itself, such as __udivdi3.
_HELPER = re.compile(r"undefined (symbol: |reference to `)__\w+")


@dataclass(frozen=True, kw_only=True)
class Built:
    """A product, and how it was made."""

    product: Product
    key: str
    cached: bool  # no compiler made it


class Once:
    """Products by their requests: within `remembering`, no request is built or looked up twice."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._products: dict[object, Future[Built]] = {}

    @contextmanager
    def remembering(self) -> Iterator[None]:
        """Use it for the builds of this block."""
        token = _ONCE.set(self)
        try:
            yield
        finally:
            _ONCE.reset(token)

    def build(self, request: Request, compiler: Compiler) -> Built:
        """The product, or the error of the first build. Threads that ask meanwhile wait for it."""
        key = (request, compiler.identity, compiler.command)
        with self._lock:
            known = self._products.get(key)
            if known is None:
                made = self._products[key] = Future[Built]()
        if known is not None:
            return known.result()
        try:
            made.set_result(_build(request, compiler))
        except BaseException as error:
            made.set_exception(error)
        return made.result()


_ONCE: ContextVar[Once | None] = ContextVar("once", default=None)


def build(request: Request, compiler: Compiler) -> Built:
    """The product of a request: from the cache, else made and kept there.

    Raises
    ------
    CompileError, MissingHandlers, ProgramTooLarge, UnsupportedByTarget
    """
    once = _ONCE.get()
    return _build(request, compiler) if once is None else once.build(request, compiler)


def _build(request: Request, compiler: Compiler) -> Built:
    key = request.key(compiler)
    if key is not None and (known := _build_cache.look_up(request, key)) is not None:
        return Built(product=known, key=key, cached=True)
    with _files.workshop(request.cache) as workshop:
        made = _compile_and_link(request, compiler, workshop)
        if key is None or request.key(compiler) != key:  # sources changed while they were compiled
            key = _build_cache.unknown_key()
        product = _build_cache.store(request, key, made)
    cache.trim(request.cache)
    return Built(product=product, key=key, cached=False)


def _compile_and_link(request: Request, compiler: Compiler, workshop: Path) -> Product:
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        # Linker scripts know these objects by their end. The path of the cache can have any other part.
        jobs = [
            pool.submit(_compile_source, request, compiler, source, workshop / f"{index}.user.o")
            for index, source in enumerate(request.sources)
        ]
        runtime = _runtime(request, compiler, pool, workshop)
        units = [job.result() for job in jobs]
    elf = workshop / "program.elf"
    objects = [unit.object for unit in units]
    begin = _unit.begin(objects, request.sources, request.handler) if request.is_unit else _unit.Begin(is_main=True)
    if not begin.is_main:
        objects.append(_unit_handlers(request, compiler, workshop / "handlers.o", begin))
    warnings = "".join(unit.messages for unit in units)
    try:
        link_messages = begin.notes + _link(request, compiler, [*objects, *runtime], elf)
    except CompileError as error:
        error.stderr = warnings + error.stderr  # the compiler may have warned of the missing function
        raise
    contents = _elf.read(elf)
    return Product(
        elf=elf,
        handlers=_handlers(request, contents),
        sections=contents.sections,
        messages=warnings + link_messages + _near_handlers(request),
    )


@dataclass(frozen=True, kw_only=True)
class _Unit:
    object: Path
    messages: str


def _compile_source(request: Request, compiler: Compiler, source: Path, target: Path) -> _Unit:
    # zig always writes a list of headers, but an unreadable one if the source's name has a `#`.
    dependencies = ("-MMD", "-MF", str(target.with_suffix(".d")))
    return _compile_one(request, compiler, source, target, (*compiler.compile_flags, *request.flags, *dependencies))


def _runtime(request: Request, compiler: Compiler, pool: ThreadPoolExecutor, workshop: Path) -> list[Path]:
    """Objects of the runtime: compiled once for each compiler, with the runtime's flags instead of the user's."""
    sdk = request.sdk
    if sdk is None:
        return []
    shape = [flag for flag in request.flags if flag.startswith(("-DNB_CLUSTERS=", "-DNB_CORES="))]
    names = _UNIT_RUNTIME if request.is_unit else _RUNTIME
    # -fno-builtin keeps memcpy from calling itself.
    flags = (*compiler.compile_flags, "-O3", "-g", "-fno-builtin", *shape)
    key = hashlib.sha256(repr((FORMAT, compiler.identity, flags, hash_sdk(sdk))).encode()).hexdigest()[:24]
    objects = _build_cache.look_up_runtime(request.cache, key, names)
    if objects is None:
        jobs = [
            pool.submit(_compile_one, request, compiler, sdk / "runtime" / name, workshop / f"rt-{index}.o", flags)
            for index, name in enumerate(names)
        ]
        objects = _build_cache.store_runtime(
            request.cache, key, {name: job.result().object for name, job in zip(names, jobs, strict=True)}
        )
    return [objects[name] for name in names if request.place is None or name not in _START]


def _unit_handlers(request: Request, compiler: Compiler, target: Path, begin: _unit.Begin) -> Path:
    """The part of a unit's runtime that calls handlers by their names."""
    assert request.sdk is not None, "a unit's program is made with the SDK"
    own = (flag for flag in request.flags if flag.startswith("-DPANIC_"))
    flags = (*compiler.compile_flags, "-O3", "-g", *own, *begin.macros)
    return _compile_one(request, compiler, request.sdk / "runtime" / _UNIT_HANDLERS, target, flags).object


def _compile_one(request: Request, compiler: Compiler, source: Path, target: Path, flags: Sequence[str]) -> _Unit:
    done = _run(
        request, compiler, (*flags, *request.include_flags(), "-c", str(source), "-o", str(target)), target.parent
    )
    if done.returncode != 0:
        raise CompileError(
            f"{source.name} does not compile", stderr=(done.stderr.strip() and done.stderr) or _silent(done)
        )
    return _Unit(object=target, messages=done.stderr)


def _link(request: Request, compiler: Compiler, objects: Sequence[Path], elf: Path) -> str:
    """Link, with all functions of the sources if that is possible, else with those that are called."""
    script = _script(request, elf)
    done, libraries = _link_with(request, compiler, objects, elf, script)
    if done.returncode == 0:
        return done.stderr
    if _ALL in (text := script.read_text()):
        called = elf.with_suffix(".called.ld")
        called.write_text("\n".join(line for line in text.splitlines() if not line.endswith(_ALL)))
        again, _ = _link_with(request, compiler, objects, elf, called)
        if again.returncode == 0:
            why = done.stderr.strip().splitlines()
            return (
                f"warning: functions that no other calls are left out: {why[0] if why else 'no room'}\n{again.stderr}"
            )
    if request.sdk is not None and request.place is None and "prog_mem" in done.stderr:
        roomy = elf.with_suffix(".ld")
        roomy.write_text(re.sub(r"(prog_mem .*LENGTH = )\w+", r"\g<1>16M", script.read_text()))
        if _run_linker(request, compiler, objects, elf, roomy, libraries).returncode == 0:
            raise _too_large(_elf.read(elf))
    names = ", ".join(source.name for source in request.sources)
    if request.place is not None and ("prog_mem" in done.stderr or "l2_data" in done.stderr):
        room = f"{request.place.code_bytes} bytes of program memory and {request.place.data_bytes} of handler memory"
        raise CompileError(f"{names} does not fit: {room} are free", stderr=done.stderr)
    if request.is_unit and (cannot := _unit.cannot(done.stderr, objects)):
        raise UnsupportedByTarget(
            f"{names} does not run on a PANIC unit: {cannot}",
            hint="leave it out where SPIN_PANIC is defined: #ifndef SPIN_PANIC",
        )
    if request.is_unit and "'memory'" in done.stderr:
        raise CompileError(
            f"{names} does not fit into the 24 KiB that packets leave of a unit's memory", stderr=done.stderr
        )
    raise CompileError(f"{names} does not link", stderr=done.stderr)


def _link_with(
    request: Request, compiler: Compiler, objects: Sequence[Path], elf: Path, script: Path
) -> tuple[subprocess.CompletedProcess[str], Sequence[str]]:
    """Link with the compiler's helper library only if a function of it is missing, since zig first has to build it."""
    done = _run_linker(request, compiler, objects, elf, script, ("-nostdlib",))
    if done.returncode == 0 or not _HELPER.search(done.stderr):
        return done, ("-nostdlib",)
    return _run_linker(request, compiler, objects, elf, script, compiler.library_flags), compiler.library_flags


def _script(request: Request, elf: Path) -> Path:
    """The linker script: the firmware's own, the whole card's, or one for the free memory."""
    if request.sdk is None:
        assert request.script is not None, "firmware has a linker script"
        return request.script
    folder = request.sdk / "link"
    if request.place is None:
        return folder / ("panic.ld" if request.is_unit else "pspin.ld")
    text = (folder / "tenant.ld").read_text()
    for name, value in asdict(request.place).items():
        text = text.replace(f"@{name.upper()}@", hex(value))
    script = elf.with_suffix(".tenant.ld")
    script.write_text(text)
    return script


def _run_linker(
    request: Request, compiler: Compiler, objects: Sequence[Path], elf: Path, script: Path, libraries: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    files = [str(path) for path in objects]
    entry = () if request.place is None else ("-Wl,-e,0",)
    flags = (*compiler.link_flags, *entry, "-T", str(script))
    return _run(request, compiler, (*flags, *files, *libraries, "-o", str(elf)), elf.parent)


def _too_large(contents: _elf.Elf) -> ProgramTooLarge:
    """Sizes of the program's sections, from a link into a larger memory."""
    size = contents.sections[".text"]
    functions = [symbol for symbol in contents.symbols if symbol.is_function]
    largest = sorted(functions, key=lambda symbol: (-symbol.size, symbol.name))[:3]
    return ProgramTooLarge(
        f"the program has {size} bytes of code, program memory holds {PROGRAM_MEMORY_BYTES}; largest functions: "
        + ", ".join(f"{symbol.name} {symbol.size}" for symbol in largest),
        sections=contents.sections,
        limit=PROGRAM_MEMORY_BYTES,
        hint="optimise for size with -Os, or move tables from code to data",
    )


def _run(
    request: Request, compiler: Compiler, arguments: Sequence[str], workshop: Path
) -> subprocess.CompletedProcess[str]:
    done = run(compiler, arguments, cache=request.cache, workshop=workshop)
    texts = [stream.decode(errors="replace") for stream in (done.stdout, done.stderr)]
    return subprocess.CompletedProcess(done.args, done.returncode, *texts)


def _silent(done: subprocess.CompletedProcess[str]) -> str:
    """Message for a compiler that failed without output, for example because the disk is full."""
    end = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
    return f"{done.args[0]} says nothing; it ended with {end}"


def _handlers(request: Request, contents: _elf.Elf) -> dict[str, int]:
    if request.sdk is None:
        return {}
    handlers = {s.name: s.address for s in contents.symbols if s.is_function and s.name.endswith(SUFFIXES)}
    # A driver finds handlers of any name. Programs that register handlers are written for a driver.
    is_for_driver = any(symbol.name == "init_handlers" for symbol in contents.symbols)
    if not handlers and request.sources and not request.is_unit and not is_for_driver:
        names = ", ".join(source.name for source in request.sources)
        near = _functions_of(request.sources)
        raise MissingHandlers(
            f"{names} has no handler: none of its functions ends in _hh, _ph or _th; "
            + (f"it has {', '.join(near)}" if near else "it has no function that takes handler_args_t *"),
            functions=near,
            hint=_suggest(near[0]) if near else "write void NAME_ph(handler_args_t *args)",
        )
    return handlers


def _near_handlers(request: Request) -> str:
    """Remarks on functions that have a handler's argument but not a handler's name, if the program has other
    handlers.
    """
    if request.sdk is None:
        return ""
    # PsPIN's drivers ask for handlers by any name, through a function of the program.
    is_for_driver = any("init_handlers" in source.read_text(errors="replace") for source in request.sources)
    called = "is called only by drivers that ask for it" if is_for_driver else "is called for no packet"
    return "".join(
        f"note: {source.name}: {name} {called}, since its name ends in none of _hh, _ph and _th: {_suggest(name)}\n"
        for source in request.sources
        for name in _handlers_by_look(source)
        # A helper may have a handler's arguments. So only functions count that are marked as handlers or
        # whose names are nearly those of handlers.
        if not name.endswith(SUFFIXES)
    )


def _handlers_by_look(source: Path) -> list[str]:
    text = _COMMENT.sub(" ", source.read_text(errors="replace"))
    marked = re.findall(r"__handler__[\w\s]*?\b(\w+)\s*\(", text)
    near = [name for name in _FUNCTION.findall(text) if _near_suffix(name) is not None]
    return list(dict.fromkeys([*marked, *near]))


def _functions_of(sources: Sequence[Path]) -> list[str]:
    """Functions with the single argument that handlers have."""
    return [name for source in sources for name in _FUNCTION.findall(source.read_text(errors="replace"))]


def _near_suffix(name: str) -> str | None:
    """The handler suffix that a misspelt end of a name stands for: _ph for _hp, _PH, _hP."""
    _, _, last = name.rpartition("_")
    return {"".join(sorted(suffix[1:])): suffix for suffix in SUFFIXES}.get("".join(sorted(last.lower())))


def _suggest(name: str) -> str:
    """Hint for a function that is not a handler; a near miss such as `ping_hp` or `ping_PH` keeps its stem."""
    if name.endswith(SUFFIXES):
        return f"mark {name} with __handler__: the compiler dropped it, since nothing calls it"
    stem, near = name.rpartition("_")[0], _near_suffix(name)
    return f"rename {name} to {stem}{near}" if stem and near else f"rename {name} to {name}_ph"
