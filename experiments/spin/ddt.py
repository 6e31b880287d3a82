# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments about datatypes share."""

from __future__ import annotations

import numpy as np
from spinet import datatypes as dt
from spinet.datatypes import Datatype, Received

PAPER = "Di Girolamo et al., SC 2019"
TALK = "sPIN talk, OFA Workshop 2022"
PAYLOAD = 2048
MEASURED = f"spinet: preset pspin, {PAYLOAD} B of the message a packet, handlers of sdk/datatypes."
HOST = dt.Host()


def vector(block: int, size: int) -> Datatype:
    """Blocks with gaps of their own size."""
    return dt.vector(size // block, block, 2 * block, dt.BYTE)


def packet_ns(rate: float, payload: int = PAYLOAD) -> float:
    """From one packet to the next on the line."""
    return (payload + 52 + 24) * 8 / rate * 1e9


def run(datatype: Datatype, strategy: str, **more: object) -> Received:
    """A message through the card, all bytes compared."""
    got = dt.receive(datatype, strategy=strategy, **more)  # type: ignore[arg-type]
    assert got.result.complete and not got.result.summary["traps"], strategy
    assert got.is_exact and all(done.is_whole for done in got.completions), strategy
    return got


def warm_cycles(got: Received) -> float:
    """Median cycles of the payload handlers that began in the second half: caches have the code, L1 has the type."""
    columns = got.result.columns
    order = np.argsort(columns["start_ps"])
    return float(np.median(columns["cycles"][order][len(order) // 2 :]))


def host_ns(datatype: Datatype, *, rate: float) -> float:
    """The receive of a message into a buffer at line rate, then the unpacking."""
    packets = -(-datatype.size // PAYLOAD)
    return packets * packet_ns(rate) + HOST.unpack_ns(datatype)
