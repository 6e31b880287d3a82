# SPDX-License-Identifier: Apache-2.0
"""FPsPIN: rule sets, packet slots, host DMA, and its applications on a simulated host."""

from __future__ import annotations

import itertools
import struct
from pathlib import Path
from typing import Any

import pytest
import spinet
from experiments.fpspin import datatypes, host
from spinet._frames import checksum

ROOT = Path(__file__).resolve().parents[2]

ECHO = str(ROOT / "sdk" / "examples" / "udp_ping_pong.c")
UDP_RULE = {"word": 5, "mask": 0xFF, "low": 17}


def run(
    *contexts: dict[str, Any], nic: Any = "fpspin", traffic: Any = "udp:size=64,count=4,rate=1Mpps"
) -> spinet.Result:
    """Run the echo handler with these contexts."""
    named = [{"name": f"c{i}", "handler": "udp_ping_pong", **context} for i, context in enumerate(contexts)]
    return spinet.run(spinet.Experiment(program=ECHO, nic=nic, traffic=traffic, context=named))


def port(number: int) -> dict[str, Any]:
    """A rule set for UDP packets to this port."""
    return {"rules": [host.IPV4, UDP_RULE, {"word": 9, "mask": 0xFFFF0000, "low": number << 16}]}


def taken(result: spinet.Result) -> list[int]:
    """Number of packets that each context took."""
    return [context["packets"] for context in result.summary["contexts"]]


def test_the_first_set_that_holds_takes_a_packet_and_the_rest_goes_the_ordinary_way() -> None:
    packets = [host.udp(bytes(20), port=number) for number in (7, 9, 9999, 7)] + [host.ping(16)]
    result = run({"rule_set": port(7)}, {"rule_set": {"rules": [UDP_RULE]}}, traffic=packets)
    assert taken(result) == [2, 2]
    assert result.summary["packets"]["ordinary"] == 1


def test_rules_are_combined_by_or() -> None:
    packets = [host.udp(bytes(20), port=7), host.ping(16), host.ipv4(6, bytes(40))]
    either = {"combine": "or", "rules": [UDP_RULE, {"word": 5, "mask": 0xFF, "low": 1}]}
    assert taken(run({"rule_set": either}, traffic=packets)) == [2]


def test_a_context_without_rules_takes_every_packet() -> None:
    assert taken(run({}, traffic=[host.ping(16), host.udp(bytes(20), port=7)])) == [2]


def test_a_message_ends_with_the_rule_for_its_end() -> None:
    """Packets of a message have the same queue, which is the lowest 4 bits of the message number's first byte."""
    numbers = [(1 << 24, 0), (2 << 24, 0), (0x11 << 24 | 99, host.END), (2 << 24, host.END), (1 << 24, host.END)]
    packets = [host.slmp(flags, number, 0, bytes(8)) for number, flags in numbers]
    columns = run({"rule_set": host.SLMP}, traffic=packets).columns
    messages = dict(zip(columns["packet"], columns["message"], strict=True))
    assert [int(messages[packet]) for packet in range(5)] == [0, 1, 0, 1, 2]


@pytest.mark.parametrize(
    ("contexts", "complaint"),
    [
        ([{"rule_set": {"rules": [UDP_RULE] * 4}}], "the set has 4 rules, must have at most 3 besides `end`"),
        ([{"rule_set": {"rules": [{"word": 17, "low": 0}]}}], "looks at word 17, must be 0 to 16"),
        ([{"rule_set": {"rules": [{"word": 1, "low": 2, "high": 1}]}}], "has low 0x2 above high 0x1"),
        ([{"rule_set": {"end": {"word": 1, "mask": 0, "low": 1}}}], "rule `end` can never hold"),
        ([{"match": "udp"}], "has rule sets, no expressions"),
        ([{"message": "by flow count 2"}], "has rule sets, no expressions"),
        ([{"match": "udp", "rule_set": port(7)}], "leave `match` and `message` out"),
        ([{"rule_set": port(7 + i)} for i in range(5)], "has 4 rule sets"),
        ([{"rule_set": {"rule": []}}], "rule"),
    ],
)
def test_what_the_engine_cannot_have_is_reported(contexts: list[dict[str, Any]], complaint: str) -> None:
    with pytest.raises(spinet.InputError, match=complaint.replace("`", "`")):
        run(*contexts)


def test_other_cards_have_no_rule_sets() -> None:
    with pytest.raises(spinet.InputError, match="no match engine with rule sets"):
        run({"rule_set": port(7)}, nic="pspin")


