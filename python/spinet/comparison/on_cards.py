# SPDX-License-Identifier: Apache-2.0
"""A comparison on cards that are wired from modules: they forward with their firmware."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from spinet import _files, _pcapng, card_run, wiring
from spinet.comparison.observed import CannotRun, Job, Observed, Part, Times


def on_a_wired_card(job: Job, nic: str) -> Observed:
    """Firmware that gives packets to the host; such cards run no handlers."""
    if not job.is_forwarding:
        raise CannotRun("its firmware runs no handlers; it is compared in plain forwarding, with --forward")
    wanted = list(job.sets.get(nic, ()))
    parts = wiring.design(nic, set=wanted).parts
    choosy = [part.path for part in parts if part.parameters.get("promiscuous") is False]
    sets = [*(f"{path}.promiscuous=true" for path in choosy), *wanted]
    lines = [part.parameters["line_bps"] for part in parts if part.module == "packet-feeder"]
    if not lines:
        raise CannotRun("it has no `packet-feeder`, so nothing comes from the network")
    with _files.scratch() as scratch:
        folder = scratch / "card"
        result = card_run.run_card(
            nic,
            traffic=job.file,
            set=sets,
            seed=1 if job.seed is None else job.seed,
            limit=job.limit or f"{job.offered.span_ps // 1_000_000_000 + 300} ms",  # assumed: no start-up takes longer
            profile=False,
            folder=folder,
        )
        columns = _frames(folder / "frames.parquet")
        output = [data for _time, data in _pcapng.packets((folder / "received.pcapng").read_bytes())]
    came = (columns["given_ps"] >= 0) & (columns["out_ps"] >= 0)
    given = columns["given_ps"][columns["frame"] == 0]
    start = int(given[0]) if len(given) else 0
    frames = columns["frame"][came]
    taken, out = columns["given_ps"][came] - start, columns["out_ps"][came] - start
    dropped = {
        path.rpartition(".")[2]: n
        for path, n in result.summary["counters"].items()
        if n and re.search(r"(^|\.)mac_receive[^.]*\.dropped\.", path)
    }
    missing = len(job.offered.packets) - int(came.sum()) - sum(dropped.values())
    ended = result.summary["ended"]
    return Observed(
        how=f"the firmware of {nic}, to the host",
        frames=frames,
        out_ps=out,
        parts=[
            Part(name="line", kind="waiting", ps=taken - job.offered.time_ps[frames]),
            Part(name="card and host", kind="not_told", ps=out - taken),
        ],
        consumed=0,
        lost=dropped | ({"not delivered": missing} if missing > 0 else {}),
        output=output,
        sizes=np.array([len(job.offered.packets[frame].data) for frame in frames], dtype=np.int64),
        ended=ended["reason"],
        ended_text=ended["text"],
        line_gbps=lines[0] / 1e9,
        notes=[
            "of the time in the card only the whole is known",
            *(["takes frames for any address"] if choosy else []),
        ],
    )


def _frames(path: Path) -> dict[str, Times]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.filter(pc.equal(pc.cast(table["way"], "string"), "received"))
    return {
        name: pc.fill_null(pc.cast(table[name], "int64"), -1).to_numpy() for name in ("frame", "given_ps", "out_ps")
    }
