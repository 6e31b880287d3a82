# SPDX-License-Identifier: Apache-2.0
"""A folder with all kinds of invalid files, for tests of the command's errors."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent

HANDLERS = {
    "good.c": "__handler__ void good_ph(handler_args_t *args) {}",
    "broken.c": "__handler__ void broken_ph(handler_args_t *args) { packet++; }",
    "misnamed.c": "void ping_hp(handler_args_t *args) {}",
    "empty.c": "",
    "two.c": "__handler__ void a_ph(handler_args_t *args) {} __handler__ void b_ph(handler_args_t *args) {}",
    "huge.c": 'void huge_ph(handler_args_t *args) { __asm__ volatile(".zero 40000"); }',
    "loop.c": '__handler__ void loop_ph(handler_args_t *args) { for (;;) __asm__ volatile(""); }',
    "trap.c": '__handler__ void trap_ph(handler_args_t *args) { __asm__ volatile(".4byte 0"); }',
    "near.c": (
        "static void help(handler_args_t *args) { args->task->pkt_mem_size = 0; }\n"
        "__handler__ void near_hh(handler_args_t *args) { help(args); }\n"
        "void near_hp(handler_args_t *args) {} // void gone_PH(handler_args_t *args) {}\n"
        "__handler__ void near_payload(handler_args_t *args) {}\n"
    ),
    "prints.c": '#include <stdio.h>\n__handler__ void prints_ph(handler_args_t *args) { printf("%p\\n", args); }',
    "wild.c": "__handler__ void wild_ph(handler_args_t *args) { *(volatile int *)0x1D000000 = 1; }",
}

EXPERIMENTS = {
    "good.toml": 'program = "good.c"\ntraffic = "udp:count=4"\n[[context]]\n',
    "syntax.toml": 'program = "good.c"\ntraffic = \n',
    "unknown_key.toml": 'program = "good.c"\ntraffic = "udp:count=4"\n[[context]]\nmach = "udp"\n',
    "no_context.toml": 'program = "good.c"\ntraffic = "udp:count=4"\n',
    "bad_match.toml": 'program = "good.c"\ntraffic = "udp:count=4"\n[[context]]\nmatch = "udp.dst_prt == 4"\n',
    "overlap.toml": (
        'program = "two.c"\ntraffic = "udp:count=4"\n'
        '[[context]]\nhandler = "a"\nmatch = "udp"\nhandler_memory = { addr = 0x1C300000, size = 4096 }\n'
        '[[context]]\nhandler = "b"\nhandler_memory = { addr = 0x1C300800, size = 4096 }\n'
    ),
    "one_table.toml": 'program = "good.c"\ntraffic = "udp:count=4"\n[context]\n',
    "deep.toml": "program = " + 5000 * "[" + "\n",
    "wrong_type.toml": 'program = 5\ntraffic = "udp:count=4"\n[[context]]\n',
}


def make(folder: Path) -> None:
    """Fill an empty folder."""
    for name, body in HANDLERS.items():
        (folder / name).write_text(f"#include <handler.h>\n{body}\n")
    for name, text in EXPERIMENTS.items():
        (folder / name).write_text(text)
    (folder / "latin1.toml").write_bytes(b'program = "caf\xe9.c"\n')
    _captures(folder)
    _programs(folder)
    preset = (ROOT / "presets" / "pspin.toml").read_text()
    (folder / "no_clusters.toml").write_text(preset.replace("n_clusters = 4", "n_clusters = 0"))
    (folder / "typo.toml").write_text(preset.replace("n_clusters = 4", "n_clutsers = 4"))
    (folder / "one_key.toml").write_text('model = "pipeline"\nbuffer_bytes = 1.5\n')
    (folder / "there").mkdir()
    (folder / "a_file").write_text("not a folder\n")


def _captures(folder: Path) -> None:
    real = (ROOT / "captures" / "dns.pcap").read_bytes()
    (folder / "dns.pcap").write_bytes(real)
    (folder / "empty.pcap").write_bytes(b"")
    (folder / "header_only.pcap").write_bytes(real[:24])
    (folder / "cut_header.pcap").write_bytes(real[:11])
    (folder / "cut_packet.pcap").write_bytes(real[:-10])
    (folder / "text.pcap").write_text("No. Time Source Destination\n")
    os.mkfifo(folder / "pipe.pcap")
    # A packet that claims to be 4 GB long.
    (folder / "absurd.pcap").write_bytes(real[:24] + struct.pack("<IIII", 0, 0, 0xFFFFFFF0, 0xFFFFFFF0) + real[40:])
    # The link type of raw IP.
    (folder / "raw_ip.pcap").write_bytes(real[:20] + struct.pack("<I", 101) + real[24:])
    # A section header whose block is shorter than itself.
    (folder / "absurd.pcapng").write_bytes(struct.pack("<III", 0x0A0D0D0A, 4, 0x1A2B3C4D) + b"\0" * 16)


def _programs(folder: Path) -> None:
    (folder / "empty.elf").write_bytes(b"")
    (folder / "text.elf").write_text("This is not a program.\n")
    magic = b"\x7fELF\x01\x01\x01" + b"\0" * 9
    (folder / "cut.elf").write_bytes(magic + struct.pack("<HH", 2, 243))
    host = shutil.which("true")
    assert host is not None
    shutil.copyfile(host, folder / "host.elf")
