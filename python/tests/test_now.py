# SPDX-License-Identifier: Apache-2.0
"""`spin_now()`: a handler reads the card's cycle, where the card has the register."""

from __future__ import annotations

import struct
from pathlib import Path

import spinet

NOW = Path(__file__).resolve().parent / "handlers" / "now.c"
HOST = 0x1000_0000_0000_0000


def test_handlers_read_the_cycle_of_the_card() -> None:
    result = spinet.run(program=NOW, traffic="udp:size=128,count=1")
    assert result.complete
    assert not result.summary["traps"]
    first, between, to_whole, high, waited = struct.unpack("<5I", result.host_memory(HOST, 20))
    # Times of packets are in ps, and a cycle is 1 ns.
    start, end = (int(result.columns[f"{at}_ps"][0]) // 1000 for at in ("start", "end"))
    assert start < first < first + waited < end
    assert between == 1
    assert 1 <= to_whole < 40  # the code is cold
    assert high == 0
    assert 100 <= waited < 120


def test_without_the_register_it_is_an_illegal_instruction() -> None:
    for card in ({"nic": "pspin-rtl"}, {"set": "cluster.cycle_register=false"}):
        result = spinet.run(program=NOW, traffic="udp:size=128,count=1", **card)  # type: ignore[arg-type]
        (trap,) = result.summary["traps"]
        assert (trap["cause"], trap["count"]) == ("illegal instruction", 1)
        assert trap["first"]["line"].endswith("now.c:10")
