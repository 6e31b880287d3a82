# SPDX-License-Identifier: Apache-2.0
"""Many independent jobs on all cores of this machine, or on the workers of a Dask scheduler.

A job is a function with its arguments, and a key made of everything that decides its value. The process that computes a
value keeps it in the cache at once, so that nothing that finished is computed again, whatever happens afterwards.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.context
import multiprocessing.process
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from spinet import _files
from spinet._core import SpinetError, UsageError
from spinet.sweeps import store

_MOMENT_S = 5  # time in which a process must end when it is asked to
_LOOK_S = 1  # how often to look whether the pool still works
_AHEAD = 3  # jobs in flight per process, so that no process waits for the next one


@dataclass(frozen=True, kw_only=True)
class Job:
    """A function to call, in some process.

    Attributes
    ----------
    call, arguments
        A function of a module, and its arguments; both can be pickled. Its value can be written as JSON.
    kind, key
        Where the cache keeps the value; without a key it is not kept.
    tag
        A value for the caller; jobs do not use it.
    """

    call: Callable[..., Any]
    arguments: tuple[Any, ...]
    kind: str
    key: str | None = None
    tag: Any = None


@dataclass(frozen=True, kw_only=True)
class Done:
    """A job that ended: its value, or why it has none."""

    job: Job
    value: Any = None
    error: SpinetError | None = None
    is_known: bool = False  # computed before


class WorkerLost(SpinetError):
    """A process ended while it computed a value, as when the system's memory runs out."""


def run(
    jobs: Iterable[Job], *, processes: int | None = None, scheduler: str | None = None, fresh: bool = False
) -> Iterator[Done]:
    """Do all jobs; each is returned when it is done, in any order.

    Parameters
    ----------
    jobs
        They are taken as processes become free.
    processes
        Number of local processes. Default: one for each core. With 1 the caller's process does the jobs itself.
    scheduler
        Address of a Dask scheduler, such as ``tcp://host:8786``, whose workers do the jobs instead.
    fresh
        Ignore values of the cache.
    """
    items = _looked_up(jobs, fresh=fresh)
    if scheduler is not None:
        from spinet.sweeps import on_dask

        return on_dask.run(items, scheduler)
    n = processes or os.cpu_count() or 1
    return _here(items) if n == 1 else _on_processes(items, n)


def _looked_up(jobs: Iterable[Job], *, fresh: bool) -> Iterator[Job | Done]:
    """Jobs to do, and those whose value the cache has."""
    for job in jobs:
        value = None if fresh or job.key is None else store.look_up(job.kind, job.key)
        yield job if value is None else Done(job=job, value=value, is_known=True)


def _here(items: Iterable[Job | Done]) -> Iterator[Done]:
    for item in items:
        yield item if isinstance(item, Done) else compute(item)


def compute(job: Job) -> Done:
    """Do a job in this process, and keep its value."""
    try:
        value = job.call(*job.arguments)
    except SpinetError as error:
        # As an error that can be sent back from another process.
        return Done(job=job, error=UsageError(str(error), hint=getattr(error, "hint", "")))
    if job.key is not None:
        store.keep(job.kind, job.key, value)
    return Done(job=job, value=value)


def without_tag(job: Job) -> Job:
    """A job as it is sent to another process: its tag means something to the caller alone."""
    return replace(job, tag=None)


def _on_processes(items: Iterator[Job | Done], n: int) -> Iterator[Done]:
    while True:
        lost: list[Job] = []
        with _processes(n) as pool:
            for item in _in_pool(items, pool, n):
                if isinstance(item, Done):
                    yield item
                else:
                    lost.append(item)
        if not lost:
            return
        # A process ended, and with it the pool. Each job that was in flight now gets its own process. A job that ends
        # # its process again can then be identified, and it harms no other job.
        for job in lost:
            with _processes(1) as pool:
                for again in _in_pool(iter([job]), pool, 1):
                    yield again if isinstance(again, Done) else Done(job=job, error=_lost())


def _lost() -> WorkerLost:
    return WorkerLost("the process that computed it was killed, twice; was there memory for it? --jobs takes fewer")


def _in_pool(items: Iterator[Job | Done], pool: _Pool, n: int) -> Iterator[Done | Job]:
    """Jobs that are done; after the pool broke, the jobs that were in flight."""
    running: dict[Future[Done], Job] = {}
    while True:
        while len(running) < _AHEAD * n and (item := next(items, None)) is not None:
            if isinstance(item, Done):
                yield item
                continue
            try:
                running[pool.submit(compute, without_tag(item))] = item
            except BrokenProcessPool:
                yield from (item, *running.values())
                return
        if not running:
            return
        ended, _ = wait(running, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        if not ended and pool.faults:
            raise pool.faults[0]
        for future in ended:
            try:
                done = future.result()
            except BrokenProcessPool:
                yield from running.values()
                return
            yield replace(done, job=running.pop(future))


@contextlib.contextmanager
def _processes(n: int) -> Iterator[_Pool]:
    """Fresh processes: they inherit no modules and no threads of this one."""
    others = set(multiprocessing.active_children())
    # This folder has the scratch files of processes that end before they can clean up.
    with _files.scratch() as scratch, _thread_faults() as faults:
        pool = _Pool(n, mp_context=_Context(), initializer=_begin, initargs=(str(scratch),))
        pool.faults = faults
        try:
            yield pool
        except BaseException:
            # Values in progress are no longer needed.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                assert process.pid is not None, "an active child has a number"
                try:
                    # Also ends the compiler that it runs, which would continue to write to the scratch folder.
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    process.kill()  # it leads no group yet
                process.join(timeout=_MOMENT_S)
            raise
        pool.shutdown()


class _Pool(ProcessPoolExecutor):
    """Processes, and the errors that ended threads since they were started.

    Where memory is short, a thread of the pool may not start. The pool does not notice, and its jobs never end.
    """

    faults: list[BaseException]


@contextlib.contextmanager
def _thread_faults() -> Iterator[list[BaseException]]:
    """Errors of threads for which there was no memory. Other errors of threads are reported as usual."""
    faults: list[BaseException] = []
    usual = threading.excepthook

    def note(fault: threading.ExceptHookArgs) -> None:
        error = fault.exc_value
        is_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
        if error is not None and (is_thread or isinstance(error, MemoryError)):
            faults.append(error)
        else:
            usual(fault)

    threading.excepthook = note
    try:
        yield faults
    finally:
        threading.excepthook = usual


class _Process(multiprocessing.context.SpawnProcess):
    """A fresh process that does not run the caller's script again: no job needs it."""

    def start(self) -> None:
        main = vars(sys.modules["__main__"])
        hidden: dict[str, Any] = {name: main[name] for name in ("__file__", "__spec__") if name in main}
        try:
            main.pop("__file__", None)
            main["__spec__"] = None
            super().start()
        finally:
            main.update(hidden)


class _Context(multiprocessing.context.SpawnContext):
    Process = _Process


def _begin(scratch: str) -> None:
    """Prepare a process of the pool. It leads a group of its own, so that what it starts ends with it."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    tempfile.tempdir = scratch
    parent = multiprocessing.parent_process()
    assert parent is not None, "a process of the pool was started by another"
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process when the one that started it is gone: nobody needs its values."""
    parent.join()
    os.killpg(0, signal.SIGKILL)
