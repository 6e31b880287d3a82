# SPDX-License-Identifier: Apache-2.0
"""Random parameters: either they are refused with the allowed values, or the card works.

A draw is a number; `SPINET_DRAWS=first:last` runs others than the few of the gate.
"""

from __future__ import annotations

import math
import os
import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import spinet

import frames

PING_PONG = Path("sdk/examples/ping_pong.c")
ALLOWED = ("must ", "fit", "needs", "room", "more than", "at most", "at least", "has place for", "for another card")


def draws(n: int) -> range:
    first, last = (int(number) for number in os.environ.get("SPINET_DRAWS", f"1:{n}").split(":"))
    return range(first, last + 1)


def evenly(draw: random.Random, least: int, most: int) -> int:
    """Log-uniform: 1 to 2 is as likely as 512 to 1024."""
    return round(math.exp(draw.uniform(math.log(least), math.log(most))))


def pspin(draw: random.Random) -> dict[str, object]:
    """A PsPIN of any shape, with a dozen other random parameters, most of them valid."""
    power = {
        "cluster.l1_bytes": (15, 20),
        "cluster.packet_buffer_bytes": (9, 18),
        "cluster.icache.bytes": (5, 16),
        "l2.handler_bytes": (16, 22),
        "l2.packet_bytes": (12, 22),
        "l2.program_bytes": (12, 20),
        "scheduler.n_mpqs": (0, 10),
    }
    number = {
        "cluster.packet_buffer_rings": (1, 17),
        "cluster.task_fifo": (1, 64),
        "cluster.dma_fifo": (1, 64),
        "cluster.dma_bursts": (1, 64),
        "cluster.core_commands": (1, 5),
        "cluster.inter_core_fifo": (1, 64),
        "cluster.icache.ways": (1, 16),
        "cluster.icache.miss_cycles": (1, 60),
        "l2.atomics_depth": (1, 64),
        "scheduler.shared_cells": (1, 65_536),
        "scheduler.max_tasks_per_cluster": (1, 40),
        "commands.in_flight_per_unit": (1, 1024),
        "commands.host_dma_fifo": (1, 1024),
        "commands.host_direct_fifo": (1, 1024),
        "outbound.command_slots": (1, 64),
        "outbound.queue_packets": (1, 64),
        "outbound.cycles_per_beat": (1, 20),
        "pcie.latency_cycles": (1, 2000),
        "pcie.buffer_beats": (16, 256),
        "pcie.link.latency_cycles": (1, 1000),
        "pcie.link.read_tags": (1, 1024),
        "iommu.entries": (1, 1024),
        "iommu.hit_cycles": (1, 20),
        "iommu.level_cycles": (1, 1000),
        "iommu.walks": (1, 16),
        "delivery.early_packets": (1, 64),
        "sharing.reserved_queues": (1, 1024),
        "sharing.packet_memory_percent": (1, 100),
    }
    one_of: dict[str, tuple[object, ...]] = {
        "clock_mhz": (88, 250, 1000, 3000),
        "cluster.l1_banks": (8, 16, 32, 64),
        "cluster.clock_gating": ("true", "false"),
        "cluster.cycle_register": ("true", "false"),
        "cluster.packet_buffer_offset": (0x1000, 0x4000, 0x4410, 0x8000),
        "cluster.scratchpad_offset": (0x14000, 0x14401, 0x14440, 0x20000),
        "isolation.regions": ("coarse", "exact"),
        "isolation.check_transfers": ("true", "false"),
        "isolation.report_errors": ("true", "false"),
        "isolation.host_clears_scratchpads": ("true", "false"),
        "isolation.watchdog_cycles": (0, 100_000, 4_294_967_295),
        "sharing.turns": ("true", "false"),
        "rtl_mistakes.stale_handles": ("true", "false"),
        "rtl_mistakes.atomics_return_one": ("true", "false"),
        "rtl_mistakes.rdma_headers_behind": ("true", "false"),
        "rtl_mistakes.unaligned_sends": ("true", "false"),
        "rtl_mistakes.unaligned_host_writes": ("true", "false"),
        "rtl_mistakes.tests_handle_0": ("true", "false"),
        "rtl_mistakes.transfer_count_wraps": ("true", "false"),
        "rtl_mistakes.l1_gaps_misbooked": ("true", "false"),
        "rtl_mistakes.stray_fetches_hang": ("true", "false"),
        "rtl_mistakes.refused_accesses_happen": ("true", "false"),
        "rtl_mistakes.peripherals_of_cluster_0_are_own": ("true", "false"),
        "rtl_mistakes.reused_queues_keep_packets": ("true", "false"),
        "rtl_mistakes.empty_commands_hang": ("true", "false"),
        "rtl_mistakes.unmapped_commands_succeed": ("true", "false"),
        "rtl_mistakes.unmapped_host_writes_vanish": ("true", "false"),
        "outbound.max_packet_bytes": (95, 512, 9000, 65_536),
        "pcie.model": ("ideal", "fixed_rate", "tlp"),
        "pcie.link.lanes": (1, 4, 16, 17),
        "pcie.link.max_payload_bytes": (64, 128, 4096),
        "iommu.enabled": ("true", "false"),
        "iommu.ways": (1, 2, 4, 3),
        "delivery.when_full": ("stall", "mark_ecn"),
        "delivery.timeout_cycles": (0, 3_000_000_000),
    }
    chosen: dict[str, object] = {"n_clusters": draw.randint(1, 16), "cluster.n_cores": draw.randint(1, 16)}
    for key in draw.sample([*power, *number, *one_of], draw.randint(0, 12)):
        if key in power:
            chosen[key] = 1 << draw.randint(*power[key])
        else:
            chosen[key] = evenly(draw, *number[key]) if key in number else draw.choice(one_of[key])
    return chosen


