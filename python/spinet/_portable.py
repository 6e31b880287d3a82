# SPDX-License-Identifier: Apache-2.0
"""Experiments without files of the cache, which other machines do not have and which trimming removes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from spinet import _files, toolchain


def copied(value: Any, base_dir: Path, folder: str) -> Any:
    """The same value of an experiment, with files of the cache copied to `folder` in `base_dir`, if there are any.

    Their paths start at `base_dir`. Names in the cache contain hashes of the content, so they need no check.
    """
    if isinstance(value, Mapping):
        return {key: copied(one, base_dir, folder) for key, one in value.items()}
    if isinstance(value, list):
        return [copied(one, base_dir, folder) for one in value]
    cache = toolchain.cache_dir()
    if not isinstance(value, str) or not value.startswith((f"{cache}/", f"{cache.absolute()}/")):
        return value
    content, name = _files.read(Path(value)), Path(value).name
    (base_dir / folder).mkdir(exist_ok=True)
    _files.write(base_dir / folder / name, content)
    return f"{folder}/{name}"
