# SPDX-License-Identifier: Apache-2.0
"""Each kind of part that can be full, as the bottleneck that the summary names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet import cli

PING = "sdk/examples/ping_pong.c"

# 500 jumps to the next line of 16 bytes: twice the instruction cache of a cluster.
LONG = """#include <handler.h>
__handler__ void long_ph(handler_args_t *args)
{
    asm volatile(".rept 500\\nj 1f\\n.balign 16\\n1:\\n.endr");
}
"""

# The header handler of the only message takes 20 us, and all other packets wait for it.
SLOW_START = """#include <handler.h>
__handler__ void slow_hh(handler_args_t *args)
{
    for (volatile int i = 0; i < 2000; i++)
        ;
}
__handler__ void slow_ph(handler_args_t *args) {}
"""

SLOW = """#include <handler.h>
__handler__ void slow_ph(handler_args_t *args)
{
    for (int i = 0; i < 1000; i++)
        asm volatile("");
}
"""


def full(summary: Mapping[str, Any]) -> tuple[str, str]:
    """The bottleneck and its function."""
    row = next(row for row in summary["resources"] if row["name"] == summary["bottleneck"])
    assert 0.9 <= row["utilisation"] <= 1.001, row
    return row["name"], row["does"]


def test_program_memory_is_full_if_code_does_not_fit_into_instruction_caches(tmp_path: Path) -> None:
    (tmp_path / "long.c").write_text(LONG)
    summary = spinet.run(
        program=tmp_path / "long.c", traffic="udp:size=64,count=320,rate=400G", set={"n_clusters": 8}
    ).summary
    assert full(summary) == ("nic.memories.program_cycles", "passes")
    # Two cycles for each line.
    misses = sum(summary["counters"][f"nic.cluster[{cluster}].icache_misses"] for cluster in range(8))
    assert summary["counters"]["nic.memories.program_cycles"] == 2 * misses


def test_message_queues_are_full_if_all_packets_wait_for_a_header_handler(tmp_path: Path) -> None:
    (tmp_path / "slow.c").write_text(SLOW_START)
    traffic = "udp:size=64,count=100,rate=400G"
    one = {"program": tmp_path / "slow.c", "traffic": traffic, "message": "by 5-tuple", "match": "udp"}
    summary = spinet.run(**one, set={"scheduler.shared_cells": 16}).summary
    assert full(summary) == ("nic.scheduler.shared_descriptor_cycles", "holds")
    # With room for all of them, nothing is full.
    assert spinet.run(**one, set={"scheduler.shared_cells": 768}).summary["bottleneck"] is None


def test_the_line_out_of_pspin_is_full() -> None:
    # 64 cycles for a packet of 1024 bytes, instead of 16.
    slow = {"outbound.cycles_per_beat": 4}
    summary = spinet.run(program=PING, traffic="udp:size=1024,count=300,rate=400G", set=slow).summary
    assert full(summary) == ("nic.outbound.wire_cycles", "passes")
    assert summary["counters"]["nic.outbound.wire_cycles"] == 300 * 64


def test_the_line_into_a_card_with_a_match_engine_is_full() -> None:
    run = spinet.run(nic="fpspin", program="sdk/examples/empty.c", traffic="udp:size=1500,count=200,rate=400G")
    assert full(run.summary) == ("nic.inbound.line_cycles", "passes")


def test_the_line_out_of_a_wired_card_is_full() -> None:
    summary = spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=200", limit="60 ms").summary
    name, does = full(summary)
    assert name.endswith("line_cycles") and does == "passes"


def test_a_link_of_a_network_is_full(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two nodes send 10 Gbit/s each to a third one, whose link carries 10 Gbit/s."""
    net = spinet.Network(topology="star", nodes=3, link={"rate": "10G", "delay": "100 ns"})
    for node in (0, 1, 2):
        net[node].update(nic="plain")
    for node in (0, 1):
        net[node].host.send = {"source": "udp:size=1000,count=100,rate=10G", "to": "n2"}
    net.save(tmp_path / "net.toml")
    summary = spinet.run(tmp_path / "net.toml").summary
    name, does = full(summary)
    assert name.endswith(" > n2") and does == "passes"
    buffers = [row for row in summary["resources"] if row["name"].endswith("buffer_full_ps")]
    assert len(buffers) == 1 and 0 < buffers[0]["utilisation"] < 1 and buffers[0]["does"] == "holds"
    assert cli.main(["run", str(tmp_path / "net.toml")]) == 0
    assert "Bottleneck: the line from " in capfd.readouterr().out


def test_the_task_fifo_of_a_cluster_is_full() -> None:
    # All tasks are of one message, so they go to its cluster while that takes them. A packet comes each 8 cycles.
    # The cluster's only HPU needs 11 for a task, and runs the handler for 8 of them.
    summary = spinet.run(
        program="sdk/examples/empty.c",
        traffic="udp:size=64,count=4000,rate=125Mpps",
        message="by 5-tuple",
        match="udp",
        set={"cluster.n_cores": 1},
    ).summary
    assert full(summary) == ("nic.cluster[0].task_fifo_cycles", "holds")


