# SPDX-License-Identifier: Apache-2.0
"""Runs jobs on the workers of a Dask scheduler. The scheduler gives jobs of a lost worker to another worker."""

from __future__ import annotations

import importlib
import sys
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from spinet._core import UsageError
from spinet.sweeps import store, workers
from spinet.sweeps.workers import Done, Job

_AHEAD = 4  # jobs in flight per thread of a worker
_WAIT_S = 10  # wait for the scheduler's answer
_RECOUNTED = 50  # jobs after which the workers are counted again


def run(items: Iterator[Job | Done], scheduler: str) -> Iterator[Done]:
    """Do jobs on the workers of this scheduler. Workers that come later take part, too.

    Raises
    ------
    UsageError
        If Dask is not installed, the scheduler does not answer, or a worker has another build of spinet.
    """
    try:
        distributed: Any = importlib.import_module("distributed")  # its functions have no types
    except ImportError:
        raise UsageError("a scheduler needs Dask, which is not installed", hint="pip install 'spinet[dask]'") from None
    simulator = store.simulator()
    with _client(distributed, scheduler) as client:
        client.run(_check, simulator)
        running: dict[str, Job] = {}
        ended = distributed.as_completed(loop=client.loop, raise_errors=False)
        name, n, window = f"spinet-{uuid.uuid4().hex}", 0, 0
        while True:
            if n % _RECOUNTED == 0:
                window = _AHEAD * max(1, sum(client.nthreads().values()))
            while len(running) < window and (item := next(items, None)) is not None:
                if isinstance(item, Done):
                    yield item
                    continue
                n += 1
                future = client.submit(_there, workers.without_tag(item), simulator, key=f"{name}-{n}", pure=False)
                running[future.key] = item
                ended.add(future)
            if not running:
                return
            future = next(ended)
            job = running.pop(future.key)
            error = future.exception()
            if isinstance(error, distributed.KilledWorker):
                yield Done(job=job, error=workers.WorkerLost(f"{error.allowed_failures + 1} workers ended with it"))
            elif error is not None:
                raise error
            else:
                done: Done = future.result()
                if done.error is None and job.key is not None:
                    store.keep(job.kind, job.key, done.value)  # a worker on another machine has another cache
                yield replace(done, job=job)


def _client(distributed: Any, scheduler: str) -> Any:
    try:
        client = distributed.Client(scheduler, timeout=_WAIT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise UsageError(
            f"there is no Dask scheduler at {scheduler} ({reason})", hint="start one: dask scheduler"
        ) from None
    if not client.nthreads() and sys.stderr is not None:
        print(f"the scheduler has no workers yet: dask worker {scheduler}", file=sys.stderr)
    return client


def _check(simulator: str) -> None:
    """Runs in a worker: refuses the job if the worker has another build of the simulator than the caller."""
    if store.simulator() != simulator:
        raise UsageError("a worker has another build of spinet", hint="install the same version on all machines")


def _there(job: Job, simulator: str) -> Done:
    _check(simulator)
    return workers.compute(job)
