# SPDX-License-Identifier: Apache-2.0
"""`spinet.Handler`: one packet at a time, with its outcome."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import pytest
from spinet import Handler, InputError

import frames

HERE = Path(__file__).parent
EXAMPLES = HERE.parent.parent / "sdk" / "examples"

SOURCE = """
#include <handler.h>
#include <spin_net.h>
#include <spin_data.h>

uint32_t sizes[4];
static volatile uint32_t total;

static inline void poke(volatile uint32_t *word)
{
    *word = 1; // line 11
}

__handler__ void test_hh(handler_args_t *args)
{
    (void)args;
    amo_add((int32_t *)&sizes[3], 100);
}

__handler__ void test_ph(handler_args_t *args)
{
    static uint32_t seen;
    task_t *task = args->task;
    spin_pkt_t pkt = spin_pkt(task->pkt_mem, task->pkt_mem_size);
    sizes[seen++ & 1] = pkt.size;
    total += pkt.size;
    spin_cmd_t done;
    switch (pkt.size) {
    case 100: poke((volatile uint32_t *)0x123450); break; // line 29
    case 101: for (;;) { total++; }
    case 102: spin_send_packet(pkt.data, 0, &done); break;
    case 103:
        spin_send_packet(pkt.data, pkt.size, &done);
        spin_send_packet(pkt.data, 60, &done);
        break;
    case 104:
        spin_write_to_host(
            (uint64_t)task->host_mem_high << 32 | task->host_mem_low, 0x1122334455667788ull, &done);
        break;
    case 105: poke((volatile uint32_t *)((uint8_t *)pkt.data + pkt.size + 5463)); break;
    case 106: poke((volatile uint32_t *)((uint8_t *)task->handler_mem + task->handler_mem_size + 8192)); break;
    case 107: poke((volatile uint32_t *)((uint8_t *)task->handler_mem - 8)); break;
    }
}

__handler__ void test_th(handler_args_t *args)
{
    (void)args;
    sizes[2]++;
}
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("handler") / "test.c"
    path.write_text(SOURCE)
    return path


def udp(size: int, *, port: int = 53) -> bytes:
    return frames.build(ip=4, protocol=frames.UDP, ports=(1000, port), payload=bytes(size - 42))


def test_an_outcome_has_the_packets_that_the_handler_sent(source: Path) -> None:
    handler = Handler(source)
    packet = udp(103)
    out = handler.process(packet)
    assert (out.verdict, out.sent, out.faults, out.to_host) == ("sent", [packet, packet[:60]], (), [])
    assert [visit.stage for visit in out.visits] == ["header", "payload", "completion"]
    assert [visit.name for visit in out.visits] == ["test_hh", "test_ph", "test_th"]
    assert out.cycles == sum(visit.cycles for visit in out.visits) > out.instructions > 30


def test_writes_to_host_memory_are_listed(source: Path) -> None:
    out = Handler(source).process(udp(104))
    (write,) = out.host_writes
    assert (out.verdict, write.addr, write.data) == ("to_host", 1 << 60, struct.pack("<Q", 0x1122334455667788))


def test_memory_stays_from_packet_to_packet_until_reset(source: Path) -> None:
    handler = Handler(source)
    first, second = handler.process(udp(60)), handler.process(udp(70))
    assert second.array("sizes").tolist() == [60, 70, 2, 200]
    assert struct.unpack("<I", second.memory("total")) == (130,)
    assert handler.array("seen", count=1).tolist() == [2]
    with pytest.raises(InputError, match="had another packet or a reset after this outcome"):
        first.memory("total")
    handler.reset()
    assert handler.array("sizes").tolist() == [0, 0, 0, 0]
    with pytest.raises(InputError, match="had another packet or a reset"):
        second.memory("total")


def test_the_packets_of_one_call_are_one_message(source: Path) -> None:
    handler = Handler(source, message="by flow last")
    for _ in range(2):
        outs = handler.process_all([udp(60), udp(70), udp(60, port=54), udp(80)])
        stages = [[visit.stage for visit in out.visits] for out in outs]
        whole = ["header", "payload", "completion"]
        assert stages == [["header", "payload"], ["payload"], whole, ["payload", "completion"]]
    assert handler.array("sizes")[2:].tolist() == [4, 400]
    one = handler.process(udp(60))
    assert len(one.visits) == 3, "a call with one packet is a message"


