# SPDX-License-Identifier: Apache-2.0
"""What was built before, found by content.

`builds/<key>.json` tells, for each set of headers seen with this key, which ELF file came of it, and
`runtime/<key>.json` which objects the runtime became. Files are written elsewhere and moved to their place in one step,
so that processes can share the folder. Names of what was built end with its hash, so that what is not whole, as after a
power cut, is built again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _files
from spinet._compiler import Compiler

FORMAT = 3  # of what the cache holds; goes up when its meaning changes
_KEPT = 16  # sets of headers remembered for each key
_HASH = 24  # digits of hashes in names


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a program is linked that runs beside others: room in program memory, and in L2 handler memory."""

    code: int
    code_bytes: int
    data: int
    data_bytes: int


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to build, from what, with which flags."""

    sources: tuple[Path, ...]
    flags: tuple[str, ...]
    cache: Path
    sdk: Path | None = None  # None for firmware, which has no runtime but its own
    place: Place | None = None  # None for a program that brings the runtime
    script: Path | None = None  # linker script of firmware
    is_unit: bool = False  # for a core-based unit of a PANIC NIC
    handler: str | None = None  # for such a unit: the set of handlers, if there are several

    def key(self, compiler: Compiler) -> str:
        """Stands for all that decides the build, except the headers of the user."""
        digest = hashlib.sha256(
            repr((FORMAT, compiler.identity, compiler.compile_flags, self.flags, self.place)).encode()
        )
        if self.is_unit:
            digest.update(repr(("unit", self.handler)).encode())
        if self.sdk is not None:
            digest.update(hash_sdk(self.sdk).encode())
        if self.script is not None:
            digest.update(hash_file(self.script).encode())
        for source in self.sources:
            digest.update(repr((str(source), hash_file(source))).encode())
        return digest.hexdigest()


@dataclass(frozen=True, kw_only=True)
class Product:
    """What came of a request."""

    elf: Path
    handlers: dict[str, int]
    sections: dict[str, int]
    headers: dict[str, str]  # path and hash of each header that the sources included, the SDK's left out
    messages: str


def look_up(request: Request, key: str) -> Product | None:
    """The product of the same request, if the headers are still the same too."""
    folder = request.cache / "builds"
    try:
        for entry in json.loads((folder / f"{key}.json").read_text()):
            product = Product(**{**entry, "elf": folder / entry["elf"]})
            if _is_whole(product.elf) and all(
                hash_file(Path(path)) == known for path, known in product.headers.items()
            ):
                return product
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        pass  # nothing there, a header is gone, or the file is damaged: build again
    return None


def store(request: Request, key: str, product: Product) -> Product:
    """Move the ELF file into the cache and remember what it came from."""
    folder = request.cache / "builds"
    with _files.keeping(request.cache):
        kept = dataclasses.replace(product, elf=_move(product.elf, folder, key[:_HASH]))
        index = folder / f"{key}.json"
        try:
            others = [entry for entry in json.loads(index.read_text()) if entry["headers"] != kept.headers]
        except (OSError, ValueError, KeyError, TypeError):
            others = []
        newest = {**dataclasses.asdict(kept), "elf": kept.elf.name}
        _files.write(index, json.dumps([newest, *others][:_KEPT]))
    return kept


def look_up_runtime(cache: Path, key: str, names: Sequence[str]) -> dict[str, Path] | None:
    """Objects of the runtime's sources with these names, if all are there."""
    folder = cache / "runtime"
    try:
        known = json.loads((folder / f"{key}.json").read_text())
        objects = {name: folder / known[name] for name in names}
        return objects if all(_is_whole(path) for path in objects.values()) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def store_runtime(cache: Path, key: str, objects: Mapping[str, Path]) -> dict[str, Path]:
    """Move the runtime's objects into the cache."""
    folder = cache / "runtime"
    with _files.keeping(cache):
        kept = {name: _move(path, folder, Path(name).stem) for name, path in objects.items()}
        _files.write(folder / f"{key}.json", json.dumps({name: path.name for name, path in kept.items()}))
    return kept


def _move(built: Path, folder: Path, stem: str) -> Path:
    """Give a file its place, under a name that tells what it holds."""
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{stem}-{hash_file(built)[:_HASH]}{built.suffix}"
    os.replace(built, place)
    return place


def _is_whole(path: Path) -> bool:
    return path.stem.endswith(f"-{hash_file(path)[:_HASH]}")


def hash_file(path: Path) -> str:
    """Of what it holds."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def hash_sdk(sdk: Path) -> str:
    """Of everything in the SDK that a build can see."""
    digest = hashlib.sha256()
    for folder in ("include", "link", "panic", "runtime"):
        for path in sorted(path for path in (sdk / folder).rglob("*") if path.is_file()):
            digest.update(f"{path.relative_to(sdk).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()
