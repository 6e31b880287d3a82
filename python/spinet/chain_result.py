# SPDX-License-Identifier: Apache-2.0
"""Result of a run with chains of offloads: tenants, services, packets, tables and captures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from spinet import _core, _pcapng, output, packet_table
from spinet.result import SentPacket

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

__all__ = ["ChainResult", "Latency", "Service", "Tenant"]


@dataclass(frozen=True, kw_only=True)
class Latency:
    """From first bytes in to first bytes out, in ns."""

    count: int
    min: float
    mean: float
    p5: float
    median: float
    p99: float
    max: float
    split: Mapping[str, Mapping[str, float]]  # by part, in the order of time: mean, p99, max


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """Results of a tenant's packets."""

    name: str
    weight: int
    packets_in: int
    packets_out: int
    bytes_out: int
    dropped: int
    dropped_by_reason: Mapping[str, int]
    in_gbps: float | None
    out_gbps: float | None
    share: float  # of the bytes that left while all tenants sent; of all, if they never did
    latency: Latency | None


@dataclass(frozen=True, kw_only=True)
class Service:
    """Results of the packets at a service."""

    name: str
    packets: int
    pushed: int  # those that came from another unit, without the scheduler
    detours: int
    mean_ns: Mapping[str, float]  # by part: interconnect, queueing, detours, unit_wait, service
    units: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, repr=False)
class ChainResult:
    """Result of a run; `summary` is the output of ``--json`` (docs/reference/chains-summary.md)."""

    summary: Mapping[str, Any]
    _packets: packet_table.Chunk
    _hops: packet_table.Chunk
    _captures: Mapping[str, bytes]

    def __repr__(self) -> str:
        """One line: what a person wants to know of a run first."""
        packets, ended = self.summary["packets"], self.summary["ended"]
        return (
            f"<ChainResult {ended['reason']}: {packets['in']} packets in, {packets['left']} left, "
            f"{packets['dropped']} dropped, digest {self.digest[:16]}>"
        )

    @property
    def digest(self) -> str:
        """Stands for everything that left, with times. Equal inputs give equal digests."""
        return str(self.summary["digest"])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Problems in the simulated world and likely mistakes, one sentence each."""
        return tuple(str(remark["text"]) for remark in self.summary["remarks"])

    @property
    def complete(self) -> bool:
        """True if every packet left or was dropped, false if the run ended early."""
        return bool(self.summary["ended"]["reason"] == "complete")

    @property
    def latency(self) -> Latency | None:
        """Latency of all packets that left."""
        return _latency(self.summary["latency_ns"])

    @cached_property
    def tenants(self) -> dict[str, Tenant]:
        """By name, in order."""
        return {row["name"]: _tenant(row) for row in self.summary["tenants"]}

    @cached_property
    def services(self) -> dict[str, Service]:
        """By name, in order."""
        return {row["service"]: _service(row) for row in self.summary["services"]}

    @cached_property
    def packets(self) -> pa.Table:
        """One row a packet, in the order in which they left; null for what never happened."""
        return packet_table.to_arrow(self._packets, _core.chain_columns()[0])

    @cached_property
    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """The same as NumPy arrays of shape ``(n_packets,)``; times in ps since reset, -1 for what never happened."""
        return packet_table.to_numpy(self._packets, _core.chain_columns()[0])

    @cached_property
    def hops(self) -> pa.Table:
        """One row a visit of a service; its packet is that of the same number in `packets`."""
        return packet_table.to_arrow(self._hops, _core.chain_columns()[1])

    @cached_property
    def to_host(self) -> tuple[SentPacket, ...]:
        """Packets that left to the host, in order."""
        return self._left(output.TO_HOST)

    @cached_property
    def to_network(self) -> tuple[SentPacket, ...]:
        """Packets that left to the networks, in order."""
        return self._left(output.TO_NETWORK)

    def _left(self, name: str) -> tuple[SentPacket, ...]:
        found = _pcapng.packets(self._captures[name])
        return tuple(SentPacket(time_ns=time_ns, data=data) for time_ns, data in found)

    def counter(self, path: str) -> int:
        """A counter of a part, such as ``scheduler.detours``.

        Raises
        ------
        KeyError
            If there is no such counter.
        """
        return int(self.summary["counters"][path])


def _latency(row: Mapping[str, Any] | None) -> Latency | None:
    return None if row is None else Latency(**row)


def _tenant(row: Mapping[str, Any]) -> Tenant:
    return Tenant(
        name=row["name"],
        weight=row["weight"],
        packets_in=row["in"],
        packets_out=row["left"],
        bytes_out=row["left_bytes"],
        dropped=row["dropped"],
        dropped_by_reason=row["dropped_by_reason"],
        in_gbps=row["in_gbps"],
        out_gbps=row["out_gbps"],
        share=row["share"],
        latency=_latency(row["latency_ns"]),
    )


def _service(row: Mapping[str, Any]) -> Service:
    return Service(
        name=row["service"],
        packets=row["packets"],
        pushed=row["pushed"],
        detours=row["detours"],
        mean_ns={name: part["mean"] for name, part in (row["split_ns"] or {}).items()},
        units=row["units"],
    )
