# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments of this paper share."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from experiments.fpspin import host
from spinet._frames import checksum

PAPER = "Xu et al., FPsPIN, arXiv 2405.16378"
MEASURED = "spinet: preset fpspin, handlers compiled with zig cc for rv32imac."
SIZES = tuple(range(16, 1417, 100))  # payloads, as given to the authors' programs
QUICK = (16, 1416)
# The authors' program for UDP, dgping, adds its own 34 bytes to the size that it is given. Source: DEFAULT_PAYLOAD in
# deps/stping/src/common.h of udp_ping; with size 16 its log says 50 bytes.
DGPING_BYTES = 34

# L2 whose SRAM takes two cycles instead of one. Source: KireinaHoro/pspin, MEM_HND_LATENCY and MEM_PKT_LATENCY in
# pspin_cfg_pkg.sv: 2 in 82f7556 (6 August 2023), 1 in 6c43555 (8 August), 2 in 3149714 (1 September), 1 since 42533e8.
# The echoes of 2023 were added on 30 and 31 August. assumed: they were recorded with 2, as those of UDP take 2 cycles
# longer for each atomic addition than those of 2024: one for its read, one for its write.
L2_OF_2023 = {
    "l2.packet_load_cycles": 8,
    "l2.packet_store_cycles": 10,
    "l2.packet_amo_cycles": 11,
    "l2.handler_read_cycles": 6,
    "l2.handler_store_cycles": 13,
    "l2.amo_response_cycles": 15,
    "l2.amo_write_cycles": 11,
    "interconnect.dma_reply_cycles": 8,
    "interconnect.nhi_reply_cycles": 6,
}


def measured(name: str) -> list[dict[str, str]]:
    """Rows of a file of the authors' measurements."""
    with (Path(__file__).parent / "measured" / f"{name}.csv").open() as lines:
        return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def echoes(protocol: str, year: int, who: str) -> dict[int, dict[str, str]]:
    """The authors' measurements of echoes, by payload."""
    rows = measured("echo")
    wanted = {"protocol": protocol, "year": str(year), "who": who}
    rows = [row for row in rows if all(row[key] == value for key, value in wanted.items())]
    return {int(row["payload_bytes"]): row for row in rows}


def slope(sizes: list[int], values: list[float]) -> float:
    """Growth of a value with each byte: the slope of the least-squares line."""
    return float(np.polyfit(sizes, values, 1)[0])


def echo(
    protocol: str, size: int, *, on_host: bool = False, halves: bool = False, year: int = 2024
) -> dict[str, float]:
    """Cycles of warm handlers and of their visit to the host, and nanoseconds in the card, with the hardware of a year.

    First every HPU runs the handler, so that instruction caches are warm. Then 4 packets are sent, one at a time.
    """
    defines: dict[str, int] = {**({"DO_HOST": 1} if on_host else {}), **({"HALVES": 1} if halves else {})}
    costs = host.Costs()
    is_icmp = protocol == "icmp"
    computer = host.Computer(
        program=f"{protocol}_echo.c",
        rule_set=host.ECHO_REQUEST if is_icmp else host.UDP,
        defines=defines,
        settings=L2_OF_2023 if year == 2023 else {},
        answer=host.answer_echo(costs) if is_icmp else lambda data: (data, 0.0),
    )
    packet = host.ping(size) if is_icmp else host.udp(bytes(size + DGPING_BYTES), port=7)
    for _ in range(2 * host.N_HPUS):
        computer.ask(packet)
    before = [computer.raw(number) for number in range(3)]
    times = [computer.ask(packet) for _ in range(4)]
    spent = [after[0] - first[0] for first, after in zip(before, [computer.raw(n) for n in range(3)], strict=True)]
    reply = times[-1][0]
    if is_icmp:
        assert reply[34] == 0 and checksum(reply[34:]) == 0, "the reply has a correct checksum"
        assert reply[38:] == packet[38:] and reply[:6] == packet[6:12], "the reply has the data and the addresses"
    else:
        assert reply[42:] == packet[42:] and reply[34:36] == packet[36:38], "the reply has the data and the ports"
    visit = spent[1] / 4
    return {
        "handler": spent[0] / 4 - visit,
        "host": visit,
        "in the card": sum(time for _, time in times) / 4,
    }
