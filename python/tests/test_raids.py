# SPDX-License-Identifier: Apache-2.0
"""A hostile context beside another, both with handlers in all three roles, on the same HPUs.

The raider does the same action in its header, payload and completion handlers. Its victim's messages have three packets
each; the victim sums them into handler memory, counts in its scratchpads, copies each packet to its host and sends it
back. The test computes all of this again. Values left in registers and on the stack must not appear in the raider's
host memory.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import spinet
from spinet import toolchain

import frames

SOURCE = Path("python/tests/handlers/raids.c")
SECRET = struct.pack("<I", 0x5EC12E75)
PREY_HOST, RAIDER_HOST = 0x20_0000_0000, 0x30_0000_0000
PREY_BYTES, RAIDER_BYTES = 0x4000, 0x10_0000
MESSAGES, PACKETS = 4, 3  # messages of each tenant, packets of each message
RUNS = MESSAGES * (PACKETS + 2)  # handlers of the raider: a header, payloads, a completion
WATCHDOG = 3_000  # cycles that a handler of the raider may run

# Places that only the handler knows (raids.c): packet in L1 and L2, stack, scratchpad, handler memory, the runtime's
# loop and its trap handler, own code. The raider's handler memory is 0x1C300000 to 0x1C380000, the prey's 4 KiB are
# at 0x1C200000.
NAMES = ("packet", "l2", "stack", "scratch", "memory", "loop", "trap", "code")
PLACES = {name: (0xE001 + i) << 16 for i, name in enumerate(NAMES)}

# Action, its words, and the fate of each handler of the raider.
RAIDS = """
NOTHING                                   : done
# Control registers, by their place in the list of raids.c, and instructions of other modes.
READ_CSR     10                           : illegal instruction
READ_CSR     42                           : done
WRITE_CSR    0 0xFFFFFFFF                 : done
WRITE_CSR    2 0xFFFFFFFF                 : done
WRITE_CSR    8 0xFFFFFFFF                 : done
WRITE_CSR    13 0x1C300000                : illegal instruction
WRITE_CSR    23 0xFFFFFFFF                : illegal instruction
WRITE_CSR    32 0x1C300000                : illegal instruction
WRITE_CSR    41 0                         : illegal instruction
EXECUTE      0                            : illegal instruction
EXECUTE      1                            : illegal instruction
EXECUTE      2                            : illegal instruction
EXECUTE      3                            : illegal instruction
EXECUTE      4                            : ran longer than its watchdog allows
EXECUTE      6                            : environment call
EXECUTE      7                            : breakpoint
EXECUTE      8                            : done
EXECUTE      11                           : breakpoint
# Code of others, of the runtime, and of its own making.
RUN_AT       loop                         : load access fault
RUN_AT       trap+4                       : illegal instruction
RUN_AT       0x1D000080                   : store access fault
RUN_AT       0x1D000084                   : illegal instruction
RUN_AT       0x1D007FFE                   : instruction access fault
RUN_AT       0xFFFFFFFE                   : instruction access fault
RUN_AT       0x1B205000                   : instruction access fault
RUN_OWN_WORDS packet                      : instruction access fault
RUN_OWN_WORDS l2                          : instruction access fault
RUN_OWN_WORDS stack+64                    : instruction access fault
RUN_OWN_WORDS scratch                     : instruction access fault
RUN_OWN_WORDS memory                      : instruction access fault
RUN_OWN_WORDS code                        : store access fault
FALL_OFF                                  : store access fault
COPY_AND_RUN code                         : load access fault
# Borders, by words and bytes, and peripherals under all their names.
STRADDLE     packet+60                    : store access fault
STRADDLE     stack+0x400                  : store access fault
STRADDLE     0x1C380000                   : store access fault
LOAD         packet-1                     : load access fault
LOAD         l2+60                        : load access fault
LOAD_BYTE    0x1C37FFFF                   : done
STORE_BYTE   0x1C380000 1                 : store access fault
STORE_BYTE   stack+0x400 1                : store access fault
STORE        0x1B200000 1                 : store access fault
STORE        0x1B200008 1                 : store access fault
STORE        0x1B200400 1                 : store access fault
STORE        0x1B201404 1                 : store access fault
STORE        0x1B204084 1                 : store access fault
STORE        0x10204100 1                 : store access fault
STORE        0x10A05050 1                 : store access fault
STORE        0x1B205100 1                 : ran longer than its watchdog allows
STORE        0x1B20D050 1                 : ran longer than its watchdog allows
ADD          0x1B204418 1                 : done
ADD          0x1A104000 1                 : done
RESERVE      0x1B205080                   : done
RESERVE      0xE0050002                   : load address misaligned
RESERVE      0xE0040001                   : load address misaligned
ADD          0xE0050002 1                 : store address misaligned
ELW          0x1B20403C                   : load access fault
ELW          0x1B205050                   : done
ELW          0x1B205080                   : 1 command refused
# Transfers that begin or end with others, or wrap around.
COPY         0x1C37FFF0 0x1C300000 0x20       : load access fault
COPY         0x1C2FFFC0 0x1C310000 0x80       : load access fault
COPY         0x1C300000 0x1C310000 0xFFFFFFF0 : load access fault
COPY         0x1C300000 0xFFFFFFF0 0x1C300010 : load access fault
COPY         0xFFFFFFF0 0x1C300000 0x40       : load access fault
COPY         0x1C300000 0x1B205050 4          : load access fault
COPY         0x1D000080 0x1C300000 64         : load access fault
COPY         packet 0x1C300000 0x10000        : load access fault
COPY         0x1C300000 0x1C310000 0          : done
SEND         packet 61                    : load access fault
SEND         stack+64 961                 : load access fault
SEND         0x1C37FFFF 1                 : done
SEND         0x1C300000 0x80000000        : load access fault
TO_HOST      0x1C300000 0xFFFFF 1         : done
TO_HOST      0x1C300000 0xFFFFF 2         : load access fault
TO_HOST      0x1C300000 0xFFFFFFFF 1      : load access fault
TO_HOST      0x1C300000 0 0x80001         : load access fault
FROM_HOST    0x1C300000 0x100000 1        : load access fault
FROM_HOST    0x1C37FFC1 0 64              : load access fault
FROM_HOST    0x1C200000 0 64              : load access fault
FROM_HOST    0x1C300000 0x100000 0        : 1 command refused
TO_HOST_DIRECT 0xFFFC0 64                 : done
TO_HOST_DIRECT 0xFFFC1 64                 : load access fault
TO_HOST_DIRECT 0 65                       : 1 command refused
TO_HOST_DIRECT 0xFFFFFFC0 64              : load access fault
# Back to the runtime's loop, at any place of it, with what it trusts left wrong.
RETURN_WITH_S0 0x1B205008                 : instruction access fault
RETURN_WITH_S0 0x1B205030                 : instruction access fault; 1 command refused
RETURN_WITH_S0 0x1B204FC8                 : load access fault
RETURN_WITH_S0 0x10A05000                 : load access fault
RETURN_WITH_S0 0x1C200000                 : load access fault
RETURN_WITH_S0 memory                     : instruction access fault
RETURN_TO    loop                         : load access fault
RETURN_TO    loop+0x22                    : ran longer than its watchdog allows
RETURN_TO    loop+0x32                    : load access fault
RETURN_TO    0x1D000080                   : store access fault
NEVER_RING                                : ran longer than its watchdog allows
RETURN_WITH_SP 0x1C200040                 : store access fault
RETURN_WITH_SP 0x1B205060                 : load access fault
RETURN_WITH_LOOPS                         : load access fault
BRANCH_OFF   loop                         : load access fault
TRAP_TWICE                                : illegal instruction
# The doorbell: by an atomic, in half an access; errors that are none.
RING_BY_AMO                               : done
RING_AND_LOOK 0                           : done
RING_AND_LOOK 2                           : done
RING_AND_LOOK 4                           : done
FORGE_ERROR  24                           : done
FORGE_ERROR  27                           : done
# What is left behind, and what others left.
ARM_TRAPS                                 : done
RESERVE_AND_LEAVE                         : done
TELL_CSRS                                 : done
TELL_RING                                 : done
TELL_SCRATCH scratch                      : done
LEAVE_COMMANDS                            : done
LEAVE_COPIES                              : done
# Floods.
READ_FLOOD                                : ran longer than its watchdog allows
SMALL_FLOOD                               : ran longer than its watchdog allows
REMOTE_FLOOD                              : ran longer than its watchdog allows
PRINT        0                            : ran longer than its watchdog allows
OVERFLOW                                  : store access fault
KEEP_LAST                                 : ran longer than its watchdog allows
RUN_CYCLES   1250                         : done
RUN_CYCLES   1500                         : ran longer than its watchdog allows
"""


@dataclass(frozen=True)
class Raid:
    deed: str
    words: tuple[int, ...]
    said: str

    def __str__(self) -> str:
        return " ".join((self.deed, *map(hex, self.words)))


def number(word: str) -> int:
    """A word of the table: a number, or a place with an offset."""
    place, sign, offset = re.fullmatch(r"([a-z]\w*|)([+-]?)(\w*)", word).groups()  # type: ignore[union-attr]
    if not place:
        return int(word, 0)
    return PLACES[place] | (int(f"{sign}{offset or 0}", 0) & 0xFFFF)


def raids() -> list[Raid]:
    rows = []
    for line in RAIDS.strip().splitlines():
        if not line.startswith("#"):
            what, said = line.split(" : ")
            deed, *words = what.split()
            rows.append(Raid(deed, tuple(number(word) for word in words), said.strip()))
    return rows


def deeds() -> list[str]:
    """Names of the deeds, by their numbers in packets."""
    names: str = re.findall(r"^enum deed \{(.*?)\};", SOURCE.read_text(), re.MULTILINE | re.DOTALL)[0]
    return re.findall(r"\w+", names)


@cache
def program(clusters: int, cores: int) -> Path:
    return toolchain.build([SOURCE], defines={"NB_CLUSTERS": clusters, "NB_CORES": cores}).elf


def preys_packet(message: int, packet: int) -> bytes:
    payload = bytes([message, message * PACKETS + packet]) + bytes([16 * message + packet]) * 158
    return frames.build(ip=4, protocol=frames.UDP, ports=(1000 + message, 7), payload=payload)


def raiders_packet(message: int, deed: str, words: tuple[int, ...]) -> bytes:
    payload = struct.pack("<4I", *(deeds().index(deed), *words, 0, 0, 0)[:4])
    return frames.build(ip=4, protocol=frames.UDP, ports=(2000 + message, 666), payload=payload)


def run(
    folder: Path,
    deed: str,
    words: tuple[int, ...],
    cores: int,
    settings: tuple[str, ...] = (),
) -> spinet.Result:
    """Both on clusters with `cores` cores. Homes are assigned in turn: each cluster has messages of both."""
    packets: list[bytes] = []
    for packet in range(PACKETS):
        for message in range(MESSAGES):
            both = [raiders_packet(message, deed, words), preys_packet(message, packet)]
            packets += reversed(both) if message % 2 else both
    traffic = frames.write(folder / "traffic.pcap", packets, gap_ns=100)
    experiment = folder / "experiment.toml"
    shape = [f"n_clusters={cores}", f"cluster.n_cores={cores}", *settings]
    experiment.write_text(
        f'program = "{program(cores, cores)}"\ntraffic = "{traffic}"\nlimit = "2 ms"\n'
        f'[nic]\npreset = "pspin"\nset = {shape}\n'
        '[[context]]\nhandler = "raid"\nmatch = "udp.dst_port == 666"\nmessage = "by udp.src_port count 3"\n'
        f"handler_memory = {{ addr = 0x1C300000, size = 0x80000 }}\nwatchdog_cycles = {WATCHDOG}\n"
        f"host_memory = {{ addr = {RAIDER_HOST}, size = {RAIDER_BYTES} }}\n"
        '[[context]]\nhandler = "prey"\nmessage = "by udp.src_port count 3"\n'
        "handler_memory = { addr = 0x1C200000, size = 4096 }\n"
        f"host_memory = {{ addr = {PREY_HOST}, size = {PREY_BYTES} }}\n"
    )
    return spinet.run(experiment=experiment)


def preys_host() -> bytes:
    """The victim's writes to its host: for each message the header's tag, packets, the sum of their words, and if the
    scratchpads counted at least this number; and its packets."""
    host = bytearray(PREY_BYTES)
    for message in range(MESSAGES):
        packets = [preys_packet(message, packet) for packet in range(PACKETS)]
        words = (struct.unpack("<40I", packet[:160]) for packet in packets)
        total = sum(map(sum, words)) % 2**32
        struct.pack_into("<4I", host, 64 * message, 0xFACE0000 | message, PACKETS, total, 1)
        for number, packet in enumerate(packets, message * PACKETS):
            at = 4096 + 256 * number
            host[at : at + len(packet)] = packet
    return bytes(host)


def describe(result: spinet.Result) -> str:
    """Result of the raider's handlers, which is the same for all, in one line."""
    said = []
    for trap in result.summary["traps"]:
        assert trap["first"]["context"] == "raid", f"the prey ends with {trap}"
        said.append((trap["count"], trap["cause"]))
    for what in ("command", "copy"):
        if count := result.summary["output"][f"{what}_faults"]:
            said.append((count, f"{count // RUNS} {what} refused"))
    return "; ".join(text for _, text in said) or "done"