def test_commands_in_flight_are_full_if_there_may_be_one() -> None:
    one = {"program": PING, "traffic": "udp:size=512,count=1000,rate=400G"}
    summary = spinet.run(**one, set={"commands.in_flight_per_unit": 1}).summary
    assert full(summary) == ("nic.commands.nic_send_in_flight", "holds")
    # One place: the 1000 commands use it one after the other.
    held = summary["counters"]["nic.commands.nic_send_in_flight"]
    assert summary["counters"]["nic.commands.nic_send_commands"] == 1000 and held <= summary["time"]["cycles"]


def test_the_line_into_a_wired_card_is_full() -> None:
    traffic = "udp:size=1514,payload=numbered,count=400,rate=max"
    summary = spinet.run(nic="tigon2", traffic=traffic, limit="60 ms").summary
    assert full(summary) == ("network_in.line_cycles", "passes")
    # 12.304 us a frame at 1 Gbit/s, with FCS, preamble and gap; the counter has cycles of 8 ns.
    assert summary["counters"]["network_in.line_cycles"] == 400 * (1514 + 24)


def test_receive_buffers_of_a_wired_card_are_full_if_the_host_gives_few_buffers() -> None:
    slow = {"host.interrupt_latency_ns": 1_000_000, "host.receive.standard_buffers": 16}
    traffic = "udp:size=1514,payload=numbered,rate=0.8G"
    summary = spinet.run(nic="tigon2", traffic=traffic, limit="60 ms", set=slow).summary
    assert full(summary) == ("mac_receive.buffered_cycles", "holds")
    assert summary["counters"]["mac_receive.dropped.buffer_full"] > 0


def test_the_buffer_of_a_switch_is_full(tmp_path: Path) -> None:
    """Frames wait 100 us in a switch with room for 20 frames, and come at half of the rate of the line."""
    switch = {"latency": "100 us", "buffer_bytes": 20_000}
    net = spinet.Network(topology="star", nodes=2, link={"rate": "10G", "delay": "100 ns"}, switch=switch)
    for node in (0, 1):
        net[node].update(nic="plain")
    net[0].host.send = {"source": "udp:size=1000,count=1000,rate=5G", "to": "n1"}
    net.save(tmp_path / "net.toml")
    assert full(spinet.run(tmp_path / "net.toml").summary) == ("sw0.buffer_full_ps", "holds")


def test_the_packet_room_of_l1_is_full(tmp_path: Path) -> None:
    # Four packets have room, for eight HPUs.
    (tmp_path / "slow.c").write_text(SLOW)
    few = {"n_clusters": 1, "cluster.packet_buffer_bytes": 4 * 1536}
    summary = spinet.run(program=tmp_path / "slow.c", traffic="udp:size=1500,count=100,rate=400G", set=few).summary
    assert full(summary) == ("nic.cluster[0].l1_packet_byte_cycles", "holds")


WORK: dict[str, Any] = {"nic": "panic", "chains": "all: work"}


def test_the_lines_of_panic_are_full() -> None:
    summary = spinet.run(nic="panic", chains="all:", traffic="udp:size=1500,count=400,rate=200G").summary
    assert full(summary) == ("network[0].ingress.line_cycles", "passes")
    # 29.41 cycles of 4 ns at 102 Gbit/s for each packet, and on the way in one for its descriptor.
    assert summary["counters"]["network[0].ingress.line_cycles"] == 12_164
    summary = spinet.run(nic="panic", chains="all:", send="0=udp:size=1500,count=400,rate=200G").summary
    assert full(summary) == ("network[0].egress.line_cycles", "passes")
    assert summary["counters"]["network[0].egress.line_cycles"] == 11_764


def test_the_buffer_behind_the_rmt_pipeline_is_full() -> None:
    # Packets of 25 flits, with the descriptor, wait 4 us for it.
    slow = {"ingress.rmt_cycles": 1000, "ingress.buffer_flits": 100, "ingress.when_full": "drop"}
    summary = spinet.run(nic="panic", chains="all:", traffic="udp:size=1500,count=1000,rate=50G", set=slow).summary
    name = "network[0].ingress.buffered_flit_cycles"
    assert full(summary) == (name, "holds")
    # Alone, the 25 flits of a packet leave one a cycle.
    # The first flit is there for two cycles: the one in which the packet came, and the next one.
    summary = spinet.run(nic="panic", chains="all:", traffic="udp:size=1500,count=1").summary
    assert summary["counters"][name] == sum(range(2, 27))


