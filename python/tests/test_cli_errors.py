# SPDX-License-Identifier: Apache-2.0
"""Errors of the command: one table of commands, their stderr and exit code.

The expectations are in cli_errors.txt beside this file; UPDATE_EXPECT=1 writes them again.
"""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest
import spinet.cli

from world import make

EXPECTED = Path(__file__).with_name("cli_errors.txt")

COMMANDS = """
spinet rnu
spinet run
spinet run good.c --matc udp
spinet explain result --packet 5
spinet run good.c
spinet run missing.c --traffic dns.pcap
spinet run broken.c --traffic dns.pcap
spinet run misnamed.c --traffic dns.pcap
spinet run empty.c --traffic dns.pcap
spinet run two.c --traffic dns.pcap
spinet run two.c --traffic dns.pcap --handler c
spinet run huge.c --traffic dns.pcap
spinet run good.c --traffic dns.pcap --cc no-such-compiler
spinet run good.c --traffic dns.pcap --cc /bin/true
spinet run loop.c --traffic udp:count=1 --limit '20 us'
spinet run trap.c --traffic udp:count=1
spinet run wild.c --traffic udp:count=1
spinet run wild.c --traffic udp:count=3 --json
spinet run near.c --traffic udp:count=1
spinet run good.c --traffic dns.pcap --match 'tcp'
spinet run good.c --traffic dns.pcap --match 'ipv4 && udp.dst_port == 5353 && udp.src_port != 53'
spinet run good.c --traffic dns.pcap --match 'udp.dst_port == 53 && udp.src_port == 53'
spinet run empty.elf --traffic dns.pcap
spinet run text.elf --traffic dns.pcap
spinet run cut.elf --traffic dns.pcap
spinet run host.elf --traffic dns.pcap
spinet run missing.elf --traffic dns.pcap
spinet run text.elf --traffic dns.pcap -D FAST
spinet run text.elf good.c --traffic dns.pcap
spinet run good.c --traffic missing.pcap
spinet run good.c --traffic dns.pcap --handler-memory /dev/zero
spinet run good.c --traffic there
spinet run good.c --traffic empty.pcap
spinet run good.c --traffic text.pcap
spinet run good.c --traffic header_only.pcap
spinet run good.c --traffic cut_header.pcap
spinet run good.c --traffic cut_packet.pcap
spinet run good.c --traffic absurd.pcap
spinet run good.c --traffic absurd.pcapng
spinet run good.c --traffic raw_ip.pcap
spinet run good.c --traffic pipe.pcap
spinet run good.c --traffic dns.pcap --count 99999999999999999999
spinet run good.c --traffic dns.pcap --cc "'"
spinet run good.c --traffic dns.pcap -D 'A B'
spinet run good.c --traffic udp:size=7,count=1
spinet run good.c --traffic udp:sise=64
spinet run good.c --traffic udp:rate=400
spinet run good.c --traffic udp:rate=400GB
spinet run good.c --traffic dns.pcap --pace line:400
spinet run good.c --traffic icmp:count=5
spinet run good.c --traffic upd:
spinet run good.c --traffic dns.pcap --match 'udp.dst_prt == 53'
spinet run good.c --traffic dns.pcap --match 'udp.dst_port == '
spinet run good.c --traffic dns.pcap --match 'udp.dst_port == 99999'
spinet run good.c --traffic dns.pcap --message 'by colour'
spinet run good.c --traffic dns.pcap --pace fast
spinet run good.c --traffic dns.pcap --limit soon
spinet run good.c --traffic dns.pcap --limit '99999 s'
spinet run good.c --traffic dns.pcap --nic tigon3
spinet run good.c --traffic dns.pcap --send udp:payload=numbered
spinet run --nic tigon2 --match udp
spinet run --nic tigon2 --firmware missing.c
spinet run --nic tigon2 --firmware tigon3
spinet run --nic tigon2 --firmware text.elf
spinet run --nic tigon2 --firmware cut.elf
spinet run --nic tigon2 --firmware text.elf --load 0x4001
spinet run --nic tigon2 --firmware text.elf --load here
spinet run --nic tigon2 --firmware text.elf --entry 0x4000
spinet run --nic tigon2 --firmware tigon2 --load 0x4000
spinet run --nic tigon2 --firmware text.elf -D SPLIT
spinet run --nic tigon2 --limit '12 ms'
spinet run --nic tigon2 --traffic missing.pcap
spinet run --nic tigon2 --traffic datagram:bytes=18
spinet run --nic tigon2 --send icmp:count=4
spinet run --nic tigon2 --traffic udp:size=9042,payload=numbered
spinet run --nic tigon2 --send udp:size=18,payload=numbered
spinet run --nic tigon2 --send datagrams:bytes=18:1472,count=4
spinet run --nic tigon2 --send tcp-ack:every=0
spinet run --nic tigon2 --limit soon
spinet run --nic tigon2 --set host.mtu=1
spinet run --nic tigon2 -o there
spinet run good.c --traffic dns.pcap --nic pspinn
spinet run good.c --traffic dns.pcap --nic no_clusters.toml
spinet run good.c --traffic dns.pcap --nic typo.toml
spinet run good.c --traffic dns.pcap --set n_clutsers=2
spinet run good.c --traffic dns.pcap --set n_clusters=many
spinet run good.c --traffic dns.pcap --set n_clusters=0
spinet run good.c --traffic dns.pcap --set l2.packet_bytes=16
spinet run good.c --traffic dns.pcap -o there
spinet run good.c --traffic dns.pcap -o there --force
spinet run good.c --traffic dns.pcap -o a_file/out
spinet run good.c --traffic dns.pcap --force
spinet run --nic panic --chain 'all: aes' --traffic icmp:count=4
spinet run --chain 'gold: aes' --tenant 'glod: weight=2' --traffic udp:count=4,rate=1G
spinet run --service 'core: riscv, program=prints.c' --chain 'all: core' --traffic udp:count=1
spinet run --service 'core: riscv, program=wild.c' --chain 'all: core' --traffic udp:count=2,rate=1G
spinet run missing.toml
spinet run syntax.toml
spinet run unknown_key.toml
spinet run no_context.toml
spinet run one_table.toml
spinet run bad_match.toml
spinet run overlap.toml
spinet run wrong_type.toml
spinet run latin1.toml
spinet run deep.toml
spinet run good.toml --match udp
spinet run good.toml good.c
spinet build missing.c
spinet build broken.c
spinet build good.c -o a_file/good.elf
spinet build good.c -o there
spinet nic show pspinn
spinet nic show no_clusters.toml
spinet nic show one_key.toml
spinet nic shw
spinet match 'udp && (tcp' dns.pcap
spinet match udp missing.pcap
spinet match udp text.pcap
spinet match eth raw_ip.pcap
spinet exec missing.elf
spinet exec text.elf
spinet exec cut.elf
spinet exec host.elf
spinet exec --isa rv64gc host.elf
spinet compare --forward --traffic udp:count=9 --nic pspin --rate 1x
spinet compare --forward --traffic udp:count=9 --nic panic --units 0
spinet compare --forward --traffic udp:count=9 --nic pspin --longest-gap 4
""".strip().splitlines()

