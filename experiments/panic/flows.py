# SPDX-License-Identifier: Apache-2.0
"""Two flows and a slow unit (7.3, model 4), on PANIC and a pipeline of offloads: for Figure 8f and Table 3.

Unit A has 60 Gbit/s, unit B has line rate. Packets have 1500 bytes, and three of ten belong to flow 1, the urgent
one. Both cards have 64 KB of buffer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from experiments.panic.common import WIDE_LINE, delay, packets, run

if TYPE_CHECKING:
    from spinet import Result

SIZE = 1500
SHARES = {"flow1": 0.3, "flow2": 0.7}
CARDS = ("pipeline", "PANIC")
PORTS = {"flow1": 1, "flow2": 2}
COUNT = 4000
PIPELINE_LINE = f"card.{WIDE_LINE}"


def model_4(card: str, gbps: float) -> Result:
    """Both flows, at a total load."""
    services: list[dict[str, Any]] = [
        {"name": "a", "engine": delay(gbps=60, size=SIZE)},
        {"name": "b", "engine": {"kind": "delay", "service": {"kind": "fixed", "cycles": 0}, "gap_cycles": 2}},
    ]
    chains = [
        {"name": flow, "match": f"udp.dst_port == {port}", "services": ["a", "b"]} for flow, port in PORTS.items()
    ]
    traffic = [
        packets(size=SIZE, count=round(COUNT * share), gbps=gbps * share, more=f",dst_port={PORTS[flow]}")
        for flow, share in SHARES.items()
    ]
    tenants = [{"name": flow, "priority": priority} for priority, flow in enumerate(PORTS)]
    if card == "pipeline":
        return run(
            nic="pipeline", services=services, chains=chains, tenants=tenants, traffic=traffic, set=[PIPELINE_LINE]
        )
    settings = [WIDE_LINE, "scheduler.buffer.cells=21"]  # cells of 1536 bytes, in two banks: 64 KB
    return run(
        services=services, chains=chains, tenants=tenants, policy="strict-priority", traffic=traffic, set=settings
    )


def steady(result: Result, flow: str) -> tuple[float, float]:
    """Gbit/s and mean latency in ns of a flow, from a third of the arrivals to the last."""
    table = result.packets
    arrival = table.column("arrival_ps").to_numpy() / 1000
    start, end = np.percentile(arrival, (33, 100))
    mine = table.column("tenant").to_numpy() == list(result.tenants).index(flow)
    left = table.column("left_ps").is_valid().to_numpy()
    at = table.column("left_ps").fill_null(0).to_numpy() / 1000
    inside = mine & left & (at >= start) & (at < end)
    latency = table.column("latency_ps").fill_null(0).to_numpy()[inside] / 1000
    return float(inside.sum() * SIZE * 8 / (end - start)), float(latency.mean())
