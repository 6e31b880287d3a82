# SPDX-License-Identifier: Apache-2.0
"""The rows of a comparison, computed in the same way from what each NIC did."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from spinet.comparison.observed import PART_KINDS, Observed, Times
from spinet.comparison.offered import Offered

DEFINITIONS = {
    "offered": "packets of the traffic, at the same times for every NIC; bytes without FCS, preamble and gap",
    "rate": "of packets offered, and of packets that came out: from the first to the last, the last one not counted; "
    "if they came out in less time than they were offered in, over that time",
    "steady": "packets that came out between the end of warm-up (the first packet is out and a quarter of the offered "
    "time has passed) and the start of drain (the last packet is offered): at least 100, and rates in both halves of "
    "this time differ by at most 10 %",
    "line": "the traffic needs a higher rate, with FCS, preamble and gap, than the NIC's line has",
    "latency": "of packets that came out: from when the first bit is due on the line until the last byte has left; "
    "on this machine, what handlers take",
    "waiting": "for the line, for room, in queues, for a unit or core",
    "transfers": "on links and interconnects, in and out of memories, in fixed pipelines",
    "computation": "while handlers run, with their own loads and stores",
    "unattributed": "the rest, which the model does not split into these parts",
    "lost": "packets that neither came out nor were consumed by a handler",
    "consumed": "handlers took them and neither sent them nor gave them to the host",
    "output": "packets that came out, compared byte by byte, in any order",
}


_LEAST_STEADY = 100  # assumed: one packet more or less then changes the rate by at most 1 %
_MOST_UNSTEADY = 0.1  # assumed: share by which the halves of a steady state may differ


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Latency in ns of packets that came out."""

    count: int
    min: float
    mean: float
    median: float
    p99: float
    max: float


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Packets and bytes from the first packet to the last, without the last; rates are None for fewer than two."""

    packets: int
    bytes: int
    packets_per_s: float | None
    gbps: float | None


@dataclass(frozen=True, kw_only=True)
class Output:
    """The output of a NIC, and its comparison with the reference.

    Attributes
    ----------
    compared
        Number of packets that were compared.
    sha256
        Hash of these packets, in sorted order.
    missing, unexpected
        Number of packets that only the reference sent, and that only this NIC sent.
    """

    compared: int
    sha256: str
    missing: int
    unexpected: int

    @property
    def is_equal(self) -> bool:
        """The same packets, byte by byte."""
        return not self.missing and not self.unexpected


@dataclass(frozen=True, kw_only=True)
class Row:
    """One NIC of a comparison; docs/reference/compare.md says what each value is.

    Attributes
    ----------
    delivered
        Packets of the whole run, warm-up and drain included.
    steady
        Packets that came out in steady state; None if there is none, for the reason in ``not_steady_because``. Both are
        None for this machine's processor, where packets wait in memory.
    time_ns
        Shares of the mean latency: waiting, transfers, computation, and the unknown rest; they add up to it.
    parts_ns
        Parts of the latency: the model's name, the group of `time_ns`, and the mean.
    """

    nic: str
    how: str
    is_simulated: bool
    line_gbps: float | None
    is_line_the_limit: bool
    ended: str
    ended_text: str
    delivered: Rate
    steady: Rate | None
    not_steady_because: str | None
    is_host_ideal: bool
    latency_ns: Latency | None
    time_ns: Mapping[str, float] | None
    parts_ns: Sequence[tuple[str, str, float]]
    consumed: int | None
    lost: int
    lost_by_reason: Mapping[str, int]
    output: Output | None
    digest: str | None
    notes: Sequence[str]


def rate(times_ps: Times, sizes: Times, *, least_ps: int = 0) -> Rate:
    """Rate of packets at `times_ps`, in order, with their bytes, over at least `least_ps`."""
    packets, bytes = len(times_ps), int(sizes.sum())
    span = max(int(times_ps[-1] - times_ps[0]), least_ps) if packets else 0
    if packets < 2 or span == 0:
        return Rate(packets=packets, bytes=bytes, packets_per_s=None, gbps=None)
    return Rate(
        packets=packets,
        bytes=bytes,
        packets_per_s=(packets - 1) * 1e12 / span,
        gbps=(bytes - int(sizes[-1])) * 8000 / span,
    )


def rows(offered: Offered, observed: Mapping[str, Observed], *, is_forwarding: bool) -> list[Row]:
    """A row for each NIC; outputs are compared with what was offered, or with those of `reference`."""
    whole = reference(observed, is_forwarding=is_forwarding)
    sent = [packet.data for packet in offered.packets] if whole is None else observed[whole].output
    expected = Counter(sent or [])
    return [_row(offered, nic, one, expected) for nic, one in observed.items()]


def reference(observed: Mapping[str, Observed], *, is_forwarding: bool) -> str | None:
    """The NIC whose output the others' are compared with: the first that lost nothing; None for what was offered."""
    seen = {nic: one.output for nic, one in observed.items() if one.output is not None}
    if is_forwarding or not seen:
        return None
    whole = [nic for nic in seen if not observed[nic].lost and observed[nic].is_finished]
    return whole[0] if whole else max(seen, key=lambda nic: len(seen[nic]))