def test_a_driver_installs_rule_sets_within_the_same_limits() -> None:
    machine = spinet.Machine(nic="fpspin")
    tenant = machine.tenant("a")
    context = tenant.context(program=tenant.load(ECHO))
    for number in range(4):
        context.install(rule_set=port(7 + number), priority=number)
    with pytest.raises(spinet.InputError, match="4 rule sets"):
        context.install(rule_set=port(99))
    with pytest.raises(spinet.InputError, match="no expressions"):
        context.install(match="udp")
    machine.send([host.udp(bytes(20), port=number) for number in (7, 10, 11)])
    machine.finish()
    assert len(machine.take_sent()) == 2


def test_packets_without_a_slot_are_dropped_and_counted() -> None:
    """With two large slots, most packets of a burst find no slot. Small packets have their own slots."""
    nic = {"preset": "fpspin", "set": {"ingress.large_slots": 2}}
    result = run({}, nic=nic, traffic="udp:size=1500,count=60,rate=100G")
    packets = result.summary["packets"]
    dropped = packets["dropped_by_reason"]["packet_memory_full"]
    assert dropped > 0 and packets["in"] == 60 == packets["done"] + dropped
    # Disable the RTL's mistake that keeps packets in reused queues, because each of these packets is a message.
    nic["set"] = {"ingress.large_slots": 2, "rtl_mistakes.reused_queues_keep_packets": False}
    assert run({}, nic=nic, traffic="udp:size=128,count=60,rate=100G").summary["packets"]["done"] == 60


def test_a_packet_beyond_a_large_slot_is_dropped() -> None:
    result = run({}, traffic="udp:size=1537,count=3,rate=1Mpps")
    assert result.summary["packets"]["dropped_by_reason"]["too_large"] == 3


def test_the_match_engine_limits_the_rate() -> None:
    """A packet of 1,472 bytes takes 23 + 5 cycles of 25 ns."""
    result = run({}, traffic="udp:size=1472,count=20,rate=100G")
    stored = sorted(int(time) for time in result.columns["stored_ps"])
    gaps = {after - before for before, after in itertools.pairwise(stored[5:])}
    assert gaps == {(23 + 5) * 25_000}


@pytest.mark.parametrize("defines", [{}, {"HALVES": 1}, {"DO_HOST": 1}])
@pytest.mark.parametrize("size", [0, 17, 1416])
def test_a_ping_is_answered(size: int, defines: dict[str, int]) -> None:
    costs = host.Costs()
    computer = host.Computer(
        program="icmp_echo.c", rule_set=host.ECHO_REQUEST, defines=defines, answer=host.answer_echo(costs)
    )
    asked = host.ping(size)
    reply, _ = computer.ask(asked)
    assert reply[:12] == asked[6:12] + asked[:6] and reply[26:34] == asked[30:34] + asked[26:30]
    assert reply[34] == 0 and checksum(reply[34:]) == 0 and reply[38:] == asked[38:]
    assert len(computer.calls) == ("DO_HOST" in defines)


@pytest.mark.parametrize("defines", [{}, {"HALVES": 1}])
def test_the_length_of_a_ping_is_not_trusted(defines: dict[str, int]) -> None:
    computer = host.Computer(program="icmp_echo.c", rule_set=host.ECHO_REQUEST, defines=defines)
    packet = host.ping(18)
    for length in (1000, 0xFFFF):  # the reply has no bytes behind the packet
        long = packet[:16] + struct.pack(">H", length) + packet[18:]
        assert len(computer.ask(long)[0]) == len(packet)
    for length in (0, 27):
        computer.machine.send([packet[:16] + struct.pack(">H", length) + packet[18:]])
        computer.advance(computer.now + 100_000)
        assert computer.machine.is_idle and not computer.machine.take_sent()


def test_only_echo_requests_visit_the_handlers() -> None:
    computer = host.Computer(program="icmp_echo.c", rule_set=host.ECHO_REQUEST)
    other = bytearray(host.ping(16))
    other[34] = 13  # a timestamp request
    computer.machine.send([bytes(other)])
    computer.machine.finish()
    assert not computer.machine.take_sent()


