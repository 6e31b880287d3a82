# SPDX-License-Identifier: Apache-2.0
"""A comparison on a simulated card: one run of the packets, observed in terms that all kinds of cards share."""

from __future__ import annotations

import re
import tomllib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from spinet import _core, _kinds, api, wiring
from spinet._core import InputError
from spinet.comparison import forwarding
from spinet.comparison.observed import CannotRun, Job, Observed, Part, PartKind, Times, spans
from spinet.result import Result

Truths = np.ndarray[Any, np.dtype[np.bool_]]

# Source: Di Girolamo et al., ISCA 2021, IV: 400 Gbit/s. The model accepts packets when they are due, independent of the
# line's rate.
_PSPIN_LINE_GBPS = 400.0
# assumed: no start-up of firmware and its host takes longer
_STARTUP_MS = 300


def on_card(job: Job, nic: str) -> Observed:
    """The packets on a card of any kind.

    Raises
    ------
    CannotRun
        If cards of this kind cannot do what is compared.
    """
    kind = _kinds.get(_core.kind_of_nic(job.cards.get(nic, nic)))
    compared = kind.compared()
    if compared is None:
        raise CannotRun(f"it {kind.does}, which cannot be compared")
    return compared(job, nic).observed()


class OnKind(ABC):
    """A comparison on cards of one kind."""

    number: ClassVar[str] = "frame"
    """Column with the number of a packet in the traffic."""
    begins: ClassVar[str]
    """Column with the time at which a packet is due. The first packet is never delayed."""

    def __init__(self, job: Job, nic: str) -> None:
        self.job: Job = job
        self.nic: str = job.cards.get(nic, nic)
        self.sets: list[str] = list(job.sets.get(nic, ()))

    @abstractmethod
    def keywords(self) -> Mapping[str, Any]:
        """Keywords of `spinet.run` that this kind has, besides those of all kinds."""

    @abstractmethod
    def came_out(self, rows: Mapping[str, Times]) -> tuple[Truths, Times, Times]:
        """For each row: whether the packet left at the compared exit, when its last byte left, and its bytes at that
        time.
        """

    @abstractmethod
    def parts(self, rows: Mapping[str, Times], due: Times, out: Times) -> list[Part]:
        """Where the packets spent their time from `due` to `out`."""

    @abstractmethod
    def totals(self, result: Result, frames: Times) -> dict[str, Any]:
        """Attributes of `Observed` for the whole run; `frames` are the packets that came out."""

    def rows(self, result: Result) -> Mapping[str, Times]:
        """Rows of the packets of the traffic."""
        return result.columns

    def observed(self) -> Observed:
        """Runs the packets."""
        keywords = {"set": self.sets, "limit": self.job.limit} | dict(self.keywords())
        try:
            result = api.run(nic=self.nic, traffic=self.job.file, seed=self.job.seed, **keywords)
        except InputError as error:
            if "service[" not in str(error):
                raise
            raise CannotRun(str(error)) from error  # the card has no such units as our service needs
        rows, time = self.rows(result), self.job.offered.time_ps
        numbers = rows[self.number].astype(np.int64)
        first = int(np.argmin(numbers)) if len(numbers) else None
        start = 0 if first is None else int(rows[self.begins][first]) - int(time[numbers[first]])
        came, out, sizes = self.came_out(rows)
        frames, out = numbers[came], out[came]
        ended = result.summary["ended"]
        return Observed(
            frames=frames,
            out_ps=out - start,
            parts=self.parts({name: column[came] for name, column in rows.items()}, time[frames] + start, out),
            sizes=sizes[came].astype(np.int64),
            ended=ended["reason"],
            ended_text=ended["text"],
            digest=result.digest,
            **self.totals(result, frames),
        )

    def card(self) -> Mapping[str, Any]:
        """The card's parameters."""
        card = tomllib.loads(_core.nic_show(self.nic, self.sets, "."))
        parameters: Mapping[str, Any] = card.get("card", card)
        return parameters

    def is_host_ideal(self) -> bool:
        """True if the card's parameters select a host without PCIe latency."""
        card = self.card()
        interface = card.get("pcie") or card.get("dma", {}).get("pcie", {})
        return bool(interface.get("model") == "ideal")


