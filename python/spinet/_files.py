# SPDX-License-Identifier: Apache-2.0
"""Files that users name, files that appear only when complete, and scratch folders that are removed with their
process.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from spinet._build_errors import BuildError
from spinet._core import UsageError, unwatch_partial, watch_partial

MOST_BYTES = 64 << 20  # largest file of a user that is read as a whole


def read(path: Path, *, most: int = MOST_BYTES) -> bytes:
    """Read a file that a user names: it may be a pipe that nobody writes to, or a device without end.

    Raises
    ------
    UsageError
        If it cannot be read, or has more than `most` bytes.
    """
    try:
        if stat.S_ISFIFO(path.stat().st_mode):
            raise UsageError(f"cannot read {path}: it is a pipe, must be a file")
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    if len(data) > most:
        raise UsageError(f"{path}: the file has more than {most} bytes, the most that is read")
    return data


def write(path: Path, content: str | bytes) -> None:
    """Write a file in one step; a device such as /dev/null is written, not replaced.

    Raises
    ------
    OSError
        If it cannot be written. The error has the given name; an earlier file stays unchanged.
    """
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = path.resolve()  # where a link leads to
        _remove_torn(target)
        replace(target, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error


@contextlib.contextmanager
def folders(paths: Iterable[Path]) -> Iterator[None]:
    """Make folders. At the end of this block, those that it has made are removed if they are still empty."""
    made: list[Path] = []
    try:
        for path in paths:
            missing = [folder for folder in (path, *path.parents) if not folder.exists()]
            made += reversed(missing)
            path.mkdir(parents=True, exist_ok=True)
        yield
    finally:
        for folder in reversed(made):
            with contextlib.suppress(OSError):
                folder.rmdir()


def natural(name: str) -> list[tuple[int, str]]:
    """A key that sorts names with numbers in them by these numbers: n2 before n10."""
    return [(int(part), "") if part.isdigit() else (0, part) for part in re.split(r"([0-9]+)", name)]


def replace(target: Path, data: bytes) -> None:
    """Write a file in one step. A process that is killed meanwhile leaves a hidden file, which this function does not
    remove.
    """
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        with partial(scratch):
            scratch.write_bytes(data)
            os.replace(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _remove_torn(target: Path) -> None:
    """Remove partial files of killed processes that were writing this file."""
    for name in glob.glob(f".{glob.escape(target.name)}.*.tmp", root_dir=target.parent):
        pid = re.search(r"\.(\d+)\.tmp$", name)
        if pid and not _is_alive(int(pid[1])):
            (target.parent / name).unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # another user's
    return True


def mark_used(*paths: Path) -> None:
    """Mark files of the cache as used now. Failure is harmless: in a read-only cache, no files are removed either."""
    for path in paths:
        with contextlib.suppress(OSError):
            os.utime(path)


@contextlib.contextmanager
def partial(path: Path) -> Iterator[None]:
    """Within this block, a process that ends because it gets no memory removes this file or folder."""
    watch_partial(str(path))
    try:
        yield
    finally:
        unwatch_partial(str(path))


class Lease:
    """Holds a folder, so that `sweep` leaves it alone. The kernel ends a lease when its process ends."""

    def __init__(self, folder: Path) -> None:
        self._fd = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another process may have removed it between its creation and the lock.
            if os.fstat(self._fd).st_ino != folder.stat().st_ino:
                raise FileNotFoundError(folder)
        except OSError:
            os.close(self._fd)
            raise

    def end(self) -> None:
        """Let go of the folder."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def sweep(parent: Path, prefix: str, suffix: str = "") -> None:
    """Remove folders with such names whose processes are gone, as after `kill -9`."""
    made = re.compile(rf"{re.escape(prefix)}[a-z0-9_]{{8}}{re.escape(suffix)}")
    try:
        names = [name for name in os.listdir(parent) if made.fullmatch(name)]
    except OSError:
        return  # in a folder that cannot be read, nothing can be removed
    for folder in (parent / name for name in names):
        # Not removed: another user's folder, a file, or a folder that a process holds.
        with contextlib.suppress(OSError):
            if folder.is_symlink() or folder.stat().st_uid != os.getuid():
                continue
            lease = Lease(folder)
            try:
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                lease.end()


@contextlib.contextmanager
def scratch(prefix: str = "spinet-scratch-", parent: Path | None = None) -> Iterator[Path]:
    """A folder for this block. Leftovers of killed processes with such a name are removed first."""
    if parent is None:
        parent = Path(tempfile.gettempdir())
        try:
            str(parent).encode()
        except UnicodeEncodeError:
            name = os.fsencode(parent).decode(errors="backslashreplace")
            raise UsageError(
                f"the folder of temporary files, {name}, is not UTF-8", hint="name one with TMPDIR"
            ) from None
    sweep(parent, prefix)
    while True:
        folder = tempfile.TemporaryDirectory(dir=parent, prefix=prefix, ignore_cleanup_errors=True)
        try:
            with folder as name:
                try:
                    lease = Lease(Path(name))
                except (BlockingIOError, FileNotFoundError):
                    continue  # a sweeper was faster
                try:
                    with partial(Path(name)):
                        yield Path(name)
                finally:
                    lease.end()
                return
        except KeyboardInterrupt:
            shutil.rmtree(folder.name, ignore_errors=True)  # the interrupt may have stopped the removal
            raise


@contextlib.contextmanager
def workshop(cache: Path) -> Iterator[Path]:
    """A scratch folder on the cache's file system, so that finished files can be moved in one step.

    Raises
    ------
    BuildError
        If nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        with keeping(cache):
            cache.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(scratch("build-", cache))
        yield folder


@contextlib.contextmanager
def keeping(cache: Path) -> Iterator[None]:
    """Name the cache in errors about files that cannot be written."""
    try:
        yield
    except OSError as error:
        hint = "name a folder that you may write with SPINET_CACHE"
        raise BuildError(f"cannot keep builds in {cache}: {error.strerror}", hint=hint) from error