def test_a_buffer_that_stalls_the_line_is_full_and_no_more() -> None:
    # The rest of a packet that finds less room than it needs waits on the line.
    slow = {"ingress.rmt_cycles": 1000, "ingress.buffer_flits": 100}
    summary = spinet.run(nic="panic", chains="all:", traffic="udp:size=1500,count=1000,rate=50G", set=slow).summary
    assert full(summary) == ("network[0].ingress.buffered_flit_cycles", "holds")


def test_the_buffer_for_packets_to_the_host_is_full() -> None:
    # Each beat of 64 bytes takes ten cycles on its way to host memory; this model of PCIe counts no busy cycles.
    slow = {"dma.pcie.write_gap_cycles": 9}
    summary = spinet.run(
        nic="panic", chains="all: => host", traffic="udp:size=1500,count=400,rate=50G", set=slow
    ).summary
    assert full(summary) == ("dma.buffered_flit_cycles", "holds")


def test_the_buffer_for_packets_from_the_host_is_full() -> None:
    # A read takes 8 us, in which 256 flits are requested.
    slow = {"dma.pcie.latency_cycles": 1000}
    summary = spinet.run(nic="panic", chains="all:", send="0=udp:size=1500,count=2000,rate=100G", set=slow).summary
    assert full(summary) == ("dma.transmit.buffered_flit_cycles", "holds")


def test_the_fifo_from_the_pifos_to_a_port_is_full() -> None:
    # A packet's bytes leave 1000 cycles after its descriptor, and seven descriptors are on their way meanwhile.
    summary = spinet.run(
        nic="panic-rtl",
        chains="all: work",
        services="work: delay, cycles=1, units=3, credits=64",
        traffic="udp:size=64,count=400,rate=10G",
        set={"scheduler.ports": 1, "scheduler.buffer.read_cycles": 1000},
    ).summary
    assert full(summary) == ("scheduler.leaving_packet_cycles[0]", "holds")


def test_the_fifo_behind_a_pifo_is_full() -> None:
    # Packets leave the PIFO before they have a credit. The only unit takes one packet after the other, and most of the
    # time they are on their way to it. It is the third service, after those of the preset.
    summary = spinet.run(
        nic="panic-rtl",
        chains="all: work",
        services="work: delay, cycles=1, units=1, credits=1",
        traffic="udp:size=64,count=200,rate=100G",
    ).summary
    assert full(summary) == ("scheduler.crossing_packet_cycles[2]", "holds")


def test_the_packet_buffer_of_panic_is_full() -> None:
    # The only unit takes a packet after the other, and most of the time they are on their way to it.
    summary = spinet.run(
        **WORK,
        services="work: delay, cycles=10, units=1, credits=1",
        traffic="udp:size=64,count=2000,rate=100G",
        set={"scheduler.buffer.cells": 8, "scheduler.dropping.free_cells": 0},
    ).summary
    assert full(summary) == ("scheduler.buffered_packet_cycles", "holds")


# The engine begins 1000 cycles after it reads a descriptor, and then needs one cycle for the packet.
LATE = {
    "name": "work",
    "engine": {
        "kind": "delay",
        "service": {"kind": "fixed", "cycles": 1},
        "gap_cycles": 1,
        "start_cycles": 1000,
    },
    "units": 1,
    "credits": 1,
}


def test_a_unit_of_panic_has_all_packets_that_it_takes() -> None:
    summary = spinet.run(**WORK, services=[LATE], traffic="udp:size=64,count=40,rate=10G").summary
    assert full(summary) == ("work[0].held_packet_cycles", "holds")


def test_a_pifo_of_panic_is_full() -> None:
    # Without pushes from unit to unit, each packet takes the PIFO block twice, for two cycles each.
    # The line brings one packet each 2.3 cycles.
    summary = spinet.run(
        nic="panic",
        chains="all: a -> b",
        services=[f"{name}: delay, cycles=1, units=3, credits=8" for name in "ab"],
        traffic="udp:size=64,count=2000,rate=100G",
        set={"scheduler.chain_push": False},
    ).summary
    assert full(summary) == ("scheduler.pifo_cycles[0]", "passes")
    assert summary["counters"]["scheduler.pifo_cycles[0]"] == 2 * 2 * 2000


def test_the_buffer_of_a_card_that_is_a_pipeline_is_full() -> None:
    one = {"nic": "pipeline", "chains": "all: work", "services": [LATE]}
    summary = spinet.run(**one, traffic="udp:size=1024,rate=50G", limit="100 us").summary
    assert full(summary) == ("queue.buffered_flit_cycles", "holds")


def test_hpus_busy_and_asleep_are_no_more_than_all() -> None:
    for rate in ("1G", "100G", "400G"):
        hpus = spinet.run(program=PING, traffic=f"udp:size=64,count=50,rate={rate}").summary["hpus"]
        assert hpus["busy_percent"] > 0 and hpus["asleep_percent"] >= 0
        assert hpus["busy_percent"] + hpus["asleep_percent"] <= 100
