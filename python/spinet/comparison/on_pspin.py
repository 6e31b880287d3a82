# SPDX-License-Identifier: Apache-2.0
"""A comparison on PsPIN."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping

import numpy as np

from spinet import _core, api
from spinet.comparison import forwarding
from spinet.comparison.observed import Job, Observed, Part, Times, is_host_ideal, spans

# Source: Di Girolamo et al., ISCA 2021, IV: 400 Gbit/s. The model takes packets when they are due, whatever the line.
_PSPIN_LINE_GBPS = 400.0

_PSPIN_PARTS = (
    ("line and packet memory's room", "waiting"),
    ("into packet memory", "transfers"),
    ("message queue", "waiting"),
    ("cluster", "waiting"),
    ("copy to L1", "transfers"),
    ("HPU", "waiting"),
    ("handler", "computation"),
    ("end of the message", "waiting"),
    ("completion handler", "computation"),
    ("commands", "transfers"),
)


def on_pspin(job: Job, nic: str) -> Observed:
    """Handlers on HPUs; plain forwarding is the handler that copies packets to the host."""
    result = api.run(
        program=list(job.program) or forwarding.program(),
        traffic=job.file,
        match=job.match,
        message=job.message,
        handler=job.handler,
        nic=nic,
        set=job.sets.get(nic, ()),
        seed=job.seed,
        limit=job.limit,
        pacing="times",
        defines=job.defines,
    )
    columns = result.columns
    times = job.offered.time_ps
    first = int(np.argmin(columns["frame"]))
    start = int(columns["arrival_ps"][first]) - int(times[int(columns["frame"][first])])
    sent, written = columns["sent_packets"] > 0, columns["host_writes"] > 0
    out = np.where(written, columns["task_done_ps"], -1) if job.exit == "host" else columns["sent_ps"]
    came = (sent if job.exit == "network" else written) & (out >= 0)
    rows = {name: column[came] for name, column in columns.items()}
    frames, out = rows["frame"].astype(np.int64), out[came]
    packets = result.summary["packets"]
    lost = {why: n for why, n in packets["dropped_by_reason"].items() if n}
    lost |= {why: packets[why] for why in ("trapped", "unfinished") if packets[why]}
    notes = []
    if job.exit == "network" and not sent.any() and written.any():
        notes.append("handlers sent nothing but wrote to host memory: --exit host compares that")
    output: list[bytes] | None = None  # where handlers put packets in host memory, they alone know
    if job.is_forwarding:
        memory = result.host_memory(forwarding.HOST, forwarding.RING_BYTES)
        output = forwarding.in_ring(memory, [job.offered.packets[frame].data for frame in sorted(frames)])
    elif job.exit == "network":
        output = [packet.data for packet in result.sent]
    ended = result.summary["ended"]
    return Observed(
        how="copy_to_host.c on HPUs" if job.is_forwarding else "handlers on HPUs",
        frames=frames,
        out_ps=out - start,
        parts=_parts_of_pspin(rows, times[frames] + start, out),
        consumed=int(packets["consumed"]),
        lost=lost,
        output=output,
        sizes=rows["bytes" if job.exit == "host" else "sent_bytes"].astype(np.int64),
        ended=ended["reason"],
        ended_text=ended["text"],
        line_gbps=_PSPIN_LINE_GBPS,
        is_host_ideal=is_host_ideal(tomllib.loads(_core.nic_show(nic, list(job.sets.get(nic, ())), "."))),
        digest=result.digest,
        notes=notes,
    )


def _parts_of_pspin(rows: Mapping[str, Times], due: Times, out: Times) -> list[Part]:
    """A header handler runs while the packet waits in its message's queue; a completion handler after its own."""
    late = (rows["completion_start_ps"] >= 0) & (rows["completion_start_ps"] < out)
    completion = [np.where(late, rows[f"completion_{edge}_ps"], -1) for edge in ("start", "end")]
    edges = [
        due,
        *(rows[f"{edge}_ps"] for edge in ("stored", "her", "task_sent", "accepted", "copied", "start", "end")),
        *completion,
        out,
    ]
    parts = spans(_PSPIN_PARTS, edges)  # type: ignore[arg-type]  # literals of a tuple are texts to mypy
    header = np.where(rows["header_start_ps"] >= 0, rows["header_end_ps"] - rows["header_start_ps"], 0)
    queue = next(part for part in parts if part.name == "message queue")
    header = np.minimum(header, queue.ps)
    if not header.any():
        return parts
    waited = Part(name=queue.name, kind=queue.kind, ps=queue.ps - header)
    ran = Part(name="header handler", kind="computation", ps=header)
    return [piece for part in parts for piece in ((waited, ran) if part is queue else (part,))]