def assert_unharmed(result: spinet.Result) -> None:
    assert result.complete, result.summary["ended"]["text"]
    assert result.host_memory(PREY_HOST, PREY_BYTES) == preys_host()
    expected = Counter(preys_packet(message, packet) for message in range(MESSAGES) for packet in range(PACKETS))
    assert Counter(packet.data for packet in result.sent if packet.data in expected) == expected
    assert SECRET not in result.host_memory(RAIDER_HOST, RAIDER_BYTES)


# Leftovers are easiest to see if all run on one core.
ON_ONE_CORE = re.compile("NOTHING|RETURN|NEVER|TRAP|RING|FORGE|ARM|RESERVE_|TELL|LEAVE|RUN_AT|WRITE_CSR|OVERFLOW")


@pytest.mark.parametrize("raid", raids(), ids=str)
def test_a_raid_in_all_roles(raid: Raid, tmp_path: Path) -> None:
    result = run(tmp_path, raid.deed, raid.words, 1 if ON_ONE_CORE.match(raid.deed) else 2)
    assert_unharmed(result)
    assert describe(result) == raid.said


# Time for which a handler of the raider keeps its HPU if its watchdog ends it: the watchdog, the trap and its report
# (over PCIe), the clearing of the core for the next task, and its 4 pending commands of 64 KiB, at the link's 48 bytes
# a cycle.
HELD = WATCHDOG + 800
LEFT = 4 * 65536 // 48