class Handlers(OnKind):
    """Handlers on HPUs; plain forwarding is the handler that copies packets to the host."""

    begins = "arrival_ps"
    _PARTS: ClassVar[Sequence[tuple[str, PartKind]]] = (
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

    def keywords(self) -> Mapping[str, Any]:
        job = self.job
        return {
            "program": list(job.program) or forwarding.program(),
            "match": job.match,
            "message": job.message,
            "handler": job.handler,
            "pacing": "times",
            "defines": job.defines,
        }

    def came_out(self, rows: Mapping[str, Times]) -> tuple[Truths, Times, Times]:
        if self.job.exit == "network":
            return (rows["sent_packets"] > 0) & (rows["sent_ps"] >= 0), rows["sent_ps"], rows["sent_bytes"]
        return (rows["host_writes"] > 0) & (rows["task_done_ps"] >= 0), rows["task_done_ps"], rows["bytes"]

    def parts(self, rows: Mapping[str, Times], due: Times, out: Times) -> list[Part]:
        """Header handlers run while the packet is in the message queue, completion handlers after payload handlers."""
        late = (rows["completion_start_ps"] >= 0) & (rows["completion_start_ps"] < out)
        completion = [np.where(late, rows[f"completion_{edge}_ps"], -1) for edge in ("start", "end")]
        passed = [rows[f"{edge}_ps"] for edge in ("stored", "her", "task_sent", "accepted", "copied", "start", "end")]
        parts = spans(self._PARTS, [due, *passed, *completion, out])
        header = np.where(rows["header_start_ps"] >= 0, rows["header_end_ps"] - rows["header_start_ps"], 0)
        queue = next(part for part in parts if part.name == "message queue")
        header = np.minimum(header, queue.ps)
        if not header.any():
            return parts
        waited = Part(name=queue.name, kind=queue.kind, ps=queue.ps - header)
        ran = Part(name="header handler", kind="computation", ps=header)
        return [piece for part in parts for piece in ((waited, ran) if part is queue else (part,))]

    def totals(self, result: Result, frames: Times) -> dict[str, Any]:
        job, packets = self.job, result.summary["packets"]
        lost = {why: n for why, n in packets["dropped_by_reason"].items() if n}
        lost |= {why: packets[why] for why in ("trapped", "unfinished") if packets[why]}
        did = {name: bool((result.columns[name] > 0).any()) for name in ("sent_packets", "host_writes")}
        notes = []
        if job.exit == "network" and did["host_writes"] and not did["sent_packets"]:
            notes.append("handlers sent nothing but wrote to host memory: --exit host compares that")
        output: list[bytes] | None = None  # only the handlers know where they put packets in host memory
        if job.is_forwarding:
            memory = result.host_memory(forwarding.HOST, forwarding.RING_BYTES)
            output = forwarding.in_ring(memory, [job.offered.packets[n].data for n in sorted(frames)])
        elif job.exit == "network":
            output = [packet.data for packet in result.sent]
        return {
            "how": "copy_to_host.c on HPUs" if job.is_forwarding else "handlers on HPUs",
            "consumed": int(packets["consumed"]),
            "lost": lost,
            "output": output,
            "line_gbps": _PSPIN_LINE_GBPS,
            "is_host_ideal": self.is_host_ideal(),
            "notes": notes,
        }


class Chains(OnKind):
    """A chain of one service whose units are cores with the handlers; plain forwarding is a chain without services."""

    number = "packet"
    begins = "due_ps"
    _CHAIN, _CORE = "compared", "handlers"
    _PARTS: ClassVar[Sequence[tuple[str, PartKind]]] = (
        ("ingress", "transfers"),
        ("interconnect", "transfers"),
        ("queueing", "waiting"),
        ("detours", "waiting"),
        ("unit_wait", "waiting"),
        ("service", "computation"),
    )

    @property
    def exit(self) -> str:
        return "host" if self.job.is_forwarding else self.job.exit

    def keywords(self) -> Mapping[str, Any]:
        job = self.job
        services: list[Mapping[str, Any]] = []
        if job.build is not None:
            self._refuse_messages()
            program = [str(Path(source).absolute()) for source in job.program]
            core = {"name": self._CORE, "engine": "riscv", "program": program, "units": job.units}
            services.append(core | ({"handler": job.handler} if job.handler else {}))
        matched = f" [{job.match}]" if job.match else ""
        chain = f"{self._CHAIN}{matched}: {self._CORE if services else ''} => {self.exit}"
        return {"services": services, "chains": [chain], "pacing": "times", "defines": job.defines}

    def _refuse_messages(self) -> None:
        """In a unit, messages are flows without known ends, so handlers that rely on the end of a message give other
        results.
        """
        assert self.job.build is not None
        entry = self.job.build.entry(name=self.job.handler)
        if entry.tail:
            raise CannotRun(f"{entry.name}_th would not run: a unit does not know where a message ends")
        if entry.header and not re.fullmatch(r"\s*by\s+(flow|5-tuple)\b.*", self.job.message or ""):
            raise CannotRun(
                f"{entry.name}_hh would run once for each flow, not for each message: "
                "compare with --message 'by flow last'"
            )

    def came_out(self, rows: Mapping[str, Times]) -> tuple[Truths, Times, Times]:
        return (
            (rows["chain"] == 0) & (rows["fate"] == _word(_kinds.CHAINS, "fate", self.exit)),
            rows["left_ps"],
            rows["bytes_out"],
        )

    def parts(self, rows: Mapping[str, Times], due: Times, out: Times) -> list[Part]:
        return [
            Part(name="line", kind="waiting", ps=rows["arrival_ps"] - due),
            *(Part(name=name, kind=kind, ps=rows[f"{name}_ps"]) for name, kind in self._PARTS),
            Part(name="last bytes", kind="transfers", ps=out - rows["leaving_ps"]),
        ]

    def totals(self, result: Result, _frames: Times) -> dict[str, Any]:
        job, summary = self.job, result.summary
        (row,) = (row for row in summary["chains"] if row["name"] == self._CHAIN)
        lost = dict(row["dropped_by_reason"])
        consumed = lost.pop("program", 0)
        if row["unfinished"]:
            lost["unfinished"] = row["unfinished"]
        output = [packet.data for packet in (result.to_host if self.exit == "host" else result.to_network)]
        if self.exit == "host":  # packets that no chain takes leave there, too
            output = _without(output, [packet.data for packet in job.offered.packets if packet.context is None])
        cores = "a RISC-V unit" if job.units == 1 else f"{job.units} RISC-V units"
        return {
            "how": "no service" if job.is_forwarding else f"handlers on {cores} ({self.nic})",
            "consumed": consumed,
            "lost": lost,
            "output": output,
            "line_gbps": float(self.card()["ingress"]["line_bps"]) / 1e9,
            "is_host_ideal": self.is_host_ideal(),
            "notes": [f"{trouble['unit']}: {trouble['text']}" for trouble in summary["troubles"][:3]],
        }


class Modules(OnKind):
    """Firmware that gives packets to the host; such cards run no handlers."""

    begins = "given_ps"

    def keywords(self) -> Mapping[str, Any]:
        job = self.job
        if not job.is_forwarding:
            raise CannotRun("its firmware runs no handlers; it is compared in plain forwarding, with --forward")
        parts = wiring.design(self.nic, set=self.sets).parts
        self._choosy = [part.path for part in parts if part.parameters.get("promiscuous") is False]
        self._lines = [part.parameters["line_bps"] for part in parts if part.module == "packet-feeder"]
        if not self._lines:
            raise CannotRun("it has no `packet-feeder`, so nothing comes from the network")
        sets = [*(f"{path}.promiscuous=true" for path in self._choosy), *self.sets]
        limit = job.limit or f"{job.offered.span_ps // 1_000_000_000 + _STARTUP_MS} ms"
        return {"set": sets, "limit": limit, "profile": False}

    def rows(self, result: Result) -> Mapping[str, Times]:
        columns = result.columns
        received = columns["way"] == _word(_kinds.MODULES, "way", "received")
        return {name: column[received].astype(np.int64) for name, column in columns.items()}

    def came_out(self, rows: Mapping[str, Times]) -> tuple[Truths, Times, Times]:
        return (rows["given_ps"] >= 0) & (rows["out_ps"] >= 0), rows["out_ps"], rows["bytes"]

    def parts(self, rows: Mapping[str, Times], due: Times, out: Times) -> list[Part]:
        given = rows["given_ps"]
        return [
            Part(name="line", kind="waiting", ps=given - due),
            Part(name="card and host", kind="unattributed", ps=out - given),
        ]

    def totals(self, result: Result, frames: Times) -> dict[str, Any]:
        dropped = {
            path.rpartition(".")[2]: n
            for path, n in result.summary["counters"].items()
            if n and re.search(r"(^|\.)mac_receive[^.]*\.dropped\.", path)
        }
        missing = len(self.job.offered.packets) - len(frames) - sum(dropped.values())
        return {
            "how": f"the firmware of {self.nic}, to the host",
            "consumed": 0,
            "lost": dropped | ({"not delivered": missing} if missing > 0 else {}),
            "output": [packet.data for packet in result.to_host],
            "line_gbps": self._lines[0] / 1e9,
            "notes": [
                "of the time in the card only the whole is known",
                *(["takes frames for any address"] if self._choosy else []),
            ],
        }


def _word(kind: str, column: str, word: str) -> int:
    """The number that stands for a word in a column."""
    tables = _core.table_columns()[kind].values()
    return next(words.index(word) for table in tables for name, _type, _about, words in table if name == column)


def _without(output: Sequence[bytes], others: Sequence[bytes]) -> list[bytes]:
    left = Counter(others)
    kept = []
    for data in output:
        if left[data] > 0:
            left[data] -= 1
        else:
            kept.append(data)
    return kept
