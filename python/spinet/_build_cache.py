# SPDX-License-Identifier: Apache-2.0
"""The build cache: finished builds, keyed by all their inputs.

`builds/<key>.json` describes a build and names its ELF file; `runtime/<key>.json` names the objects of a runtime. A key
covers what the preprocessor reads now, so a new header that hides another one changes it. Files are written elsewhere
and moved to their place in one step: processes can share the folder. Names of built files end with a hash of their
content; a damaged file, as after a power cut, is built again. The least recently used files go when the cache is full
(`spinet.cache`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from spinet import _files
from spinet._compiler import Compiler, run

FORMAT = 4  # version of the cache's format
_HASH = 24  # digits of hashes in names

# Line markers in the preprocessor's output name the files that it read: `# 12 "handler.h" 2`.
_LINE_MARKER = re.compile(rb'^#(?:line)? \d+ "((?:[^"\\\n<]|\\.)(?:[^"\\\n]|\\.)*)"', re.MULTILINE)
# Assembly that reads files without the preprocessor, and linker scripts that read other files.
_READS_MORE = re.compile(rb"incbin|\.\s*include\b")
_SCRIPT_READS_MORE = re.compile(rb"\b(INCLUDE|INPUT|GROUP|STARTUP|SEARCH_DIR)\b")


@dataclass(frozen=True, kw_only=True)
class Place:
    """Memory for a program that runs beside others: a range of program memory, and one of L2 handler memory."""

    code: int
    code_bytes: int
    data: int
    data_bytes: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """A build: its product, its sources and its flags."""

    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    cache: Path
    sdk: Path | None = None  # None for firmware, which brings its own runtime
    place: Place | None = None  # None for a program that brings the runtime
    script: Path | None = None  # linker script of firmware
    is_unit: bool = False  # for a core-based unit of a PANIC NIC
    handler: str | None = None  # units of PANIC: the set of handlers, if the program has several

    def include_flags(self) -> tuple[str, ...]:
        """Where the preprocessor looks for the SDK's headers, and libraries such as `<collectives/spin_reduce.h>`."""
        if self.sdk is None:
            return ()
        own = ("panic/include",) if self.is_unit else ()
        return tuple(f"-I{self.sdk / folder}" for folder in (*own, "include", ""))

    def key(self, compiler: Compiler) -> str | None:
        """A text that identifies all inputs of the build; None if they cannot be determined."""
        if self.script is not None and _SCRIPT_READS_MORE.search(self.script.read_bytes()):
            return None
        with _files.scratch() as scratch, ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            read = list(pool.map(lambda source: _read_by(self, compiler, source, scratch), self.sources))
        if any(digest is None for digest in read):
            return None
        decides = [FORMAT, compiler.identity, compiler.compile_flags, compiler.link_flags, self.flags, self.place, read]
        decides += [_hash_named(self.flags), "unit" if self.is_unit else "", self.handler]
        decides += [hash_sdk(self.sdk) if self.sdk else "", hash_file(self.script) if self.script else ""]
        return hashlib.sha256(repr(decides).encode()).hexdigest()


def unknown_key() -> str:
    """A unique key, for a build that later builds must not reuse."""
    return secrets.token_hex(32)


def _read_by(request: Request, compiler: Compiler, source: Path, scratch: Path) -> str | None:
    """Identifies the preprocessor's output for a source, and the files that it reads; None if it fails."""
    flags = (*compiler.compile_flags, *request.flags, *request.include_flags())
    if source.suffix == ".s":
        text = source.read_bytes()
    else:
        # zig always writes a list of headers; it goes to /dev/null, so that a cache hit works on a full disk.
        no_list = ("-MMD", "-MF", os.devnull)
        done = run(compiler, (*flags, *no_list, "-E", str(source)), cache=request.cache, workshop=scratch)
        if done.returncode != 0:
            return None  # the compiler will say why
        text = done.stdout
    if _READS_MORE.search(text):
        return None
    read: dict[bytes, None] = {os.fsencode(source): None}

    def absolute(marker: re.Match[bytes]) -> bytes:
        """Make the path absolute. Paths can be relative to the current folder, which is in the debug information."""
        path = os.path.abspath(re.sub(rb"\\(.)", rb"\1", marker[1]))
        read[path] = None
        return b"# " + path

    digest = hashlib.sha256(repr(str(source)).encode() + _LINE_MARKER.sub(absolute, text))
    # Warnings and places quote the files themselves, comments included.
    for path in filter(os.path.isfile, read):
        digest.update(repr(path).encode() + hash_file(Path(os.fsdecode(path))).encode())
    return digest.hexdigest()


def _hash_named(flags: Sequence[str]) -> list[str]:
    """Identifies the files that flags name, such as `-include=FILE`, `@FILE` or `-fprofile-use=FILE`."""
    names = {name for flag in flags for name in (flag, flag.removeprefix("@"), flag.partition("=")[2]) if name}
    return [hash_file(Path(name)) for name in sorted(names) if os.path.isfile(name)]


@dataclass(frozen=True, kw_only=True)
class Product:
    """Result of a request."""

    elf: Path
    handlers: dict[str, int]
    sections: dict[str, int]
    messages: str


def look_up(request: Request, key: str) -> Product | None:
    """The product of an equal request."""
    folder = request.cache / "builds"
    note = folder / f"{key}.json"
    try:
        entry = json.loads(note.read_text())
        product = Product(**{**entry, "elf": folder / entry["elf"]})
        if not _is_whole(product.elf):
            return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # nothing there, or the file is damaged: build again
    _files.mark_used(note, product.elf)
    return product


def store(request: Request, key: str, product: Product) -> Product:
    """Move the ELF file into the cache and remember what it is."""
    folder = request.cache / "builds"
    with _files.keeping(request.cache):
        kept = dataclasses.replace(product, elf=_move(product.elf, folder, key[:_HASH]))
        _files.write(folder / f"{key}.json", json.dumps({**dataclasses.asdict(kept), "elf": kept.elf.name}))
    return kept


def look_up_runtime(cache: Path, key: str, names: Sequence[str]) -> dict[str, Path] | None:
    """Objects of the runtime's sources with these names, if all are there."""
    folder = cache / "runtime"
    try:
        known = json.loads((folder / f"{key}.json").read_text())
        objects = {name: folder / known[name] for name in names}
        if not all(_is_whole(path) for path in objects.values()):
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    _files.mark_used(folder / f"{key}.json", *objects.values())
    return objects


def store_runtime(cache: Path, key: str, objects: Mapping[str, Path]) -> dict[str, Path]:
    """Move the runtime's objects into the cache."""
    folder = cache / "runtime"
    with _files.keeping(cache):
        kept = {name: _move(path, folder, Path(name).stem) for name, path in objects.items()}
        _files.write(folder / f"{key}.json", json.dumps({name: path.name for name, path in kept.items()}))
    return kept


def _move(built: Path, folder: Path, stem: str) -> Path:
    """Move a file into the cache; its name ends with a hash of its content."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{stem}-{hash_file(built)[:_HASH]}{built.suffix}"
    os.replace(built, place)
    return place


def _is_whole(path: Path) -> bool:
    return path.stem.endswith(f"-{hash_file(path)[:_HASH]}")


def hash_file(path: Path) -> str:
    """Digest of its contents."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_sdk(sdk: Path) -> str:
    """Hash of all files of the SDK that a build can read."""
    digest = hashlib.sha256()
    for folder in ("include", "link", "panic", "runtime"):
        for path in sorted(path for path in (sdk / folder).rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(sdk).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()
