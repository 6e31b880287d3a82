# SPDX-License-Identifier: Apache-2.0
"""Results of one NIC of a comparison, in terms that are common to all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from spinet import toolchain
from spinet.comparison.offered import Offered

Times = np.ndarray[Any, np.dtype[np.int64]]
Exit = Literal["network", "host"]
PartKind = Literal["waiting", "transfers", "computation", "unattributed"]
PART_KINDS: tuple[PartKind, ...] = ("waiting", "transfers", "computation", "unattributed")


class CannotRun(Exception):
    """A NIC cannot do what is compared; the text says why."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """The task of every NIC.

    Attributes
    ----------
    program
        Sources of the handlers; none for plain forwarding.
    build
        The program built for PsPIN, with the list of its handlers; None for plain forwarding.
    file
        The offered packets as a capture.
    exit
        Where packets leave that count: sent to the network, or given to the host.
    cards
        Names or files of cards, by NIC.
    sets
        Changes of parameters, by NIC.
    """

    program: Sequence[str]
    build: toolchain.Build | None
    offered: Offered
    file: str
    match: str | None
    message: str | None
    handler: str | None
    exit: Exit
    cards: Mapping[str, str]
    sets: Mapping[str, Sequence[str]]
    units: int
    threads: int
    seed: int | None
    limit: str | None
    defines: Mapping[str, str | int]

    @property
    def is_forwarding(self) -> bool:
        """True without handlers: packets go from the network to the host unchanged."""
        return not self.program


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the latency, under the model's name for it: `ps` has the time of each packet that came out."""

    name: str
    kind: PartKind
    ps: Times


@dataclass(frozen=True, kw_only=True)
class Observed:
    """Results of the packets on one NIC.

    Attributes
    ----------
    how
        The program that ran, in a few words.
    frames
        Numbers of the offered packets that came out; shape ``(n_out,)``.
    out_ps
        When their last bytes had left, from the start of the traffic; None if there is no such time.
    parts
        They add up to each packet's latency.
    consumed
        Packets that the handlers took and neither sent nor gave to the host; None if unknown.
    lost
        Number of lost packets by reason.
    output
        The packets that came out, in any order; None if they are not recorded.
    sizes
        Bytes that came out for each of `frames`.
    line_gbps
        The NIC's line; None if it has none.
    is_host_ideal
        The host interface is modelled without PCIe's packets and latency.
    capacity
        Packets and bytes handled a second, if packets do not come at their times but wait in memory.
    """

    how: str
    frames: Times
    out_ps: Times | None
    parts: Sequence[Part]
    consumed: int | None
    lost: Mapping[str, int]
    output: Sequence[bytes] | None
    sizes: Times
    ended: str = "complete"
    ended_text: str = ""
    line_gbps: float | None = None
    is_host_ideal: bool = False
    digest: str | None = None
    capacity: tuple[float, float] | None = None
    notes: Sequence[str] = field(default=())

    @property
    def is_finished(self) -> bool:
        """Every packet came to an end."""
        return self.ended == "complete"


def spans(names: Sequence[tuple[str, PartKind]], edges: Sequence[Times]) -> list[Part]:
    """Times between successive milestones; 0 for a milestone that never happened (-1) or lies past the end."""
    table = np.maximum.accumulate(np.stack(edges), axis=0)
    table = np.minimum(table, edges[-1])
    return [Part(name=name, kind=kind, ps=table[i + 1] - table[i]) for i, (name, kind) in enumerate(names)]
