# SPDX-License-Identifier: Apache-2.0
"""The NICs of a comparison: each runs the job and says what it did in the words that all have in common."""

from __future__ import annotations

import difflib
import re
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from spinet import _core, _pcapng, api, card_run, chains, native, toolchain
from spinet._core import InputError, UsageError
from spinet.comparison.observed import CannotRun, Job, Observed, Part, Times, spans
from spinet.packet_table import to_numpy

NATIVE = "native"

# Source: Di Girolamo et al., ISCA 2021, IV: 400 Gbit/s. The model takes packets when they are due, whatever the line.
_PSPIN_LINE_GBPS = 400.0

_CHAIN = "compared"
_CORE = "core"
_HOST, _RING_BYTES = 0x1000_0000_0000_0000, 4 << 20  # where copy_to_host.c puts packets: as L2 packet memory has them
_COMPARED_BYTES = 3 << 20  # of that ring, so many are surely not overwritten

_CHAIN_PARTS = (
    ("ingress", "transfers"),
    ("interconnect", "transfers"),
    ("queueing", "waiting"),
    ("detours", "waiting"),
    ("unit_wait", "waiting"),
    ("service", "computation"),
)
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


def runner(nic: str) -> Callable[[Job, str], Observed]:
    """What runs a NIC, by its name or the path of its file.

    Raises
    ------
    InputError
        If there is no such card.
    """
    if nic == NATIVE:
        return on_this_machine
    if _core.nic_has_chains(nic):
        return on_chains
    return on_a_wired_card if _core.card_is_wired(nic) else on_pspin


def on_pspin(job: Job, nic: str) -> Observed:
    """Handlers on HPUs; plain forwarding is the handler that copies packets to the host."""
    result = api.run(
        program=list(job.program) or _copy_to_host(),
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
        memory = result.host_memory(_HOST, _RING_BYTES)
        output = _in_ring(memory, [job.offered.packets[frame].data for frame in sorted(frames)])
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
        result = chains.run_chains(
            nic=nic,
            services=services,
            chains=[f"{_CHAIN}{matched}: {_CORE if services else ''} => {exit}"],
            traffic={"source": job.file, "pacing": "times"},
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
    names = {name: values for name, _kind, _about, values in _core.chain_columns()[0]}
    columns = to_numpy(result._packets, _core.chain_columns()[0])
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
    if row["inside"]:
        lost["unfinished"] = row["inside"]
    left = result.to_host if exit == "host" else result.to_network
    output: list[bytes] = [packet.data for packet in left]
    if exit == "host":  # what no chain took went there, too
        output = _without(output, [packet.data for packet in job.offered.packets if packet.context is None])
    ended = summary["ended"]
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
        line_gbps=_line_of_chains(nic, job.sets.get(nic, ())),
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


def _line_of_chains(nic: str, sets: Sequence[str]) -> float:
    card = tomllib.loads(_core.nic_show(nic, list(sets), "."))
    return float(card.get("card", card)["ingress"]["line_bps"]) / 1e9


def on_a_wired_card(job: Job, nic: str) -> Observed:
    """Firmware that gives packets to the host; such cards run no handlers."""
    if not job.is_forwarding:
        raise CannotRun("its firmware runs no handlers; it is compared in plain forwarding, with --forward")
    design = tomllib.loads(api.nic(nic))["instances"]
    sets = [f"{name}.promiscuous=true" for name, part in design.items() if part.get("promiscuous") is False]
    sets += job.sets.get(nic, ())
    lines = [part["line_bps"] for part in design.values() if part["module"] == "packet-feeder"]
    if not lines:
        raise CannotRun("it has no `packet-feeder`, so nothing comes from the network")
    with tempfile.TemporaryDirectory(prefix="spinet-compare-") as scratch:
        folder = Path(scratch) / "card"
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
        notes=["of the time in the card only the whole is known", *(["takes frames for any address"] if sets else [])],
    )


def _frames(path: Path) -> dict[str, Times]:
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    table = table.filter(pc.equal(pc.cast(table["way"], "string"), "received"))
    return {
        name: pc.fill_null(pc.cast(table[name], "int64"), -1).to_numpy() for name in ("frame", "given_ps", "out_ps")
    }


def on_this_machine(job: Job, _nic: str) -> Observed:
    """Handlers on this machine's processor, on packets that lie in its memory."""
    if job.exit == "host" and not job.is_forwarding:
        raise CannotRun("it does not tell which packets handlers gave to the host")
    try:
        result = native.run(
            program=list(job.program) or _copy_to_host(),
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
    # A look at the clock costs something itself.
    ns = sum(np.where(taken >= 0, np.maximum(taken - result.clock_ns, 0), 0) for taken in result.ns.values())
    assert isinstance(ns, np.ndarray)
    output: list[bytes] = list(result.sent)
    if job.is_forwarding:
        memory = result.host_memory(_HOST, _RING_BYTES)
        output = _in_ring(memory, [packet.data for packet in job.offered.matched])
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


def _copy_to_host() -> list[str]:
    return [str(toolchain.sdk_dir() / "examples" / "copy_to_host.c")]


def _in_ring(memory: bytes, packets: Sequence[bytes]) -> list[bytes]:
    """Those of `packets` that stand in the ring, in their order; of more than it holds, the last are looked for."""
    last, total = len(packets), 0
    while last and total + len(packets[last - 1]) <= _COMPARED_BYTES:
        last -= 1
        total += len(packets[last])
    found, at = [], 0
    for data in packets[last:]:
        place = memory.find(data, at)
        place = memory.find(data) if place < 0 else place
        if place >= 0:
            found.append(data)
            at = place + len(data)
    return found


def _without(output: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    left = Counter(others)
    kept = []
    for data in output:
        if left[data] > 0:
            left[data] -= 1
        else:
            kept.append(data)
    return kept


def check(nic: str) -> None:
    """Whether there is such a NIC.

    Raises
    ------
    InputError
        With a name that is near, if there is one.
    """
    known = [NATIVE, *(name for name, _about in _core.nic_list())]
    if nic in known:
        return
    if nic.endswith(".toml"):
        if not Path(nic).is_file():
            raise UsageError(f"there is no file {nic}")
        return
    near = difflib.get_close_matches(nic, known, n=1)
    raise UsageError(
        f"there is no NIC `{nic}`; known: {', '.join(known)}", hint=f"did you mean {near[0]}?" if near else ""
    )