def test_a_fault_has_its_source_line_and_the_inlined_function(source: Path) -> None:
    handler = Handler(source)
    out = handler.process(udp(100))
    (fault,) = out.faults
    assert (out.verdict, fault.text) == ("trapped", "store access fault, address 0x00123450")
    assert [(frame.function, frame.line) for frame in fault.frames] == [("test_ph", 29), ("poke", 11)]
    assert "test.c:29 > test.c:11" in repr(out)
    assert handler.process(udp(60)).verdict == "consumed", "the next packet runs"
    assert out.host_writes == [], "the card's own record of the error is not a write of the handler"


@pytest.mark.parametrize(
    ("size", "what"),
    [
        (105, "5,463 bytes past the end of the packet"),
        (106, "8,192 bytes past the end of the handler memory"),
        (107, "8 bytes before the handler memory"),
    ],
)
def test_an_access_outside_says_how_far(source: Path, size: int, what: str) -> None:
    out = Handler(source).process(udp(size))
    (fault,) = out.faults
    assert (out.verdict, fault.frames[-1].function) == ("trapped", "poke")
    assert fault.text.startswith("store access fault, address 0x") and fault.text.endswith(f"({what})")


def test_a_handler_that_does_not_end_is_stopped_by_the_watchdog(source: Path) -> None:
    out = Handler(source).process(udp(101))
    assert (out.verdict, out.faults[0].text) == ("trapped", "ran longer than its watchdog allows")
    assert out.faults[0].frames[0].line == 30


def test_without_a_watchdog_the_packet_stays_unfinished_until_reset(source: Path) -> None:
    handler = Handler(source, nic="pspin-rtl")
    out = handler.process(udp(101), within="50 us")
    assert (out.verdict, out.reason) == ("unfinished", "the card did not finish it within 50 us")
    assert out.faults[0].frames[0].line == 30 and "payload handler still runs" in out.faults[0].text
    with pytest.raises(InputError, match="has not finished the packet before"):
        handler.process(udp(60))
    handler.reset()
    assert handler.process(udp(60)).verdict == "consumed"


def test_a_refused_command_is_a_fault(source: Path) -> None:
    (fault,) = Handler(source).process(udp(102)).faults
    assert "to NIC outbound" in fault.text and fault.text.endswith("was refused: 0 bytes, must be 1 to 2,048")
    assert fault.place == "test_ph"


def test_a_packet_that_no_context_takes_says_why(source: Path) -> None:
    out = Handler(source, match="udp.dst_port == 7").process(udp(60))
    assert out.verdict == "ordinary" and out.visits == ()
    assert out.reason is not None and "`udp.dst_port == 7` (first seen: udp.dst_port is 53)" in out.reason


def test_packets_come_in_several_forms(source: Path) -> None:
    class Scapy:
        def __bytes__(self) -> bytes:
            return udp(103)

    handler = Handler(source)
    forms = (udp(103), bytearray(udp(103)), udp(103).hex(), udp(103).hex(":"), udp(103).hex(" ") + "\n", Scapy())
    sent = [handler.process(form).sent for form in forms]  # type: ignore[arg-type]
    assert all(one == [udp(103), udp(103)[:60]] for one in sent)
    for wrong, text in (
        ("0g", "not hexadecimal text"),
        (5, "packet is 5"),
        (None, "packet is None"),
        (b"", "has no bytes"),
    ):
        with pytest.raises(InputError, match=text):
            handler.process(wrong)  # type: ignore[arg-type]


def test_results_repeat_and_do_not_depend_on_what_was_looked_at(source: Path) -> None:
    packets = [udp(size) for size in (60, 103, 70, 104, 60)]
    one, other = Handler(source), Handler(source)
    first = one.process_all(packets)
    second = []
    for packet in packets:
        second.append(other.process(packet))
        other.array("sizes")
    assert first == second
    one.reset()
    assert one.process_all(packets) == first


