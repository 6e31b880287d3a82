# SPDX-License-Identifier: Apache-2.0
"""Handlers as written for PsPIN: every name of its headers, and code that its compiler accepted."""

from __future__ import annotations

import shutil
import struct
import subprocess
from pathlib import Path

import pytest
import spinet
from spinet import toolchain
from spinet._compiler import environment, find_compiler
from spinet._elf import read

import frames

NAMES = Path(__file__).resolve().parent / "handlers" / "names.c"
COMPILERS = ["zig", *(name for name in ("riscv64-unknown-elf-gcc", "clang-19") if shutil.which(name))]
HOST = 0x1000_0000_0000_0000
FOUND = {
    "macros": [3228, 1, 1, 4, 3 + 4 + 5 + 8 + 5 + 2 + 3, 32 + 8 + 1024 + 0xC10],
    "registers": [1, 1, 1, 1, 1, 1, 1, 0xA8 + 0x54 + 0x8C],
    "locks": [2, 2, 2 << 1 | 1, 0, 33 << 1 | 1],
    "atomics": [65, 10 + 15 * 100 + 14 * 10000, 12 + 12 * 100 + 20 * 10000 - 3, 0xFFFFFFFF, 0, 11],
    "copies": [1, 0x12, 0x23, 0x35, 0x33],
}


@pytest.mark.parametrize("cc", COMPILERS)
def test_every_name_of_pspins_headers_does_what_it_does_there(cc: str, tmp_path: Path) -> None:
    built = toolchain.build([NAMES], cc=cc, cache=tmp_path / "cache", out=tmp_path / "names.elf", opt="-O2")
    assert built.messages == ""
    result = spinet.run(program=tmp_path / "names.elf", traffic="udp:size=100,count=1", nic="pspin-rtl")
    assert result.complete and not result.summary["traps"]
    words = iter(struct.unpack("<32I", result.host_memory(HOST, 128)))
    assert {what: [next(words) for _ in values] for what, values in FOUND.items()} == FOUND


def write(folder: Path, text: str) -> Path:
    source = folder / "handler.c"
    source.write_text(f"#include <handler.h>\n{text}\n")
    return source


@pytest.mark.parametrize("cc", COMPILERS)
def test_functions_that_only_the_host_asks_for_stay(cc: str, tmp_path: Path) -> None:
    elf = toolchain.build([NAMES], cc=cc, cache=tmp_path / "cache").elf
    assert "asked_for_by_the_host" in {symbol.name for symbol in read(elf).symbols}


@pytest.mark.parametrize("cc", COMPILERS)
def test_what_pspins_compiler_let_pass_is_a_warning(cc: str, tmp_path: Path) -> None:
    text = """
    __handler__ void old_ph(handler_args_t *args)
    {
        spin_cmd_t copied;
        uint8_t *bytes = args->task->pkt_mem;
        uint32_t *words = bytes;
        spin_dma_to_host(0, bytes, words[0], 0, &copied);
        later(args);
    }
    later(handler_args_t *args) { args->hpu_id = 0; }
    """
    built = toolchain.build([write(tmp_path, text)], cc=cc, cache=tmp_path / "cache")
    assert list(built.handlers) == ["old_ph"]
    for warning in ("int-conversion", "incompatible-pointer-types", "implicit-function-declaration", "implicit-int"):
        assert f"[-W{warning}]" in built.messages


def test_a_driver_may_know_handlers_by_any_name(tmp_path: Path) -> None:
    text = """
    __handler__ void on_payload(handler_args_t *args) {}
    void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **handler_mem_ptr) { *ph = on_payload; }
    """
    built = toolchain.build([write(tmp_path, text)], cache=tmp_path / "cache")
    assert built.messages == (
        "note: handler.c: on_payload is called only by drivers that ask for it, since its name ends in none of _hh, "
        "_ph and _th: rename on_payload to on_payload_ph\n"
    )
    assert "on_payload" in {symbol.name for symbol in read(built.elf).symbols}
    with pytest.raises(toolchain.MissingHandlers, match="has no function that ends in _hh, _ph or _th"):
        built.entry()


def test_a_misspelled_function_is_reported_by_compiler_and_linker(tmp_path: Path) -> None:
    text = "__handler__ void l_ph(handler_args_t *args) { spin_cmd_wiat(0); }"
    with pytest.raises(toolchain.CompileError, match=r"^handler\.c does not link\n") as caught:
        toolchain.build([write(tmp_path, text)], cache=tmp_path / "cache")
    assert "handler.c:2:47: warning: call to undeclared function 'spin_cmd_wiat'" in caught.value.stderr
    assert "undefined symbol: spin_cmd_wiat" in caught.value.stderr


