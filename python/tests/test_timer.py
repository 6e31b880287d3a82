# SPDX-License-Identifier: Apache-2.0
"""The cluster's timer, from a handler: it counts cycles, and isolation keeps handlers from it."""

from __future__ import annotations

import struct
from pathlib import Path

import spinet

TIMER = Path(__file__).resolve().parent / "handlers" / "timer.c"
HOST = 0x1000_0000_0000_0000


def test_a_handler_measures_by_the_timer() -> None:
    result = spinet.run(program=TIMER, traffic="udp:count=1", nic="pspin-rtl")
    assert result.complete and not result.summary["traps"]
    counted, stands = struct.unpack("<2I", result.host_memory(HOST, 8))
    # The wait is a loop that ends after 1000 cycles, and a read itself takes some cycles.
    assert 1000 <= counted < 1060
    assert stands == 1


def test_isolated_handlers_cannot_reach_it() -> None:
    result = spinet.run(program=TIMER, traffic="udp:count=1", nic="pspin")
    (trap,) = result.summary["traps"]
    assert (trap["cause"], trap["first"]["value"]) == ("store access fault", "0x1b200420")
