# SPDX-License-Identifier: Apache-2.0
"""A comparison on cards with chains of offloads, such as PANIC."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spinet import _core, api, toolchain
from spinet._core import InputError
from spinet.comparison.observed import CannotRun, Job, Observed, Part, is_host_ideal

_CHAIN = "compared"
_CORE = "handlers"
_CHAIN_PARTS = (
    ("ingress", "transfers"),
    ("interconnect", "transfers"),
    ("queueing", "waiting"),
    ("detours", "waiting"),
    ("unit_wait", "waiting"),
    ("service", "computation"),
)


def on_chains(job: Job, nic: str) -> Observed:
    """A chain of one service whose units are cores with the handlers; plain forwarding is a chain without services."""
    exit = "host" if job.is_forwarding else job.exit
    services: list[Mapping[str, Any]] = []
    if job.build is not None:
        _refuse_messages(job, job.build)
        program = [str(Path(source).absolute()) for source in job.program]
        core = {"name": _CORE, "engine": "riscv", "program": program, "units": job.units}
        services.append(core | ({"handler": job.handler} if job.handler else {}))
    matched = f" [{job.match}]" if job.match else ""
    try:
        result = api.run(
            nic=nic,
            services=services,
            chains=[f"{_CHAIN}{matched}: {_CORE if services else ''} => {exit}"],
            traffic=job.file,
            pacing="times",
            set=job.sets.get(nic, ()),
            seed=job.seed,
            limit=job.limit,
            defines=job.defines,
        )
    except InputError as error:
        if "service[" not in str(error):
            raise
        raise CannotRun(str(error)) from error  # what is wrong with our service is that the card has no such units
    summary = result.summary
    names = {name: values for name, _kind, _about, values in _core.table_columns()["chains"]["packets"]}
    columns = result.columns
    came = (columns["chain"] == 0) & (columns["fate"] == names["fate"].index(exit))
    rows = {name: column[came] for name, column in columns.items()}
    frames = rows["packet"].astype(np.int64)
    due = job.offered.time_ps[frames] + int(columns["due_ps"][int(np.argmin(columns["packet"]))])
    parts = [
        Part(name="line", kind="waiting", ps=rows["arrival_ps"] - due),
        *(Part(name=name, kind=kind, ps=rows[f"{name}_ps"]) for name, kind in _CHAIN_PARTS),  # type: ignore[arg-type]
        Part(name="last bytes", kind="transfers", ps=rows["left_ps"] - rows["leaving_ps"]),
    ]
    (row,) = (row for row in summary["chains"] if row["name"] == _CHAIN)
    lost = dict(row["dropped_by_reason"])
    consumed = lost.pop("program", 0)
    if row["unfinished"]:
        lost["unfinished"] = row["unfinished"]
    left = result.to_host if exit == "host" else result.to_network
    output: list[bytes] = [packet.data for packet in left]
    if exit == "host":  # what no chain took went there, too
        output = _without(output, [packet.data for packet in job.offered.packets if packet.context is None])
    ended = summary["ended"]
    card = _card(nic, job.sets.get(nic, ()))
    return Observed(
        how="no service" if job.is_forwarding else f"handlers on {_cores(job.units)} ({nic})",
        frames=frames,
        out_ps=rows["left_ps"] - (due - job.offered.time_ps[frames]),
        parts=parts,
        consumed=consumed,
        lost=lost,
        output=output,
        sizes=rows["bytes_out"],
        ended=ended["reason"],
        ended_text=ended["text"],
        line_gbps=float(card["ingress"]["line_bps"]) / 1e9,
        is_host_ideal=is_host_ideal(card),
        digest=result.digest,
        notes=[f"{trouble['unit']}: {trouble['text']}" for trouble in summary["troubles"][:3]],
    )


def _refuse_messages(job: Job, build: toolchain.Build) -> None:
    """Messages are flows in a unit, and their ends are not known there: what needs more gives other results."""
    entry = build.entry(name=job.handler)
    if entry.tail:
        raise CannotRun(f"{entry.name}_th would not run: a unit does not know where a message ends")
    if entry.header and not re.fullmatch(r"\s*by\s+(flow|5-tuple)\b.*", job.message or ""):
        raise CannotRun(
            f"{entry.name}_hh would run once for each flow, not for each message: compare with --message 'by flow last'"
        )


def _cores(units: int) -> str:
    return "a RISC-V unit" if units == 1 else f"{units} RISC-V units"


def _card(nic: str, sets: Sequence[str]) -> Mapping[str, Any]:
    card = tomllib.loads(_core.nic_show(nic, list(sets), "."))
    parameters: Mapping[str, Any] = card.get("card", card)
    return parameters


def _without(output: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    left = Counter(others)
    kept = []
    for data in output:
        if left[data] > 0:
            left[data] -= 1
        else:
            kept.append(data)
    return kept
