# SPDX-License-Identifier: Apache-2.0
"""Several processes that simulate one network, started by mpiexec and joined by mpi4py."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinet._core import SpinetError, UsageError

if TYPE_CHECKING:
    from mpi4py.MPI import Intracomm, Request

# Environment variables with the number of processes: of Open MPI, of MPICH and Intel MPI, and of MVAPICH.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
_ROOM = 4096  # bytes of the first message to each process; a second message carries the rest
_LENGTH = 8  # bytes of the length field, at the start of the first message
_FIRST_PART = _ROOM - _LENGTH  # bytes of the data in the first message
_FIRST, _REST = 1, 2  # tags
_SPINS = 500
# After `time.sleep(0)`, which returns at once, other threads would still wait for the end of this one's time slice.
_yield = getattr(os, "sched_yield", lambda: time.sleep(0))
_PATIENCE_S = 2.0  # time that a failed process waits for the others before it aborts the run


class Ended(SpinetError):
    """A signal ended the run. For example, mpiexec sends one to all processes when one has died."""


def size(environment: Mapping[str, str] = os.environ) -> int:
    """Number of processes that mpiexec started; 1 without mpiexec.

    >>> size({"PMI_SIZE": "4"}), size({})
    (4, 1)
    """
    found = (environment.get(name, "") for name in _SIZES)
    return next((int(text) for text in found if text.isdecimal()), 1)


def must_be_alone(command: str, *, hint: str) -> None:
    """Refuse a call that only one of several processes should make.

    Raises
    ------
    UsageError
        If mpiexec started several.
    """
    if (n := size()) > 1:
        raise UsageError(f"mpiexec started {n} processes, and {command} runs in one", hint=hint)


def join() -> World | None:
    """All processes of this run, or None if there is only this one.

    Raises
    ------
    UsageError
        If mpiexec started several processes and mpi4py cannot join them.
    """
    n = size()
    if n <= 1:
        return None
    try:
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise UsageError(
            f"mpiexec started {n} processes, and mpi4py cannot join them ({error})", hint="pip install 'spinet[mpi]'"
        ) from None
    world = MPI.COMM_WORLD
    if world.size != n:
        raise UsageError(
            f"mpiexec started {n} processes, but mpi4py found {world.size}: they use different MPI libraries",
            hint="use the mpiexec of the MPI library that mpi4py finds",
        )
    return World(world.Dup())


class World:
    """The processes of a run.

    Attributes
    ----------
    rank, size
        Number of this process, and number of processes.
    """

    def __init__(self, comm: Intracomm) -> None:
        from mpi4py import MPI

        self._mpi = MPI
        self._comm = comm
        self.rank: int = comm.rank
        self.size: int = comm.size
        self._peers = [rank for rank in range(self.size) if rank != self.rank]
        self._rooms = {rank: bytearray(_ROOM) for rank in self._peers}
        self._signals: int | None = None
        self._is_ended = False

    @property
    def is_first(self) -> bool:
        """True for the process that writes the results."""
        return self.rank == 0

    def exchange(self, outgoing: Sequence[bytes]) -> list[bytes | bytearray]:
        """Send bytes to each process, and return the bytes that each process sent to this one."""
        requests = [self._comm.Irecv([room, self._mpi.BYTE], rank, _FIRST) for rank, room in self._rooms.items()]
        for rank in self._peers:
            data = outgoing[rank]
            first = len(data).to_bytes(_LENGTH, "little") + data[:_FIRST_PART]
            requests.append(self._comm.Isend([first, self._mpi.BYTE], rank, _FIRST))
        self._wait(requests)
        requests = []
        found: list[bytes | bytearray] = [b""] * self.size
        for rank, room in self._rooms.items():
            length = int.from_bytes(room[:_LENGTH], "little")
            found[rank] = whole = bytearray(room[_LENGTH : _LENGTH + length])
            if length > _FIRST_PART:
                whole.extend(bytes(length - _FIRST_PART))
                requests.append(self._comm.Irecv([memoryview(whole)[_FIRST_PART:], self._mpi.BYTE], rank, _REST))
            if len(outgoing[rank]) > _FIRST_PART:
                rest = memoryview(outgoing[rank])[_FIRST_PART:]
                requests.append(self._comm.Isend([rest, self._mpi.BYTE], rank, _REST))
        self._wait(requests)
        return found

    def _wait(self, requests: list[Request], *, for_s: float | None = None) -> bool:
        """Wait until all requests are complete; returns false after `for_s`. A waiting process yields its core."""
        begun, spins = time.monotonic(), 0
        while not self._mpi.Request.Testall(requests):
            spins += 1
            if spins < _SPINS:
                continue
            waited = time.monotonic() - begun
            if for_s is not None and waited > for_s:
                return False
            self._is_ended = self._is_ended or (spins % 64 == 0 and self._is_signalled())
            if self._is_ended:
                raise Ended("a signal ended the run: another process died, or mpiexec was stopped")
            _yield() if waited < 0.01 else time.sleep(0.0001)
        return True

    def agree(self, failure: str | None) -> str | None:
        """The failure of the lowest-numbered process that failed, or None. All processes must call this together."""
        found = self.exchange([b"" if failure is None else failure.encode()] * self.size)
        found[self.rank] = b"" if failure is None else failure.encode()
        for rank, text in enumerate(found):
            if text:
                return text.decode() if rank in (0, self.rank) else f"rank {rank}: {text.decode()}"
        return None

    def leave(self, code: int, *, has_failed: bool, text: str = "") -> int:
        """End together with the other processes. If they do not end, too, print the text and abort the run."""
        request = self._comm.Ibarrier()
        try:
            is_together = self._wait([request], for_s=_PATIENCE_S if has_failed else None)
        except Ended:
            is_together = False
        if not is_together:
            if text:
                print(f"rank {self.rank}: {text}", end="", file=sys.stderr)
            sys.stdout.flush()
            sys.stderr.flush()
            self._comm.Abort(code)
        return code if self.is_first else 0

    def _is_signalled(self) -> bool:
        if self._signals is None:
            return False
        try:
            return bool(os.read(self._signals, 1))
        except BlockingIOError:
            return False

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Let a signal end waits. Python's own signal handlers run only after the wait."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        self._signals, write = os.pipe()
        os.set_blocking(self._signals, False)
        os.set_blocking(write, False)
        before = signal.set_wakeup_fd(write, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            os.close(self._signals)
            os.close(write)
            self._signals = None

    def together(self, make: Callable[[], Any]) -> Any:
        """Call a function in every process, and return its value in this one.

        Raises
        ------
        UsageError
            If the function failed in any process; the text is that of the first of these.
        """
        value, failure, hint = None, None, ""
        try:
            value = make()
        except SpinetError as error:
            failure, hint = str(error), getattr(error, "hint", "")
        agreed = self.agree(failure)
        if agreed is not None:
            raise UsageError(agreed, hint=hint)
        return value