@pytest.mark.parametrize(
    ("unused", "why"),
    [
        ("void elsewhere(void); void unused(void) { elsewhere(); }", "undefined symbol: elsewhere"),
        ('void unused(void) { __asm__ volatile(".zero 40000"); }', "prog_mem"),
    ],
    ids=["unresolved", "too large"],
)
def test_functions_that_nothing_calls_are_left_out_if_they_do_not_link(unused: str, why: str, tmp_path: Path) -> None:
    source = write(tmp_path, f"{unused}\n__handler__ void small_ph(handler_args_t *args) {{}}")
    built = toolchain.build([source], cache=tmp_path / "cache")
    assert built.messages.startswith("warning: functions that no other calls are left out: ")
    assert why in built.messages
    assert list(built.handlers) == ["small_ph"]


OLD_FORM = """
#include <packets.h>
/* Adds up the integers of a packet, and sends it back. */
__handler__ void old_ph(handler_args_t *args)
{
    task_t *task = args->task;
    uint8_t *payload;
    uint32_t length, sum = 0;
    GET_IP_UDP_PLD(task->pkt_mem, payload, length);
    for (uint32_t i = 0; i < length / 4; i++) sum += ((uint32_t *)payload)[i];
    amo_add(task->scratchpad[args->cluster_id], sum);
    ip_hdr_t *ip = task->pkt_mem;
    udp_hdr_t *udp = (udp_hdr_t *)((uint8_t *)ip + ip->ihl * 4);
    uint32_t id = ip->source_id;
    uint16_t port = udp->src_port;
    spin_cmd_t put;
    ip->source_id = ip->dest_id, ip->dest_id = id;
    udp->src_port = udp->dst_port, udp->dst_port = port;
    spin_send_packet(ip, ip->length, &put);
}
__handler__ void old_th(handler_args_t *args)
{
    task_t *task = args->task;
    uint32_t sum = 0;
    for (int i = 0; i < NB_CLUSTERS; i++) sum += *(volatile uint32_t *)task->scratchpad[i];
    uint64_t host_address = (uint64_t)task->host_mem_high << 32 | task->host_mem_low;
    spin_cmd_t written;
    spin_host_write(host_address, (uint64_t)sum, &written);
}
"""


def test_handlers_for_pspins_packets_run_on_generated_ones(tmp_path: Path) -> None:
    """Sends the same packets twice, once returned unchanged; compares the exchanged fields of the others, and the
    sum."""
    traffic = "pspin:size=256,count=40,payload=ints,src_port=258,dst_port=772"
    program = write(tmp_path, OLD_FORM)
    result = spinet.run(program=program, traffic=traffic, message="all")
    echo = "__handler__ void echo_ph(handler_args_t *a) { spin_cmd_t c; spin_send_packet(a->task->pkt_mem, 256, &c); }"
    echoed = spinet.run(program=write(tmp_path, echo), traffic=traffic, message="all")
    assert result.complete and not result.summary["traps"]
    came, sent = (sorted(packet.data for packet in run.sent) for run in (echoed, result))
    assert all(len(packet) == 256 and packet[:4] == b"\x54\x00\x00\x01" for packet in came)
    swapped = [p[:12] + p[16:20] + p[12:16] + p[22:24] + p[20:22] + p[24:] for p in came]
    assert sorted(swapped) == sent
    total = sum(sum(struct.unpack("<57I", packet[28:])) for packet in came)
    assert struct.unpack("<Q", result.host_memory(HOST, 8)) == (total & 0xFFFFFFFF,)


def other_runtime(folder: Path) -> Path:
    """A program with a runtime of its own, which uses only headers of the SDK."""
    sources = NAMES.parent / "other_runtime"
    compiler = find_compiler(cc=None, cache=folder)
    elf = folder / "other.elf"
    files = [str(sources / name) for name in ("start.S", "runtime.c")]
    script = ("-T", str(sources / "memory.ld"), "-Wl,--no-gc-sections", "-nostdlib")
    flags = (*compiler.compile_flags, "-O3", f"-I{toolchain.sdk_dir() / 'include'}", *compiler.link_flags, *script)
    command = [*compiler.command, *flags, *files, "-o", str(elf)]
    subprocess.run(command, check=True, env=environment(folder, folder), capture_output=True)
    return elf


