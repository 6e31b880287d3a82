# SPDX-License-Identifier: Apache-2.0
"""The folder of everything that spinet keeps between runs: compiled programs, runs of sweeps, points of figures.

It lies in ``$SPINET_CACHE``, else ``$XDG_CACHE_HOME/spinet``, else ``~/.cache/spinet``. `usage` tells what is there,
`empty` removes it. Builds remove the least recently used files when the folder holds more than `limit_bytes`.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from spinet import _files
from spinet._build_errors import BuildError

__all__ = ["KINDS", "Usage", "cache_dir", "empty", "limit_bytes", "trim", "usage"]

# Contents of its folders.
KINDS = {
    "builds": "compiled programs",
    "runtime": "objects of runtimes",
    "compilers": "what compilers said about themselves",
    "cards": "files of cards",
    "memory": "contents of handler memory",
    "traffic": "packets that Python programs made",
    "runs": "summaries of the runs of sweeps",
    "reproduce": "points of reproduced figures",
    "zig": "libraries that zig made",
}
_LIMIT_MIB = 512
_LEFT = 0.8  # share of the limit that remains after trimming, so that not every build trims
_KEPT_S = 600  # a file used within this time may be one that a run is about to load
_TORN_S = 3600  # no file is being written for so long
_TORN = re.compile(r"\..*\.\d+\.tmp")


@dataclass(frozen=True, kw_only=True)
class Usage:
    """How much the cache holds of a kind."""

    kind: str
    files: int
    bytes: int


@dataclass(frozen=True)
class _File:
    path: str
    bytes: int
    used: float  # seconds since the epoch


def cache_dir() -> Path:
    """The folder.

    Raises
    ------
    BuildError
        If no variable names one and the user has no home, or its path is not UTF-8.
    """
    hint = "name one with SPINET_CACHE"
    if own := os.environ.get("SPINET_CACHE"):
        path = Path(own)
    else:
        try:
            path = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "spinet"
        except RuntimeError as error:
            raise BuildError("there is no folder to keep builds in: HOME is not set", hint=hint) from error
    try:
        str(path).encode()
    except UnicodeEncodeError:
        name = os.fsencode(path).decode(errors="backslashreplace")
        raise BuildError(f"the path of the build cache, {name}, is not UTF-8", hint=hint) from None
    return path


def limit_bytes() -> int:
    """Most bytes that the cache keeps: ``$SPINET_CACHE_MIB`` MiB, 512 if that is not set.

    Raises
    ------
    BuildError
        If the variable is not a whole number.
    """
    text = os.environ.get("SPINET_CACHE_MIB", str(_LIMIT_MIB))
    if not text.isdecimal():
        raise BuildError(f"SPINET_CACHE_MIB is {text!r}, must be a whole number of MiB")
    return int(text) << 20


def usage(folder: Path | None = None) -> list[Usage]:
    """Contents of the cache by kind."""
    folder = folder or cache_dir()
    found = {kind: list(_files_in(folder / kind)) for kind in KINDS}
    return [Usage(kind=kind, files=len(files), bytes=sum(f.bytes for f in files)) for kind, files in found.items()]


def empty(folder: Path | None = None) -> int:
    """Remove everything that the cache holds; returns how many bytes. Files in use stay complete."""
    folder = folder or cache_dir()
    freed = sum(kind.bytes for kind in usage(folder))
    with _files.keeping(folder):
        for kind in KINDS:
            if (folder / kind).is_dir():
                shutil.rmtree(folder / kind)
        _files.sweep(folder, "build-")
    return freed


def trim(folder: Path) -> None:
    """Remove leftovers of killed processes, and the least recently used files beyond the limit."""
    limit, now = limit_bytes(), time.time()
    files = []
    for file in (file for kind in KINDS for file in _files_in(folder / kind)):
        if now - file.used > _TORN_S and _TORN.fullmatch(os.path.basename(file.path)):
            Path(file.path).unlink(missing_ok=True)
        else:
            files.append(file)
    total = sum(file.bytes for file in files)
    if total <= limit:
        return
    for file in sorted(files, key=lambda file: file.used):
        if total <= _LEFT * limit or now - file.used < _KEPT_S:
            break
        with _files.keeping(folder):
            Path(file.path).unlink(missing_ok=True)
        total -= file.bytes


def _files_in(folder: Path) -> Iterator[_File]:
    # Each build looks at all files. Without a Path for each of them, this takes half the time.
    folders = [os.fspath(folder)]
    while folders:
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue  # not there, or another process has just removed it
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    yield _File(entry.path, status.st_size, status.st_mtime)
            except OSError:
                continue  # another process has just removed it
