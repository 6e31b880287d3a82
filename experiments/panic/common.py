# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments of this paper share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import spinet

if TYPE_CHECKING:
    from spinet import Result

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAPER = "Lin et al., OSDI 2020"
NIC = "panic"
MEASURED = f"spinet: preset {NIC}."
SIZES = (64, 128, 256, 512, 1024, 1500)

CYCLE_NS = 4
FLIT_BYTES = 64
FRAMING_BYTES = 24  # FCS, preamble and gap, which the generator counts and this card's line does not
# A line as wide as the interconnect, for loads above the limit of the prototype's generator.
WIDE_LINE = "ingress.line_bps=128000000000"


def period(*, gbps: float, size: int) -> int:
    """Cycles from one packet to the next at a rate, to the nearest."""
    return round(size * 8 / (gbps * CYCLE_NS))


def delay(*, gbps: float, size: int, spread: int = 0) -> dict[str, Any]:
    """The engine of a delay unit of a rate.

    Parameters
    ----------
    spread
        Largest deviation of the period to both sides, in percent; uniformly distributed.
    """
    forwarding = -(-size // FLIT_BYTES) + 2  # the packet and the gap after it; its descriptor is sent while it waits
    whole = period(gbps=gbps, size=size)
    mean, swing = max(0, whole - forwarding), whole * spread // 100
    if not swing:
        return {"kind": "delay", "service": {"kind": "fixed", "cycles": mean}, "gap_cycles": 2}
    least, most = max(0, mean - swing), mean + swing
    service = {"kind": "uniform", "least_cycles": least, "most_cycles": most}
    return {"kind": "delay", "service": service, "gap_cycles": 2}


def service(name: str, engine: Mapping[str, Any], *, units: int = 1, credits: int = 2) -> dict[str, Any]:
    """A service of a chain."""
    return {"name": name, "engine": dict(engine), "units": units, "credits": credits}


def packets(*, size: int, count: int, gbps: float | None = None, more: str = "") -> dict[str, str]:
    """Packets of a size at a rate that counts only their own bytes; without a rate, as fast as the line takes them."""
    if gbps is None:
        return {"source": f"udp:size={size},count={count}{more}", "pacing": "asap"}
    rate = round(gbps * 1e9 * (size + FRAMING_BYTES) / size)
    return {"source": f"udp:size={size},count={count},rate={rate}{more}"}


def run(
    *,
    traffic: Any,
    services: Sequence[Mapping[str, Any]] = (),
    chains: Sequence[Any] = (),
    nic: str = NIC,
    set: Sequence[str] = (),
    **more: Any,
) -> Result:
    """Runs to the end, with the given services, or with those of the card if none are given.

    Without chains all packets visit all services given, in order.
    """
    chains = chains or ["all: " + " -> ".join(entry["name"] for entry in services)]
    own = {"preset_services": not services}
    result = spinet.run(own, nic=nic, services=services, chains=chains, traffic=traffic, set=set, **more)
    assert result.complete, result.summary["ended"]["text"]
    return result


def column(result: Result, name: str) -> np.ndarray:
    """A column of the table of packets, with the packets that left; times in ns."""
    table = result.packets
    left = table.column("left_ps").is_valid().to_numpy()
    values: np.ndarray = table.column(name).to_numpy()[left]
    return values / 1000 if name.endswith("_ps") else values


def gbps(result: Result) -> float:
    """Rate of the packets that left, between the first and the last."""
    return float(result.summary["throughput"]["out_gbps"])


def within(values: Sequence[float], percent: float) -> bool:
    """Returns true if the values differ by at most this many percent."""
    return max(values) <= min(values) * (1 + percent / 100)
