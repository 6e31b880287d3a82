# SPDX-License-Identifier: Apache-2.0
"""The output of a run: a folder and files, which appear only when they are complete."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from spinet import _files
from spinet._core import InputError, UsageError, unwatch_partial, watch_partial

SUMMARY = "summary.json"
PACKETS = "packets.parquet"
SENT = "out.pcapng"
FRAMES = "frames.parquet"  # wired cards: this file and the two captures below
SENT_FRAMES = "sent.pcapng"
RECEIVED_FRAMES = "received.pcapng"
HOPS = "hops.parquet"  # cards that run chains of offloads: this file and the next two
TO_NETWORK = "network.pcapng"
TO_HOST = "host.pcapng"
HOST = "host"
INSTRUCTIONS = "instructions"
EXPERIMENT = "experiment.json"
FILES = "files"  # copies of files of the build cache: packets and contents of memories that were given as bytes
PROFILE = "profile.json"
FINDINGS = "findings.json"
DROPPED = "dropped.pcapng"
NODES = "nodes"  # networks: has a folder for each node with a card
LINKS = "links"  # networks: has a capture for each end of a link in `captures`
PATHS = "paths"  # a table, of runs that record paths

_T = TypeVar("_T")
_MOST_NODES = 8  # nodes that an error names


def link_captures(folder: Path) -> dict[str, bytes]:
    """Captures of links in a run's folder, by their paths there."""
    return {f"{LINKS}/{path.name}": path.read_bytes() for path in sorted((folder / LINKS).glob("*.pcapng"))}


# Errors of a write that do not name the file; other writes here report their own file.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def read(file: Path, reader: Callable[[Path], _T], *, hint: str) -> _T:
    """Read a file of a run's folder.

    Raises
    ------
    UsageError
        If there is no such file; with this hint.
    InputError
        If it is damaged: for any error of the reader that damage can cause.
    """
    if not file.is_file():
        raise UsageError(f"there is no {file}", hint=hint)
    try:
        return reader(file)
    except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{file}: this file of a run is damaged ({text})") from None


def check_single_card(folder: Path, command: str) -> None:
    """Refuse the folder of a network: the requested data are in the folders of its nodes.

    Raises
    ------
    UsageError
        If it is one; it names these folders.
    """
    nodes = folder / NODES
    if not nodes.is_dir():
        return
    found = sorted((path for path in nodes.iterdir() if path.is_dir()), key=lambda path: _files.natural(path.name))
    names = ", ".join(path.name for path in found[:_MOST_NODES])
    more = f" and {len(found) - _MOST_NODES:,} more" if len(found) > _MOST_NODES else ""
    hint = f"spinet {command} {found[0]}; nodes with results: {names}{more}" if found else "no node has results"
    raise UsageError(f"{folder} has the results of a network, must be those of a card: {nodes / 'NAME'}", hint=hint)


class OutputError(UsageError):
    """An output folder that exists already or cannot be written."""


class _Partial:
    """A hidden folder beside the place of an output. Leaving the `with` block removes it, with all that is left in it.

    A folder of a killed process is removed by the next one with the same output.
    """

    def __init__(self, target: Path, *, hint: str) -> None:
        self.target: Path = target.absolute()
        self._name = str(target)
        try:
            for parent in self.target.parents:
                if parent.exists() and not parent.is_dir():
                    raise OutputError(f"cannot write {self._name}: {parent.name} is a file, not a folder")
            self.target.parent.mkdir(parents=True, exist_ok=True)
            _files.sweep(self.target.parent, f".{self.target.name}.", ".part")  # remove what killed runs left
            self._part = self.target.parent / f".{self.target.name}.{os.urandom(4).hex()}.part"
            # Also for an interrupt between the creation of the folder and the `with` block.
            self._remove = weakref.finalize(self, shutil.rmtree, self._part, ignore_errors=True)
            watch_partial(str(self._part))
            self._part.mkdir()
            self._lease = _files.Lease(self._part)
        except OSError as error:
            raise OutputError(f"cannot write {self._name}: {error.strerror}", hint=hint) from error

    @property
    def path(self) -> Path:
        """The path to write to."""
        return self._part

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()
        unwatch_partial(str(self._part))
        self._lease.end()
        if isinstance(error, OSError) and error.errno in _DISK:
            raise OutputError(f"cannot write {self._name}: {os.strerror(error.errno)}") from error
        if isinstance(error, InputError) and str(self.path) in str(error):
            # The user knows the requested name, not this one. The type tells the command that it may name the option.
            raise InputError(str(error).replace(str(self.path), self._name)) from error


class OutputFile(_Partial):
    """A file under construction. Write `path`, then call `commit`. Leaving the `with` block without it removes it.

    Raises
    ------
    OutputError
        If the folder of `target` cannot be made or written.
    """

    def __init__(self, target: Path) -> None:
        super().__init__(target, hint="name a file in a folder that you may write")

    @staticmethod
    def is_streamed(target: Path) -> bool:
        """Returns true for a device, a pipe or a socket, such as /dev/stdout: it has to be written directly."""
        return target.absolute().parts[1:2] in (("dev",), ("proc",)) or (target.exists() and not target.is_file())

    @property
    def path(self) -> Path:
        """The path to write the file to."""
        return self._part / self.target.name

    def commit(self) -> None:
        """Put the file where it belongs, in one step; a link leads to the file."""
        try:
            os.replace(self.path, self.target.resolve())
        except OSError as error:
            raise OutputError(f"cannot write {self._name}: {error.strerror}") from error


class OutputFolder(_Partial):
    """A folder under construction, beside the place where it will stand.

    Write into `path`, then call `commit`. Leaving the `with` block without it removes everything.

    Parameters
    ----------
    target
        Where the folder will stand.
    force
        Replace a folder at `target`, provided that an earlier run made it.
    holds
        A file by which such a folder is known.

    Raises
    ------
    OutputError
        If `target` exists or its parent cannot be written.
    """

    def __init__(self, target: Path, *, force: bool = False, holds: str = SUMMARY) -> None:
        self.target: Path = target.absolute()
        self._name = str(target)
        self._force = force
        self._holds = holds
        self._check_target()
        super().__init__(target, hint="name a folder that you may write with -o")

    def _check_target(self) -> None:
        if not os.path.lexists(self.target):
            return
        if not self._force:
            raise OutputError(f"{self._name} exists", hint="name another folder, or replace it with --force")
        if not (self.target / self._holds).is_file():
            raise OutputError(
                f"{self._name} exists and is not the output of an earlier run",
                hint=f"--force replaces only folders with a {self._holds}",
            )

    def commit(self) -> None:
        """Put the folder where it belongs, in one step."""
        self._check_target()
        try:
            if self.target.exists():
                self._replace()
            else:
                self.path.rename(self.target)
        except OSError as error:
            raise OutputError(f"cannot write {self._name}: {error.strerror}") from error

    def _replace(self) -> None:
        old = Path(tempfile.mkdtemp(prefix=f".{self.target.name}.", suffix=".old", dir=self.target.parent))
        before = old / "output"
        try:
            self.target.rename(before)
            self.path.rename(self.target)
        except BaseException:
            if before.exists():
                before.rename(self.target)  # nobody looks for an earlier run's output in a hidden folder
            old.rmdir()
            raise
        shutil.rmtree(old)