@pytest.mark.parametrize("nic", ["pspin-rtl", "pspin"])
def test_a_program_with_another_runtime_boots_and_runs(nic: str, tmp_path: Path) -> None:
    """Two contexts take turns on the cores of one cluster; if the runtime survives traps, some packets trap."""
    traps = set(range(7, 96, 8)) if nic == "pspin" else set()
    numbered = [bytes(42) + bytes([i, i in traps]) + bytes(20) for i in sorted(range(96), key=lambda i: i * 37 % 96)]
    frames.write(tmp_path / "frames.pcap", numbered)
    (tmp_path / "experiment.toml").write_text(f"""\
program = "{other_runtime(tmp_path)}"
traffic = {{ source = "frames.pcap", pacing = "asap" }}
nic = {{ preset = "{nic}", set = {{ n_clusters = 1 }} }}
[[context]]
name = "red"
match = "bytes[42:1] < 48"
handler = "red"
host_memory = {{ addr = {HOST}, size = 4096 }}
[[context]]
name = "blue"
handler = "blue"
host_memory = {{ addr = {HOST + 0x10000}, size = 4096 }}
""")
    result = spinet.run(experiment=tmp_path / "experiment.toml")
    assert result.complete
    assert sum(trap["count"] for trap in result.summary["traps"]) == len(traps)
    for number in range(96):
        is_blue = number >= 48
        place, who = struct.unpack("<II", result.host_memory(HOST + (0x10000 if is_blue else 0) + 8 * number, 8))
        cluster, core, everywhere = place >> 16, place >> 8 & 0xFF, place & 0xFF
        assert (who, cluster, core) == (2 if is_blue else 1, 0, everywhere), f"packet {number}"
        assert core < 8


MNEMONICS = """
#include <packets.h>
/* As handlers for PULP's compiler write them: sums of half words, fields, a clip, a rounded mean. */
__handler__ void asm_ph(handler_args_t *args)
{
    uint32_t a = 0x7FFF0003, b = 0x00020005, words[8] = {0};
    u_char *bytes = (u_char *)words;
    __asm__ volatile("pv.add.h %[c], %[a], %[b]\\n" : [c] "=r"(words[0]) : [a] "r"(a), [b] "r"(b));
    __asm__ volatile("pv.max.sc.b %0, %1, %2" : "=r"(words[1]) : "r"(a), "r"(b));
    __asm__ volatile("p.extractu %0, %1, 7, %2" : "=r"(words[2]) : "r"(a), "i"(16));
    __asm__ volatile("p.clip %0, %1, 5; p.abs %0, %0" : "=r"(words[3]) : "r"(-a));
    __asm__ volatile("p.addRN %0, %1, %2, 1" : "=r"(words[4]) : "r"(6), "r"(9));
    words[5] = 100;
    __asm__ volatile("p.mac %0, %1, %2" : "+r"(words[5]) : "r"(6), "r"(7));
    words[6] = __ntohs(0x1234) << 16 | __htons(0x5678);
    bytes[28] = 7;
    spin_cmd_t sent;
    spin_send_packet(memcpy(args->task->pkt_mem, words, sizeof(words)), sizeof(words), &sent);
}
"""
SENT = [0x80010008, 0x7F050505, 0xFF, 16, 8, 142, 0x34127856, 7]


@pytest.mark.parametrize("flags", [(), ("-flto",), ("-pedantic", "-Wall")], ids=" ".join)
@pytest.mark.parametrize("cc", COMPILERS)
def test_mnemonics_of_pulp_and_names_of_newlib_are_known(cc: str, flags: tuple[str, ...], tmp_path: Path) -> None:
    sources = [tmp_path / "second.c", write(tmp_path, "#include <string.h>" + MNEMONICS)]
    sources[0].write_text(
        "#include <handler.h>\nvoid asm_ph(handler_args_t *args);\n"
        "void init_handlers(handler_fn *hh, handler_fn *ph, handler_fn *th, void **mem) { *ph = asm_ph; }\n"
    )
    built = toolchain.build(sources, cc=cc, flags=flags, cache=tmp_path / "cache", out=tmp_path / "asm.elf")
    assert built.messages == ""
    result = spinet.run(program=tmp_path / "asm.elf", traffic="udp:size=64,count=1", nic="pspin-rtl")
    assert [list(struct.unpack("<8I", packet.data)) for packet in result.sent] == [SENT]
