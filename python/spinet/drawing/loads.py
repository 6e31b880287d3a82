# SPDX-License-Identifier: Apache-2.0
"""Assigns the load of a run's resources to parts and connections of a drawing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet.drawing.boxes import Wire
    from spinet.wiring import Design

# Resources that one part counts, and the drawing shows at another part or at a port.
_ELSEWHERE = {
    "cluster.hpus": "cluster.cores",
    "cluster.l1_busiest_bank_cycles": "cluster.l1",
    "cluster.l1_packet_byte_cycles": "cluster.l1",
    "cluster.dma_beats": "cluster.dma",
    "cluster.icache_misses": "cluster.icache",
    "cluster.task_fifo_cycles": "cluster.tasks",
    "memories.program_cycles": "program",
    "memories.packet_cluster_reads": "l2.dma",
    "memories.packet_cluster_writes": "l2.dma",
    "memories.packet_nic_reads": "l2.bursts",
    "memories.packet_nic_writes": "l2.bursts",
    "memories.handler_cluster_reads": "l2.cores",
    "memories.handler_cluster_writes": "l2.cores",
    "memories.handler_nic_reads": "l2.bursts",
    "memories.handler_nic_writes": "l2.bursts",
    "memories.handler_amo_cycles": "l2",
    "inbound.occupied_byte_cycles": "l2",
    "commands.nic_send_commands": "commands.nic",
    "commands.host_dma_commands": "commands.dma",
    "commands.host_direct_commands": "commands.host_direct",
    # Of PANIC. `network` is the name of its ports to the line here, and of its crossbar in the drawing.
    "network.ingress.line_cycles": "ingress",
    "network.ingress.buffered_flit_cycles": "ingress",
    "network.egress.line_cycles": "egress",
    "network.egress.buffered_flit_cycles": "egress",
    "scheduler.pifo_cycles": "scheduler.pifos",
    "scheduler.buffered_packet_cycles": "scheduler.pifos",
    "scheduler.leaving_packet_cycles": "scheduler.port",
    "scheduler.crossing_packet_cycles": "scheduler.pifos",
    "dma.buffered_flit_cycles": "dma.engine",
    "dma.transmit.buffered_flit_cycles": "dma.engine",
}


@dataclass
class Loads:
    """The busiest resource of each part and port, by path without the numbers of arrays."""

    parts: dict[str, float] = field(default_factory=dict)
    ports: dict[str, float] = field(default_factory=dict)

    def of_wire(self, wire: Wire) -> float | None:
        """The load of a connection: of the port at either end."""
        ends = ((wire.source, wire.source_pin), (wire.target, wire.target_pin))
        found = (self.ports.get(f"{plain(box.path)}.{pin.base}") for box, pin in ends)
        return max((load for load in found if load is not None), default=None)


def of(design: Design, busy: Mapping[str, float]) -> Loads:
    """The loads of a design. A resource without a part in the drawing is left out."""
    parts = {plain(part.path) for part in design.parts}
    ports = {f"{plain(part.path)}.{plain(port.name)}" for part in design.parts for port in part.ports}
    loads = Loads()
    for name, share in busy.items():
        path = plain(name).removeprefix("nic.")
        path = _ELSEWHERE.get(path, path)
        if path in ports:
            loads.ports[path] = max(share, loads.ports.get(path, 0.0))
            continue
        while path and path not in parts:
            path = path.rpartition(".")[0]
        if path:
            loads.parts[path] = max(share, loads.parts.get(path, 0.0))
    return loads


def plain(path: str) -> str:
    """A path without the numbers of arrays."""
    return re.sub(r"\[\d*\]", "", path)


def heat(load: float) -> str:
    """The colour of a share of time from 0 to 1: from pale yellow to red, light enough for black text."""
    share = min(max(load, 0.0), 1.0)
    pale, hot = (255, 246, 214), (247, 128, 96)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(pale, hot, strict=True))