@pytest.mark.parametrize(
    ("size", "window", "threads"), [(1, 1, 1), (1408, 4, 1), (1409, 4, 1), (9000, 0, 1), (30_000, 4, 2), (30_000, 1, 1)]
)
def test_a_file_arrives_over_slmp(size: int, window: int, threads: int) -> None:
    data = bytes((11 * i + i // 256) & 0xFF for i in range(size))
    sent = host.transfer(data, window=window, threads=threads)
    assert sent.complete and sent.received == data
    assert sent.n_packets == max(-(-size // 1408), 1)
    middle = sent.n_packets - 2 if window and sent.n_packets > 2 else 0
    assert sent.n_acknowledged == min(sent.n_packets, 2) + middle


@pytest.mark.parametrize("program", ["slmp_receive.c", "datatype.c"])
def test_lengths_and_places_of_slmp_packets_are_not_trusted(program: str) -> None:
    """The packet has 8 bytes of data, whatever UDP announces, and the host's buffer has 4,096 bytes."""
    for length, offset, written in [(26, 0, 8), (8, 0, 0), (0, 0, 0), (500, 0, 8), (26, 4096, 0), (26, 0xFFFF_FFF8, 0)]:
        computer = host.Computer(program=program, rule_set=host.SLMP, host_bytes=4096)
        computer.memory.write(struct.pack("<4I2I", 4096, 1, 4096, 0, 1, 4096), offset=256)  # of `datatype.c`
        computer.host.write(b"?" * 4096, offset=host.N_HPUS * host.PAGE)
        packet = host.slmp(host.SYN | host.END, 0, offset, bytes(8))
        computer.machine.send([packet[:38] + struct.pack(">H", length) + packet[40:]])
        computer.advance(computer.now + 200_000)
        assert computer.machine.is_idle
        assert computer.host.read(offset=host.N_HPUS * host.PAGE).count(0) == written


@pytest.mark.parametrize("program", ["slmp_receive.c", "datatype.c"])
def test_packets_that_end_within_the_header_of_slmp_are_ignored(program: str) -> None:
    """The places of their missing bytes have those of an earlier packet, which made them a whole packet."""
    computer = host.Computer(program=program, rule_set=host.SLMP, host_bytes=4096)
    computer.memory.write(struct.pack("<4I2I", 4096, 1, 4096, 0, 1, 4096), offset=256)  # of `datatype.c`
    packet = host.slmp(host.SYN | host.END, 0, 0, b"\1" * 8)
    computer.ask(packet)
    computer.advance(computer.now + 100_000)
    calls = len(computer.calls)
    computer.host.write(b"?" * 4096, offset=host.N_HPUS * host.PAGE)
    for size in range(44, 52):
        computer.machine.send([packet[:size]])
        computer.advance(computer.now + 100_000)
        assert computer.machine.is_idle and not computer.machine.take_sent(), size
    assert len(computer.calls) == calls == 1
    assert computer.host.read(offset=host.N_HPUS * host.PAGE, size=4096) == b"?" * 4096
    computer.ask(host.slmp(host.SYN, 0, 0, b"\1" * 8))  # the card still works


def test_offsets_whose_place_wraps_around_are_ignored() -> None:
    """Blocks of 8 bytes, 16 apart: the one of byte 2^31 would be at 2^32, and that of 2^32 - 8 at 2^33 - 16."""
    computer = host.Computer(program="datatype.c", rule_set=host.SLMP, host_bytes=4096)
    computer.memory.write(struct.pack("<4I2I", 8, 1, 4096, 0, 0, 16), offset=256)
    for offset in (1 << 31, (1 << 32) - 8, (1 << 32) - 1, 2048):
        computer.machine.send([host.slmp(host.SYN, 0, offset, b"\1" * 16)])
        computer.advance(computer.now + 100_000)
        assert computer.machine.is_idle and not computer.machine.take_sent(), offset
    assert not any(computer.host.read(offset=host.N_HPUS * host.PAGE, size=4096))
    computer.ask(host.slmp(host.SYN, 0, 2032, b"\1" * 16))
    assert computer.host.read(offset=host.N_HPUS * host.PAGE, size=4096).count(1) == 16


def with_options(packet: bytes) -> bytes:
    """The packet with 4 bytes of options behind its IPv4 header."""
    length = struct.pack(">H", len(packet) - 14 + 4)
    return packet[:14] + b"\x46" + packet[15:16] + length + packet[18:34] + bytes(4) + packet[34:]


def test_options_fragments_and_packets_without_all_headers_reach_no_handler() -> None:
    ping, udp = host.ping(18), host.udp(bytes(20), port=7)
    slmp = host.slmp(host.SYN | host.END, 0, 0, b"\1" * 8)
    for program, rule_set, packet in (
        ("icmp_echo.c", host.ECHO_REQUEST, ping), ("udp_echo.c", host.UDP, udp), ("slmp_receive.c", host.SLMP, slmp),
    ):  # fmt: skip
        computer = host.Computer(program=program, rule_set=rule_set, host_bytes=4096)
        fragment = packet[:20] + b"\0\1" + packet[22:]
        cut = [packet[:size] for size in range(24, 42)]
        for wrong in (with_options(packet), fragment, *cut):
            computer.machine.send([wrong])
            computer.advance(computer.now + 100_000)
            assert computer.machine.is_idle and not computer.machine.take_sent(), (program, len(wrong))
        computer.ask(packet)


@pytest.mark.parametrize("kind", ["complex", "simple"])
def test_parallel_messages_scatter_into_their_datatypes(kind: str) -> None:
    computer, _ = datatypes.receive(datatypes.TYPES[kind], parallel=2, elements=1)  # compares every byte
    packets = -(-datatypes.ELEMENT // datatypes.DATA)
    assert computer.raw(0)[1] == 2 * packets


def test_card_unpacks_while_the_host_computes() -> None:
    kind = datatypes.TYPES["simple"]
    _, alone = datatypes.receive(kind, parallel=2, elements=1)
    for share in (0.5, 2.0):
        multiply = share * alone
        computer, both = datatypes.receive(kind, parallel=2, elements=1, multiply=multiply)
        # The host learns of both messages at its first look after the multiplication, and then answers both.
        assert computer.calls and all(time >= int(computer.computes_until) for time, _, _ in computer.calls)
        longer = max(alone, multiply)
        # The answer costs `call`; the handlers see it and end some 100 cycles of 25 ns later, at a tick.
        assert longer <= both < longer + computer.costs.call + 2500 + 3 * host.TICK_NS


def test_host_reads_begin_at_multiples_of_a_beat(tmp_path: Path) -> None:
    source = tmp_path / "read.c"
    source.write_text(
        "#include <handler.h>\n"
        "__handler__ void read_ph(handler_args_t *args) {\n"
        "    uint64_t host = (uint64_t)args->task->host_mem_high << 32 | args->task->host_mem_low;\n"
        "    spin_cmd_t copy;\n"
        "    spin_dma_from_host(host + OFFSET, (uintptr_t)args->task->pkt_mem, 32, false, &copy);\n"
        "    spin_cmd_wait(copy);\n"
        "}\n"
    )
    for offset, faults in ((64, 0), (72, 1)):
        result = spinet.run(program=source, nic="fpspin", defines={"OFFSET": offset}, traffic="udp:size=64,count=1")
        assert result.summary["output"]["command_faults"] == faults


# Load, store and atomic addition: cycles from one to the next, measured on FPsPIN's RTL (f5feca1, Verilator).
ACCESSES = {"handler": (28, 30, 37), "packet": (25, 27, 28), "other": (22, 23, 24)}

COUNT_ACCESSES = """
#include <handler.h>
#include <spin_time.h>
#define TIMED(at, access) \\
    start = spin_now32(); \\
    __asm__ volatile(access access access access "" ::"r"(address) : "t1", "memory"); \\
    out[at] = spin_now32() - start;
__handler__ void count_ph(handler_args_t *args)
{
    uint32_t start, address = 0;
    uint32_t places[] = {(uint32_t)args->task->handler_mem + 512, (uint32_t)args->task->l2_pkt_mem, 0x10420000};
    volatile uint32_t *out = args->task->handler_mem;
    for (int warm = 0; warm < 2; warm++) {
        for (int place = 0; place < 3; place++, out += 3) {
            address = places[place];
            TIMED(0, "lw t1, 0(%0)\\n")
            TIMED(1, "sw zero, 0(%0)\\n")
            TIMED(2, "amoadd.w t1, zero, (%0)\\n")
        }
        out -= 9;
    }
    TIMED(9, "")
}
"""


def test_accesses_of_a_core_take_the_cycles_of_the_rtl(tmp_path: Path) -> None:
    source = tmp_path / "count.c"
    source.write_text(COUNT_ACCESSES)
    machine = spinet.Machine(nic="fpspin")
    tenant = machine.tenant("counting")
    memory = tenant.allocate(4096)
    tenant.context(program=tenant.load(source), memory=memory).install(rule_set=host.UDP)
    machine.send([host.udp(bytes(64), port=7)])  # the first packet goes to cluster 0
    machine.run(until="2 ms")
    *cycles, nothing = struct.unpack("<10I", memory.read(offset=0, size=40))
    # Fetching the next line of instructions may add a cycle.
    taken = [(each - nothing) // 4 for each in cycles]
    assert taken == [each for place in ACCESSES.values() for each in place]