@pytest.mark.parametrize("seed", draws(40))
def test_a_pspin_that_nobody_tried(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    settings = [f"{key}={value}" for key, value in pspin(draw).items()]
    nic, bytes_each = draw.choice(["pspin", "pspin-rtl", "pspin-paper"]), draw.choice([64, 128, 300, 500])
    packets = [
        frames.build(ip=4, protocol=frames.UDP, ports=(1000 + n % 7, 7), payload=bytes([n]) * (bytes_each - 42))
        for n in range(200)
    ]
    traffic = frames.write(tmp_path / "traffic.pcap", packets, gap_ns=draw.choice([5, 50]))
    message = draw.choice(["each", "by udp.src_port count 10"])
    print(f"draw {seed}: {nic}, {settings}, {bytes_each} bytes, {message}")
    try:
        result = spinet.run(program=PING_PONG, traffic=traffic, nic=nic, set=settings, message=message, limit="20 ms")
    except spinet.InputError as error:
        assert any(word in str(error) for word in ALLOWED), error
        return
    assert result.complete, result.summary["ended"]["text"]
    counts = result.summary["packets"]
    assert counts["done"] + counts["dropped"] + counts["ordinary"] == counts["in"] == len(packets)
    assert counts["trapped"] == 0 and counts["dropped"] == sum(counts["dropped_by_reason"].values())
    answers = Counter(packet.data for packet in result.sent)
    expected = Counter(frames.returned(packet) for packet in packets)
    assert answers <= expected
    if counts["dropped"] + counts["ordinary"] + result.summary["output"]["command_faults"] == 0:
        assert answers == expected


def numbers(table: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, int]]:
    """Every number and switch of a card's file, by its path."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from numbers(value, f"{path}{key}.")
        elif isinstance(value, list):
            for entry in value:
                if isinstance(entry, dict) and "name" in entry:
                    yield from numbers(entry, f"{path}{key}.{entry['name']}.")
        elif isinstance(value, int):
            yield path + key, value


def another(draw: random.Random, value: int) -> str:
    if isinstance(value, bool):
        return str(not value).lower()
    near = (max(value - 1, 0), value + 1, value // 2, 2 * value, 10 * value)
    return str(draw.choice((*near, 0, 1, 2, 3, 65_536, 2**31, 2**32, 10**12)))


def drawn(draw: random.Random, nic: str) -> list[str]:
    table = tomllib.loads(Path(f"presets/{nic}.toml").read_text())
    table = table.get("instances", table)
    found = dict(numbers(table))
    return [f"{key}={another(draw, found[key])}" for key in draw.sample(sorted(found), draw.choice([1, 1, 2, 3]))]


@pytest.mark.parametrize("seed", draws(40))
def test_a_card_with_chains_that_nobody_tried(seed: int) -> None:
    draw = random.Random(seed)
    nic = draw.choice(["panic", "panic", "panic-asic", "pipeline", "manycore"])
    settings = drawn(draw, nic)
    if nic == "panic" and draw.random() < 0.3:
        rows, columns, concentration = (draw.randint(1, 4) for _ in range(3))
        topology = {"kind": "flattened-butterfly", "rows": rows, "columns": columns, "concentration": concentration}
        topology |= {"link_flits": draw.randint(1, 8), "link_cycles": draw.randint(1, 8)}
        settings += [f"interconnect.topology.{key}={value}" for key, value in topology.items()]
    chain = draw.choice(["a: sha -> aes", "a: sha", "a:"])
    traffic = f"udp:size={draw.choice([64, 256, 1024, 1500])},count=200,rate=20G"
    # The others have no services of their own.
    services = () if nic == "panic" else ("sha: delay, cycles=20", "aes: delay, cycles=9")
    print(f"draw {seed}: {nic}, {settings}, {chain}, {traffic}")
    try:
        result = spinet.run(nic=nic, services=services, chains=chain, traffic=traffic, set=settings, limit="10 ms")
    except spinet.InputError as error:
        assert any(word in str(error) for word in ALLOWED), error
        return
    counts = result.summary["packets"]
    assert counts["in"] == counts["out"] + counts["dropped"] + counts["unfinished"] == 200
    assert counts["unfinished"] == 0, result.summary["ended"]
    assert counts["dropped"] == sum(counts["dropped_by_reason"].values())


@pytest.mark.parametrize("seed", draws(8))
def test_a_card_of_modules_that_nobody_tried(seed: int) -> None:
    """On other hardware firmware may fail, but the run must end with a message."""
    draw = random.Random(seed)
    nic = draw.choice(["tigon2", "tengig"])
    settings = drawn(draw, nic)
    traffic = f"udp:size={draw.choice([60, 342, 1514])},payload=numbered,count=40,rate=50000pps"
    print(f"draw {seed}: {nic}, {settings}, {traffic}")
    try:
        result = spinet.run(nic=nic, traffic=traffic, set=settings, limit="5 ms")
    except spinet.InputError as error:
        assert any(word in str(error) for word in ALLOWED), error
        return
    assert result.summary["ended"]["reason"] and result.summary["ended"]["text"]