@pytest.mark.parametrize("deed", ["EXECUTE", "SMALL_FLOOD", "READ_FLOOD"])
def test_the_prey_waits_for_what_the_watchdog_lets_others_do(deed: str, tmp_path: Path) -> None:
    words = (4,) if deed == "EXECUTE" else ()
    alone, beside = (latest(run(tmp_path, *what, 1)) for what in (("NOTHING", ()), (deed, words)))
    bound = RUNS * (HELD + (LEFT if deed == "READ_FLOOD" else 0))
    assert bound // 2 < beside - alone <= bound, "on one HPU all wait for each other"


def latest(result: spinet.Result) -> int:
    """Longest time in ns from the arrival of a packet of the victim until it was done."""
    rows = [row for row in result.packets.to_pylist() if row["context"] == 1]
    return int(max(row["done_ps"] - row["arrival_ps"] for row in rows)) // 1000


# All HPUs of 2 clusters of 4 move as much data as they can at the same time. The victim waits only for its turns: at
# the engine of its cluster, which holds 25 pages and then takes one of each core, 64 cycles to read, 64 to write and
# the way; twice at the command unit, where 7 pages are on the way, 2 of each cluster before it, and then one of each
# core, 91 cycles each; for translations, in 4 tables; and in one of its two atomic additions for 4 pages behind the
# filter of handler memory.
TURNS = (25 + 4) * (2 * 64 + 22) + 2 * (7 + 2 * 2 + 8) * 91 + 4 * 2 * 80 + 4 * 64