# First words of the parts of the summary that report something unusual.
REPORTS = ("! ", "Fault", "About the capture", "Not finished")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the commands run; none of them leaves anything behind."""
    folder = tmp_path_factory.mktemp("world")
    make(folder)
    return folder


def expectations() -> dict[str, str]:
    """Contents of the file, by command."""
    text = EXPECTED.read_text() if EXPECTED.exists() else ""
    blocks = re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]
    return {block.split("\n", 1)[0]: block.split("\n", 1)[1].strip("\n") for block in blocks}


def said(command: str, capfd: pytest.CaptureFixture[str], folder: Path) -> str:
    """Reports of the summary on unusual input, stderr and exit code, without machine-specific values."""
    code = spinet.cli.main(shlex.split(command)[1:])
    captured = capfd.readouterr()
    blocks = [block for block in captured.out.split("\n\n") if block.startswith(REPORTS)]
    text = "\n".join([*blocks, captured.err.rstrip(), f"[exit code {code}]"]).strip()
    return re.sub(r"\s+$", "", text.replace(str(folder), "WORLD"), flags=re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_is_reported(
    command: str, world: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    before = sorted(str(path) for path in world.rglob("*"))
    shown = said(command, capfd, world)
    assert sorted(str(path) for path in world.rglob("*")) == before, "a partial file remains"
    if os.environ.get("UPDATE_EXPECT"):
        known = {**expectations(), command: shown}
        EXPECTED.write_text("".join(f"$ {name}\n{known[name]}\n\n" for name in COMMANDS if name in known))
    assert shown == expectations()[command]


def test_expectations_are_of_these_commands() -> None:
    assert list(expectations()) == COMMANDS
