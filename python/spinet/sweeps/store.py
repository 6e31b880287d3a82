# SPDX-License-Identifier: Apache-2.0
"""Values in the cache, each under a key made of the content of everything that decides it."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from spinet import _core, _files, toolchain


def key(*parts: Any) -> str:
    """A key for a value that these parts decide; they can be written as JSON."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def look_up(kind: str, key: str) -> Any | None:
    """The value of a key; None if there is none, or a killed process left a part of it."""
    try:
        return json.loads(_place(kind, key).read_text())
    except (OSError, ValueError):
        return None


def keep(kind: str, key: str, value: Any) -> None:
    """Write a value.

    Raises
    ------
    BuildError
        If nothing can be written into the cache.
    """
    place = _place(kind, key)
    with _files.keeping(toolchain.cache_dir()):
        place.parent.mkdir(parents=True, exist_ok=True)
        _files.replace(place, json.dumps(value).encode())  # `cache.trim` removes what killed processes leave


def _place(kind: str, key: str) -> Path:
    return toolchain.cache_dir() / kind / f"{key}.json"


@cache
def simulator() -> str:
    """Digest of the simulator itself: its native part, which alone decides the summary of a run."""
    return digest(Path(_core.__file__).parent.glob("*.so").__next__())


def digest(path: Path) -> str:
    """Digest of a file's content. A file is read again only if its time or size changed."""
    status = path.stat()
    return _digest(str(path), status.st_mtime_ns, status.st_size)


@cache
def _digest(path: str, _time: int, _size: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
