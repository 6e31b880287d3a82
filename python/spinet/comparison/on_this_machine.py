# SPDX-License-Identifier: Apache-2.0
"""A comparison on this machine."""

from __future__ import annotations

import numpy as np

from spinet import native
from spinet._core import UsageError
from spinet.comparison import forwarding
from spinet.comparison.observed import CannotRun, Job, Observed, Part


def on_this_machine(job: Job, _nic: str) -> Observed:
    """Handlers on this machine's processor, with packets in its memory."""
    if job.exit == "host" and not job.is_forwarding:
        raise CannotRun("it does not tell which packets handlers gave to the host")
    try:
        result = native.run(
            program=list(job.program) or forwarding.program(),
            traffic=job.file,
            match=job.match,
            message=job.message,
            handler=job.handler,
            seed=job.seed,
            threads=job.threads,
            defines=job.defines,
        )
    except UsageError as error:  # the traffic is known to be good
        raise CannotRun(str(error)) from error
    matched = np.array([i for i, p in enumerate(job.offered.packets) if p.context is not None], dtype=np.int64)
    # Reading the clock takes time, too.
    ns = sum(np.where(taken >= 0, np.maximum(taken - result.clock_ns, 0), 0) for taken in result.ns.values())
    assert isinstance(ns, np.ndarray)
    output: list[bytes] = list(result.sent)
    if job.is_forwarding:
        memory = result.host_memory(forwarding.HOST, forwarding.RING_BYTES)
        output = forwarding.in_ring(memory, [packet.data for packet in job.offered.matched])
    seconds = max(max((worker.ns for worker in result.threads), default=0), 1) / 1e9
    n, size = len(matched), sum(len(packet.data) for packet in job.offered.matched)
    return Observed(
        how=f"{'copy_to_host.c' if job.is_forwarding else 'handlers'} on this processor, "
        f"{job.threads} thread{'s' if job.threads > 1 else ''}",
        frames=matched[: len(ns)],
        out_ps=None,
        parts=[Part(name="handlers", kind="computation", ps=ns * 1000)],
        consumed=0 if job.is_forwarding else None,
        lost={"command faults": result.command_faults} if result.command_faults else {},
        output=output,
        sizes=np.array([len(data) for data in output], dtype=np.int64),
        capacity=(n / seconds, size / seconds),
        notes=[
            f"measured on this machine ({result.compiler}), differs from run to run",
            "no line, no host interface; rates are of packets handled at full speed",
        ],
    )
