# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from spinet._build_errors import BuildError


def write(path: Path, content: str | bytes) -> None:
    """Write a file in one step; a device such as /dev/null is written, not replaced.

    Raises
    ------
    OSError
        With the name that was given; what was there before is there still.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = path.resolve()  # where a link leads to
        scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
        try:
            scratch.write_bytes(data)
            os.replace(scratch, target)
        except BaseException:
            scratch.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def workshop(cache: Path) -> Iterator[Path]:
    """A folder of our own on the cache's file system, so that what is finished can be moved in one step.

    Raises
    ------
    BuildError
        If nothing can be written there.
    """
    with keeping(cache):
        cache.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(dir=cache, prefix="build-", ignore_cleanup_errors=True)
    with folder as path:
        yield Path(path)


@contextlib.contextmanager
def keeping(cache: Path) -> Iterator[None]:
    """Say of what cannot be written that it was for the cache."""
    try:
        yield
    except OSError as error:
        hint = "name a folder that you may write with SPINET_CACHE"
        raise BuildError(f"cannot keep builds in {cache}: {error.strerror}", hint=hint) from error
