# SPDX-License-Identifier: Apache-2.0
"""A core-based unit of PANIC by itself: runs a program on packets as fast as credits allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _core

__all__ = ["Answer", "Packet", "Report", "run"]

_SPENT = ("network_io", "flush", "compute")


@dataclass(frozen=True, kw_only=True)
class Packet:
    """A packet and its values from the RMT pipeline."""

    data: bytes
    flow: int = 0
    hash: int = 0
    metadata: int = 0
    network: int = 0  # offset of the network header; 0 is none
    transport: int = 0


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Result of a packet."""

    packet: int  # position among those that were given
    data: bytes  # nothing if it was dropped
    dropped: str | None  # why it was
    begun: int | None  # cycle in which the program took it
    left: int  # cycle in which its last flit left


@dataclass(frozen=True, kw_only=True)
class Report:
    """Result of a run."""

    gbps: float | None  # Gbit/s over the middle half of the packets; None for fewer than 8
    cycles: int
    is_done: bool  # all packets came out
    answers: tuple[Answer, ...]
    counters: Mapping[str, int]
    troubles: tuple[str, ...]  # faults of the program, up to a limit

    def shares(self) -> dict[str, float]:
        """Shares of all cycles after the start: doorbells, flushes, computation (the parts of Figure 10)."""
        spent = {name: self.counters[f"cycles.{name}"] for name in _SPENT}
        total = sum(spent.values())
        return {name: cycles / total if total else 0.0 for name, cycles in spent.items()}


def run(
    elf: Path,
    packets: Sequence[Packet],
    *,
    params: str | None = None,
    clock_mhz: int = 250,
    credits: int = 4,
    most_cycles: int = 1_000_000_000,
) -> Report:
    """Run a program that `toolchain.build(..., target="panic")` made.

    Parameters
    ----------
    elf
        The program.
    packets
        Of 1 to 1536 bytes.
    params
        The unit, as TOML; that of `presets/units/riscv.toml` if not given.
    clock_mhz
        Its clock.
    credits
        Packets that it may have at most.
    most_cycles
        When the run ends, done or not.

    Raises
    ------
    InputError
    """
    given = [
        (packet.data, packet.flow, packet.hash, packet.metadata, [packet.network, packet.transport])
        for packet in packets
    ]
    text, data = _core.run_unit(
        str(elf), given, params=params, clock_mhz=clock_mhz, credits=credits, most_cycles=most_cycles
    )
    found = json.loads(text)
    answers = tuple(Answer(data=data, **answer) for answer, data in zip(found["answers"], data, strict=True))
    return Report(
        gbps=found["gbps"],
        cycles=found["cycles"],
        is_done=found["is_done"],
        answers=answers,
        counters=dict(found["counters"]),
        troubles=tuple(found["troubles"]),
    )
