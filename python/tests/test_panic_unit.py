# SPDX-License-Identifier: Apache-2.0
"""Programs in a core-based unit of a PANIC NIC: their bytes, their rates, and their restrictions."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from spinet import toolchain, unit
from spinet.toolchain import MissingHandlers, UnsupportedByTarget

import frames

EXAMPLES = toolchain.sdk_dir() / "examples"
MTU = 1500


def build(name: str, **options: object) -> Path:
    return toolchain.build([EXAMPLES / f"{name}.c"], target="panic", **options).elf  # type: ignore[arg-type]


def udp(number: int, size: int = MTU, *, protocol: int = frames.UDP) -> bytes:
    """Each of 32 flows has its own host and port."""
    header = 42 if protocol == frames.UDP else 54
    flow = number % 32
    data = bytearray(frames.build(ip=4, protocol=protocol, ports=(1000 + flow, 53), payload=bytes(size - header)))
    data[26:30] = bytes([10, 0, 0, flow])
    return frames.with_checksums(bytes(data))


def run(elf: Path, packets: list[bytes]) -> unit.Report:
    """With hashes such as the RMT pipeline would make: one for each flow."""
    given = [
        unit.Packet(data=data, flow=number % 32, hash=number % 32 * 37, network=14, transport=34)
        for number, data in enumerate(packets)
    ]
    report = unit.run(elf, given)
    assert report.is_done
    assert [answer.packet for answer in report.answers] == list(range(len(packets)))
    return report


def translated(data: bytes, port: int) -> bytes:
    """By the rule of nat.c."""
    out = bytearray(data)
    out[26:30] = bytes([192, 0, 2, 1])
    out[34:36] = struct.pack("!H", port)
    return frames.with_checksums(bytes(out))


# Source: PANIC, 7.4 and Figure 10; Gbit/s, and shares where the text has some.
@pytest.mark.parametrize(
    ("name", "defines", "gbps", "shares"),
    [
        ("no_touch", {}, 61.4, {"network_io": 1.0}),
        ("nat", {"CHECKSUMS": 0}, 21.3, {"network_io": 0.27, "flush": 0.20, "compute": 0.50}),
        ("swap", {}, 20.2, {"network_io": 0.27, "flush": 0.20, "compute": 0.50}),
        ("memcpy", {}, 1.2, {"compute": 0.97}),
    ],
)
def test_rates_are_those_of_the_paper(
    name: str, defines: dict[str, int], gbps: float, shares: dict[str, float]
) -> None:
    report = run(build(f"panic/{name}", defines=defines), [udp(i) for i in range(60 if name == "memcpy" else 200)])
    assert report.gbps == pytest.approx(gbps, rel=0.1)
    found = report.shares()
    assert {part: found[part] for part in shares} == pytest.approx(shares, abs=0.1)
    assert report.troubles == ()


def test_no_touch_and_memcpy_send_what_came() -> None:
    packets = [udp(i, size) for i, size in enumerate([60, 61, 62, 63, 64, 65, 127, 128, 1400, 1499, 1500, 1514])]
    for name in ("no_touch", "memcpy"):
        assert [answer.data for answer in run(build(f"panic/{name}"), packets).answers] == packets


def test_swap_turns_addresses_round() -> None:
    packets = [udp(i, 60 + 97 * i) for i in range(12)]
    for packet, answer in zip(packets, run(build("panic/swap"), packets).answers, strict=True):
        expected = bytearray(frames.returned(packet))
        expected[34:38] = packet[34:38]  # ports stay
        assert answer.data == frames.with_checksums(bytes(expected))


@pytest.mark.parametrize("protocol", [frames.UDP, frames.TCP])
def test_nat_translates_each_flow_and_keeps_checksums_right(protocol: int) -> None:
    packets = [udp(i, 80 + i, protocol=protocol) for i in range(100)]
    answers = run(build("panic/nat"), packets).answers
    for number, (packet, answer) in enumerate(zip(packets, answers, strict=True)):
        assert answer.data == translated(packet, 40000 + number % 32 * 37 % 128)
        assert frames.is_valid(answer.data)


def test_nat_leaves_others_alone() -> None:
    ping = frames.with_checksums(bytes(udp(0)[:23]) + bytes([frames.ICMP]) + bytes(udp(0)[24:]))
    tcp6 = frames.build(ip=6, protocol=frames.TCP, ports=(1, 2), payload=b"x" * 30)
    no_checksum = udp(1)[:40] + b"\0\0" + udp(1)[42:]
    answers = run(build("panic/nat"), [ping, no_checksum, tcp6]).answers
    assert answers[0].data == ping
    assert answers[1].data[40:42] == b"\0\0"
    assert answers[1].data[26:30] == bytes([192, 0, 2, 1])
    assert answers[2].data == tcp6


def test_handlers_of_pspin_run_in_a_unit() -> None:
    packets = [udp(i, 100 + i) for i in range(40)]
    answers = run(build("udp_ping_pong"), packets).answers
    assert [answer.data for answer in answers] == [frames.returned(packet) for packet in packets]


def test_pings_are_answered_and_all_else_is_dropped() -> None:
    captured = [packet for packet in frames.of(Path("captures/ping.pcap")) if len(packet) >= 42]
    answers = run(build("icmp_echo"), captured).answers
    requests = {number for number, packet in enumerate(captured) if packet[12:14] == b"\x08\0" and packet[34] == 8}
    assert requests
    for number in requests:
        expected = bytearray(frames.returned(captured[number]))
        expected[34] = 0
        assert answers[number].data == frames.with_checksums(bytes(expected))


def test_a_filter_passes_and_redirects() -> None:
    packets = [udp(0), udp(1)[:36] + struct.pack("!H", 99) + udp(1)[38:]]
    redirected = packets[0][:30] + bytes([10, 0, 0, 3]) + packets[0][34:36] + struct.pack("!H", 5353) + packets[0][38:]
    answers = run(build("filter"), packets).answers
    assert answers[0].data == frames.with_checksums(redirected)  # 10.0.0.2, port 53, has a rule
    assert answers[1].data == packets[1]  # there is none: to the host


def test_what_no_handler_sends_is_dropped() -> None:
    built = toolchain.build([EXAMPLES / "count.c"], target="panic")
    assert "count_th is left out" in built.messages
    report = run(built.elf, [udp(i) for i in range(100)])
    assert {answer.dropped for answer in report.answers} == {"program"}
    assert report.troubles == ()


HOSTILE = {
    "*(volatile int *)0 = 1;": "store outside of memory (0x0)",
    "((void (*)(void))2)();": "jump to an address that is not a multiple of 4 (0x2)",
    "__builtin_trap();": "not an RV32I instruction",
    "for (;;) {}": "neither answers a packet nor waits for one",
    "panic_send((void *)0x1C000000, 64);": "output doorbell for 64 bytes at 0x1c000000, "
    "which is not a packet in memory",
    "panic_send(packet.data, 4000);": "output doorbell for 4000 bytes",
    "panic_chain(9);": "chain 0x9 names a service that does not exist",
    "int deep = *(volatile int *)(packet.data + 1);": "misaligned load",
}


@pytest.mark.parametrize("code", HOSTILE)
def test_a_program_that_misbehaves_loses_its_packet_and_goes_on(tmp_path: Path, code: str) -> None:
    source = tmp_path / "hostile.c"
    source.write_text(
        "#include <panic.h>\nvoid panic_main(void) { for (uint32_t n = 0;; n++) { panic_packet_t packet = panic_take();"
        f" if (packet.size == 61) {{ {code} }} panic_flush(); panic_send(packet.data, packet.size); }} }}\n"
    )
    elf = toolchain.build([source], target="panic").elf
    packets = [udp(i, size) for i, size in enumerate([60, 61, 62, 61, 63])]
    report = run(elf, packets)
    assert [answer.dropped is None for answer in report.answers] == [True, False, True, False, True]
    assert [answer.data for answer in report.answers][2] == packets[2]
    assert any(HOSTILE[code] in trouble and "packet 1 dropped" in trouble for trouble in report.troubles)
    assert all("(panic_main" in trouble for trouble in report.troubles if "jump" not in trouble)


REFUSED = {
    "spin_rdma_put(1, args->task->pkt_mem, 8, &sent)": "a unit cannot put by RDMA",
    "spin_write_to_host(0, 1, &sent)": "a unit cannot write single words to host memory",
    "spin_dma_from_host(0, 0, 8, 0, &sent)": "a unit cannot read host memory",
    'printf("%d\\n", args->task->pkt_mem_size)': "it calls printf, and a unit's core has no console to print to",
    'puts("a packet"); putchar(10)': "it calls puts, and a unit's core has no console to print to",
}


@pytest.mark.parametrize("call", REFUSED)
def test_what_a_unit_cannot_do_does_not_link(tmp_path: Path, call: str) -> None:
    source = tmp_path / "wants.c"
    source.write_text(
        "#include <handler.h>\n#include <stdio.h>\n"
        f"__handler__ void wants_ph(handler_args_t *args) {{ spin_cmd_t sent; (void)sent; {call}; }}\n"
    )
    with pytest.raises(
        UnsupportedByTarget, match=f"^wants.c does not run on a PANIC unit: {REFUSED[call]}$"
    ) as refused:
        toolchain.build([source], target="panic")
    assert "#ifndef SPIN_PANIC" in refused.value.hint


def test_a_program_has_a_beginning(tmp_path: Path) -> None:
    source = tmp_path / "nothing.c"
    source.write_text("int nothing(void) { return 0; }\n")
    with pytest.raises(MissingHandlers, match="neither panic_main nor handlers"):
        toolchain.build([source], target="panic")
    source.write_text(
        "#include <handler.h>\n"
        "__handler__ void a_ph(handler_args_t *args) {}\n"
        "__handler__ void b_hh(handler_args_t *args) {}\n"
    )
    with pytest.raises(MissingHandlers, match="several sets of handlers: a, b"):
        toolchain.build([source], target="panic")
    assert toolchain.build([source], target="panic", handler="b").elf.is_file()
    with pytest.raises(MissingHandlers, match="no c_hh and no c_ph"):
        toolchain.build([source], target="panic", handler="c")