MOVES = ("TO_HOST 0x1C300000 0 0x80000", "FROM_HOST 0x1C300000 0 0x80000", "COPY 0x1C300000 0x1C340000 0x40000")


@pytest.mark.parametrize("what", MOVES)
def test_nobody_waits_for_all_that_another_moves(what: str, tmp_path: Path) -> None:
    deed, *words = what.split()
    packets = [raiders_packet(message, deed, tuple(map(number, words))) for message in range(12)]
    packets += [preys_packet(message, packet) for packet in range(PACKETS) for message in range(MESSAGES)]
    traffic = frames.write(tmp_path / "traffic.pcap", packets, gap_ns=100)
    experiment = tmp_path / "experiment.toml"
    experiment.write_text(
        f'program = "{program(2, 4)}"\ntraffic = "{traffic}"\nlimit = "2 ms"\n[nic]\npreset = "pspin"\n'
        'set = ["n_clusters=2", "cluster.n_cores=4"]\n'
        f'[[context]]\nhandler = "raid"\nmatch = "udp.dst_port == 666"\n'
        "handler_memory = { addr = 0x1C300000, size = 0x80000 }\n"
        f"host_memory = {{ addr = {RAIDER_HOST}, size = {RAIDER_BYTES} }}\n"
        f'[[context]]\nhandler = "prey"\nmessage = "by udp.src_port count 3"\nwatchdog_cycles = {2 * TURNS}\n'
        "handler_memory = { addr = 0x1C200000, size = 4096 }\n"
        f"host_memory = {{ addr = {PREY_HOST}, size = {PREY_BYTES} }}\n"
    )
    result = spinet.run(experiment=experiment)
    assert_unharmed(result)
    cycles = [row["cycles"] for row in result.packets.to_pylist() if row["context"] == 1]
    assert max(cycles) < TURNS


@pytest.mark.parametrize("deed", ["RING_BY_AMO", "RING_AND_LOOK"])
def test_who_rings_for_itself_ends_no_other_task_where_errors_are_not_reported(deed: str, tmp_path: Path) -> None:
    result = run(tmp_path, deed, (), 1, ("isolation.report_errors=false",))
    assert_unharmed(result)
    assert describe(result) == "done"


def test_a_watchdog_ends_a_handler_or_not_at_one_cycle(tmp_path: Path) -> None:
    """Each iteration of the loop takes two cycles. Above a certain number of iterations the watchdog ends every
    handler, below it none. No packet is lost."""
    ended = {}
    for turns in range(1250, 1550, 50):
        result = run(tmp_path, "RUN_CYCLES", (turns,), 1)
        assert_unharmed(result)
        ended[turns] = sum(trap["count"] for trap in result.summary["traps"])
    assert list(ended.values()) == sorted(ended.values()), ended
    assert min(ended.values()) == 0 and max(ended.values()) == RUNS, ended


def test_the_table_tries_all_deeds() -> None:
    assert {raid.deed for raid in raids()} == set(deeds())
