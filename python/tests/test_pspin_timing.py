# SPDX-License-Identifier: Apache-2.0
"""Spans of cycles that follow from the timing tables of docs/machines/pspin.md, stated before they are measured.

`crates/pspin/tests/it/fidelity.rs` tests the points that were measured in the RTL. The tests here use other sizes,
chains and pairs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import spinet

SPANS = Path(__file__).resolve().parent / "handlers" / "spans.c"
APART = "rate=10Mpps"  # 100 cycles, more than any of these spans


def rows(handler: str, traffic: str, *, additions: int = 0, **how: str) -> list[dict[str, Any]]:
    """Packets in the order of the traffic."""
    result = spinet.run(
        program=SPANS, handler=handler, traffic=traffic, nic="pspin-rtl", defines={"K": additions}, **how
    )
    assert result.complete
    packets: list[dict[str, Any]] = result.packets.to_pylist()
    return sorted(packets, key=lambda packet: int(packet["frame"]))


def span(packet: dict[str, Any], start: str, end: str) -> int:
    return int(packet[f"{end}_ps"] - packet[f"{start}_ps"]) // 1000


@pytest.mark.parametrize("size", [64, 65, 192, 256, 512, 1000, 1500])
def test_each_beat_takes_a_cycle_into_packet_memory_and_one_to_l1(size: int) -> None:
    beats = -(-size // 64)
    packet = rows("empty", f"udp:size={size},count=3,{APART}", message="all")[2]  # the third runs warm
    assert span(packet, "stored", "done") == 32 + 2 * (beats - 1)
    assert span(packet, "her", "done") == 27 + (beats - 1)


@pytest.mark.parametrize("additions", [0, 1, 5, 40])
def test_header_payload_and_completion_handler_follow_27_cycles_apart(additions: int) -> None:
    # Messages of one packet go to the four clusters in turn: the ninth is the third of its cluster.
    packet = rows("chain", f"udp:size=64,count=9,{APART}", additions=additions)[8]
    assert packet["header_cycles"] == 8 + additions
    assert span(packet, "her", "done") == 3 * 27 + additions


@pytest.mark.parametrize("handler", ["send", "to_host"])
def test_a_command_takes_a_cycle_for_each_further_beat(handler: str) -> None:
    cycles = [rows(handler, f"udp:size={size},count=3,{APART}", message="all")[2]["cycles"] for size in (64, 512, 1024)]
    assert [later - cycles[0] for later in cycles] == [0, 7, 15]


@pytest.mark.parametrize("size", [256, 1024])
def test_messages_of_two_clusters_share_the_way_into_packet_memory_alone(size: int) -> None:
    beats = size // 64
    first, second = rows("empty", f"udp:size={size},count=2,flows=2", pacing="asap")
    assert (first["cluster"], second["cluster"]) == (0, 1)
    cold = 8  # a line of instructions, for each cluster
    assert span(first, "stored", "done") == 32 + 2 * (beats - 1) + cold
    # It came a cycle later and is written behind all beats of the first.
    assert second["stored_ps"] - first["stored_ps"] == 1000
    assert span(second, "stored", "done") == 32 + 2 * (beats - 1) + cold + beats - 1