def _row(offered: Offered, nic: str, one: Observed, expected: Counter[bytes]) -> Row:
    latency = np.sum([part.ps for part in one.parts], axis=0) / 1000 if one.parts else np.zeros(0)
    times: dict[str, float] | None = None
    parts: list[tuple[str, str, float]] = []
    if len(latency):
        parts = [(part.name, part.kind, float(part.ps.mean()) / 1000) for part in one.parts]
        times = {kind: sum(mean for _, of, mean in parts if of == kind) for kind in PART_KINDS}
    steady, why_not = _steady(one, offered)
    return Row(
        nic=nic,
        how=one.how,
        is_simulated=one.out_ps is not None,
        line_gbps=one.line_gbps,
        is_line_the_limit=one.line_gbps is not None and (offered.line_gbps or 0) > one.line_gbps,
        ended=one.ended,
        ended_text=one.ended_text,
        delivered=_delivered(one, offered),
        steady=steady,
        not_steady_because=why_not,
        is_host_ideal=one.is_host_ideal,
        latency_ns=_latency(latency),
        time_ns=times,
        parts_ns=parts,
        consumed=one.consumed,
        lost=sum(one.lost.values()),
        lost_by_reason=dict(one.lost),
        output=None if one.output is None else _output(one.output, expected),
        digest=one.digest,
        notes=list(one.notes),
    )


def _delivered(one: Observed, offered: Offered) -> Rate:
    if one.out_ps is None:
        assert one.capacity is not None
        per_s, bytes_per_s = one.capacity
        n, size = len(one.sizes), int(one.sizes.sum())
        return Rate(packets=n, bytes=size, packets_per_s=per_s, gbps=bytes_per_s * 8 / 1e9)
    order = np.argsort(one.out_ps, kind="stable")
    due = offered.time_ps[one.frames]
    return rate(one.out_ps[order], one.sizes[order], least_ps=int(np.ptp(due)) if len(due) else 0)


def _steady(one: Observed, offered: Offered) -> tuple[Rate | None, str | None]:
    """The rate without warm-up and drain, or the reason why there is none; neither if packets have no times."""
    if one.out_ps is None:
        return None, None
    first, last = int(offered.time_ps[0]), int(offered.time_ps[-1])
    start = max(first + (last - first) // 4, int(one.out_ps.min()) if len(one.out_ps) else last)
    order = np.argsort(one.out_ps, kind="stable")
    order = order[(one.out_ps[order] > start) & (one.out_ps[order] <= last)]
    if len(order) < _LEAST_STEADY:
        return None, (
            f"the run is too short; between warm-up and drain {len(order):,} packets came out, "
            f"at least {_LEAST_STEADY} are needed"
        )
    out, due = one.out_ps[order], offered.time_ps[one.frames[order]]
    early = int((out <= start + (last - start) // 2).sum())
    late = len(out) - early
    if abs(late - early) > _MOST_UNSTEADY * len(out) / 2:
        return None, f"rates change; {early:,} packets came out in the first half of the time, {late:,} in the second"
    return rate(out, one.sizes[order], least_ps=int(np.ptp(due))), None


def _latency(ns: np.ndarray[Any, Any]) -> Latency | None:
    if not len(ns):
        return None
    median, p99 = np.percentile(ns, (50, 99), method="higher")
    return Latency(
        count=len(ns),
        min=float(ns.min()),
        mean=float(ns.mean()),
        median=float(median),
        p99=float(p99),
        max=float(ns.max()),
    )


def _output(output: Sequence[bytes], expected: Counter[bytes]) -> Output:
    own = Counter(output)
    hashed = hashlib.sha256()
    for data in sorted(output):
        hashed.update(len(data).to_bytes(4, "little") + data)
    return Output(
        compared=len(output),
        sha256=hashed.hexdigest(),
        missing=(expected - own).total(),
        unexpected=(own - expected).total(),
    )
