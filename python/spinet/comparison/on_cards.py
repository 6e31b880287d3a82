# SPDX-License-Identifier: Apache-2.0
"""A comparison on cards that are wired from modules: they forward with their firmware."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from spinet import _core, api, wiring
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
    result = api.run(
        nic=nic,
        traffic=job.file,
        set=sets,
        seed=job.seed,
        limit=job.limit or f"{job.offered.span_ps // 1_000_000_000 + 300} ms",  # assumed: no start-up takes longer
        profile=False,
    )
    columns = _received(result.columns)
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
        output=[packet.data for packet in result.to_host],
        sizes=np.array([len(job.offered.packets[frame].data) for frame in frames], dtype=np.int64),
        ended=ended["reason"],
        ended_text=ended["text"],
        line_gbps=lines[0] / 1e9,
        notes=[
            "of the time in the card only the whole is known",
            *(["takes frames for any address"] if choosy else []),
        ],
    )


def _received(columns: Mapping[str, Times]) -> dict[str, Times]:
    ways = next(values for name, _type, _about, values in _core.table_columns()["modules"]["frames"] if name == "way")
    is_received = columns["way"] == ways.index("received")
    return {name: columns[name][is_received].astype(np.int64) for name in ("frame", "given_ps", "out_ps")}