def test_memory_by_address_and_wrong_names(source: Path) -> None:
    handler = Handler(source)
    out = handler.process(udp(60))
    (symbol,) = handler._variables("", handler._programs()[""])["sizes"]
    assert out.memory(symbol.address, 4) == struct.pack("<I", 60) == out.memory("sizes", 4)
    # In L1, the first cluster's copy of a packet is behind the stacks; the alias of L1 belongs to no cluster.
    assert len(handler.memory(0x1000_0000, 0x100)) == 0x100
    for wrong, text in (
        ("size", "no variable size"),
        (0x1B00_0000, "no memory of 4 bytes"),
        (0x1C3F_FFFE, "no memory of"),
    ):
        with pytest.raises(InputError, match=text):
            handler.memory(wrong, 4)
    with pytest.raises(InputError, match="an address needs a size"):
        handler.memory(0x1C00_0000)


def test_an_experiment_gives_the_card_and_the_context(tmp_path: Path, source: Path) -> None:
    file = tmp_path / "experiment.toml"
    file.write_text(
        f'program = "{source}"\ntraffic = "udp:count=5"\nlimit = "1 ns"\nfaults = "loss=1"\n'
        '[[context]]\nmatch = "udp.dst_port == 7"\n[[context]]\nmatch = "udp"\nhandler = "test"\n'
    )
    handler = Handler(experiment=file)
    assert handler.process(udp(103)).verdict == "sent", "neither its traffic nor its limit counts"
    assert Handler(experiment=file, nic="pspin-rtl").nic == "pspin-rtl"


def test_a_unit_of_panic_runs_the_same_handler() -> None:
    handler = Handler(EXAMPLES / "udp_ping_pong.c", nic="panic")
    packet = udp(64)
    out = handler.process(packet)
    assert (out.verdict, len(out.sent)) == ("network", 1)
    assert out.sent == Handler(EXAMPLES / "udp_ping_pong.c").process(packet).sent
    assert out.visits[0].core == "handler[0]" and 0 < out.instructions < out.cycles
    again = handler.process(packet)
    assert again.cycles < out.cycles, "the code is in the instruction cache"
    assert handler.process(packet) == again


def test_a_program_of_panic_keeps_its_memory() -> None:
    handler = Handler(EXAMPLES / "panic" / "nat.c", nic="panic")
    before = handler.array("table", "u1")
    handler.process(udp(64))
    table = handler.array("table", "u1")
    assert not before.any() and table.any()
    assert handler.array("table", "u1", core="handler[0]").tolist() == table.tolist()
    with pytest.raises(InputError, match=r"no memory of"):
        handler.memory("table", core="handler[1]")
    with pytest.raises(InputError, match=r"no variable"):
        handler.memory("table", core="other[0]")


def test_a_fault_on_panic_has_its_source_line(source: Path, tmp_path: Path) -> None:
    file = tmp_path / "test.c"
    file.write_text(re.sub(r"spin_write_to_host\([^;]*;", ";", SOURCE).replace("amo_add", "// amo_add"))
    out = Handler(file, nic="panic").process(udp(100))
    assert (out.verdict, out.reason) == ("dropped", "trap")
    assert [(frame.function, frame.line) for frame in out.faults[0].frames] == [("test_ph", 29), ("poke", 11)]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "needs a program or an experiment"),
        ({"program": "a.c", "experiment": "b.toml"}, "and not both"),
        ({"program": "a.c", "nic": "tigon2"}, "tigon2 runs firmware, which works on many packets at once"),
        ({"program": "a.c", "nic": "panic", "message": "each"}, "message is for cards that run handlers"),
        (
            {"experiment": {"chain": ["all: aes"], "traffic": "udp:count=1"}},
            "no service of the experiment runs a program",
        ),
        ({"program": "absent.c"}, r"absent.c: No such file"),
    ],
)
def test_bad_input_is_an_error(options: dict[str, str], text: str) -> None:
    from spinet import BuildError

    with pytest.raises((InputError, BuildError), match=text):
        Handler(**options)  # type: ignore[arg-type]
