# SPDX-License-Identifier: Apache-2.0
"""A hostile context beside another, on the card that isolates: the result of each attack, none of which affects the
victim.

The victim keeps a count and sums in its handler memory and scratchpad, reports them to its host, and sends its packets
back; all of this must be the same as beside an idle neighbour. The victim leaves a secret in registers, on the stack
and in the driver; it must not appear in the attacker's host memory.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import spinet
from spinet import toolchain

import frames

SOURCE = Path("python/tests/handlers/attacks.c")
SECRET = struct.pack("<I", 0x5EC12E75)
VICTIM_HOST, ATTACKER_HOST = 0x20_0000_0000, 0x30_0000_0000
HOST_BYTES = 0x10_0000
N = 10  # packets, victim's and attacker's in turn
# Cycles, for both. On the RTL's preset DMA_FLOOD harms its victim for less than 14,300 cycles: when the attacker is
# ended, 14 copies of 64 KiB are under way, which take 1,024 cycles each. The attacker's feedback waits for them. On the
# same core, the victim's first issue waits for that feedback, while the victim's watchdog runs. With exact regions the
# victim waits before it begins: the read of its handler's address waits, and the watchdog counts from there.
WATCHDOG = 10_000
DRAINED = 16_000  # cycles to copy everything that DMA_FLOOD has started

# Attacks: action, its operands, and the fate of the attacker. Handler memory is at 0x1C200000 (the victim's, 4 KiB) and
# 0x1C300000 (the attacker's, 512 KiB). The attacker runs in cluster 1, on core 0; the victim in cluster 0. Scratchpads
# begin at 0x14400 of an L1, the attacker's first; the victim's are at 0x8A200.
REACHES = """
LOAD                 0x1C200000                     : load access fault, 0x1c200000
LOAD                 0x1C2FFFFC                     : load access fault, 0x1c2ffffc
LOAD                 0x1C37FFFD                     : load access fault, 0x1c37fffd
LOAD                 0x1C380000                     : load access fault, 0x1c380000
LOAD_HALF            0x1C37FFFF                     : load access fault, 0x1c37ffff
STORE                0x1C200000 1                   : store access fault, 0x1c200000
STORE                0x1C2FFFFD 1                   : store access fault, 0x1c2ffffd
STORE                0x1C37FFFE 1                   : store access fault, 0x1c37fffe
STORE_HALF           0x1C37FFFF 1                   : store access fault, 0x1c37ffff
STORE_AND_STEP       0x1C200000 1                   : store access fault, 0x1c200000
LOAD_IN_LOOP         0x1C37FFF0 8                   : load access fault, 0x1c380000
ADD                  0x1C200000 1                   : store access fault, 0x1c200000
RESERVE              0x1C200000                     : load access fault, 0x1c200000
STORE_CONDITIONALLY  0x1C200000 1                   : store access fault, 0x1c200000
LOAD                 0x1008A200                     : load access fault, 0x1008a200
STORE                0x1008A200 1                   : store access fault, 0x1008a200
STORE                0x1048A200 1                   : store access fault, 0x1048a200
STORE                0x1058A200 1                   : store access fault, 0x1058a200
STORE                0x1B08A200 1                   : store access fault, 0x1b08a200
ADD                  0x1B08A200 1                   : store access fault, 0x1b08a200
STORE                0x1B18A200 1                   : store access fault, 0x1b18a200
STORE                0x104143FE 1                   : store access fault, 0x104143fe
LOAD                 0x10400404                     : load access fault, 0x10400404
STORE                0x10400000 1                   : store access fault, 0x10400000
STORE                0x10000300 1                   : store access fault, 0x10000300
STORE                0x1B1007FC 1                   : store access fault, 0x1b1007fc
LOAD                 0x10404440                     : load access fault, 0x10404440
LOAD                 0x1B004440                     : load access fault, 0x1b004440
LOAD                 0x1C400000                     : load access fault, 0x1c400000
LOAD                 0x1C4FFFFC                     : load access fault, 0x1c4ffffc
STORE                0x1AFFFFFE 1                   : store access fault, 0x1afffffe
LOAD                 0x1B0FFFFE                     : load access fault, 0x1b0ffffe
STORE                0x1D000080 1                   : store access fault, 0x1d000080
LOAD                 0x1D000080                     : load access fault, 0x1d000080
LOAD                 0x1B204000                     : load access fault, 0x1b204000
STORE                0x1B204080 1                   : store access fault, 0x1b204080
LOAD                 0x1B204800                     : load access fault, 0x1b204800
LOAD                 0x1B2047FE                     : load access fault, 0x1b2047fe
STORE                0x1B204C00 1                   : store access fault, 0x1b204c00
LOAD                 0x1B2053FE                     : ran longer than its watchdog allows
LOAD                 0x1B205400                     : load access fault, 0x1b205400
STORE                0x1B201400 1                   : store access fault, 0x1b201400
STORE                0x1B201800 1                   : store access fault, 0x1b201800
STORE                0x10201800 1                   : store access fault, 0x10201800
STORE                0x10600000 1                   : store access fault, 0x10600000
LOAD                 0x1A103010                     : load access fault, 0x1a103010
STORE                0x1A103080 1                   : store access fault, 0x1a103080
STORE                0x1A104FFE 1                   : store access fault, 0x1a104ffe
STORE                0x1A105000 1                   : store access fault, 0x1a105000
LOAD                 0x1A104000                     : load access fault, 0x1a104000
LOAD                 0xFFFFFFFE                     : load access fault, 0xfffffffe
DMA_FROM             0x1C200000 64                  : load access fault, 0x1b204418
DMA_TO               0x1C200000 64                  : load access fault, 0x1b204418
DMA_TO               0x1C37FFC0 65                  : load access fault, 0x1b204418
DMA_TO               0x1C300000 0xFFFFFFFF          : load access fault, 0x1b204418
DMA_TO               0x1008A200 64                  : load access fault, 0x1b204418
DMA_TO               0x1B08A200 64                  : load access fault, 0x1b204418
DMA_TO               0x1048A200 64                  : load access fault, 0x1b204418
DMA_TO               0xFFFFFFFC 8                   : load access fault, 0x1b204418
DMA_TO               0x1C200000 0                   : done
SEND                 0x1C200000 64                  : load access fault, 0x1b205080
SEND                 0x1C37FFFF 2                   : load access fault, 0x1b205080
SEND                 0x1C300000 0xFFFFFFFF          : load access fault, 0x1b205080
SEND                 0x1C200000 0                   : 1 command refused
COPY_TO_HOST         0x1C200000 64                  : load access fault, 0x1b205080
COPY_TO_HOST         0x1C400000 4096                : load access fault, 0x1b205080
COPY_TO_HOST         0x1D000000 64                  : load access fault, 0x1b205080
COPY_FROM_HOST       0x1C200000 64                  : load access fault, 0x1b205080
COPY_FROM_HOST       0x1C37FFC0 65                  : load access fault, 0x1b205080
COPY_TO_HOST_AT      0x20 0 64                      : load access fault, 0x1b205080
COPY_TO_HOST_AT      0x30 0xFFFFF 2                 : load access fault, 0x1b205080
COPY_TO_HOST_AT      0x2F 0xFFFFFFFF 2              : load access fault, 0x1b205080
COPY_TO_HOST_AT      0xFFFFFFFF 0xFFFFFFFF 2        : load access fault, 0x1b205080
COPY_TO_HOST_AT      0x0FFFFFFF 0xFFFF0040 32       : load access fault, 0x1b205080
WRITE_TO_HOST_AT     0x20 0                         : load access fault, 0x1b205080
WRITE_TO_HOST_AT     0x30 0xFFFFC                   : load access fault, 0x1b205080
WRITE_TO_HOST_AT     0x0FFFFFFF 0xFFFF0040          : load access fault, 0x1b205080
COMMAND              6 0x3FF 0                      : 1 command refused
COMMAND              4 0xFFFFFFFE 0                 : 1 command refused
COMMAND              0xFFFFFFFF 0xFFFFFFFF 0        : 1 command refused
"""

# State that an attacker leaves on its HPU, or never frees. Both run on the only core, one after the other.
# The last column is the effect on the victim on the RTL, which isolates only by regions: this shows that the attacks
# work.
STAYS = """
NOTHING                                   : done                               | nothing
JUMP                       0x1D000000     : ran longer than its watchdog allows | nothing
JUMP                       0x1D100000     : instruction access fault, 0x1d100000 | nothing
JUMP                       0x1B000400     : instruction access fault, 0x1b000400 | nothing
USER_RETURN                0x1D000000     : ran longer than its watchdog allows | nothing
ENTER_THE_LOOP             0x1C200800     : store access fault, 0x1c2007f0     | nothing
ENTER_THE_TRAP_HANDLER                    : illegal instruction                | nothing
RETURN_WITH_SP             0x1C200800     : done                               | harms
RETURN_WITH_SP             0              : done                               | harms
RETURN_WITH_S0                            : done                               | harms
SPOIL_GP                                  : done                               | nothing
SPOIL_ARGS                                : done                               | harms
LOOP_OVER_THE_VICTIM                      : done                               | harms
LOOP_OVER_THE_TRAP_HANDLER                : environment call                   | harms
COPY_OVER_THE_STACK_LATE                  : done                               | harms
COPY_THE_STACK_LATE                       : done                               | tells
TELL_REGISTERS                            : done                               | tells
TELL_STACK                                : done                               | tells
TELL_COMMAND                              : done                               | tells
TELL_DMA                                  : done                               | tells
RING_TWICE                                : done                               | harms
RING_FOR_EVER                             : done                               | harms
REPORT_ERRORS                             : done                               | nothing
REPORT_FOR_EVER                           : ran longer than its watchdog allows | nothing
ASK_AGAIN                                 : done                               | nothing
WRITE_ALL_WORDS                           : done                               | nothing
WAIT_FOR_OTHERS                           : done                               | nothing
DMA_FLOOD                                 : ran longer than its watchdog allows | harms
SEND_FLOOD                                : ran longer than its watchdog allows | nothing
COPY_FLOOD                                : ran longer than its watchdog allows | nothing
WRITE_FLOOD                               : ran longer than its watchdog allows | nothing
FENCE_FLOOD                               : ran longer than its watchdog allows | nothing
ADD_FLOOD                                 : ran longer than its watchdog allows | nothing
PRINT_FLOOD                               : ran longer than its watchdog allows | nothing
SLEEP                                     : ran longer than its watchdog allows | nothing
"""


@dataclass(frozen=True)
class Attack:
    deed: str
    words: tuple[int, ...]
    said: str  # result of the attacker
    on_rtl: str  # result of the victim on the RTL

    def __str__(self) -> str:
        return " ".join((self.deed, *map(hex, self.words)))


def attacks(table: str) -> list[Attack]:
    """Rows of a table."""
    rows = []
    for line in table.strip().splitlines():
        what, said = line.split(":", 1)
        deed, *words = what.split()
        said, _, on_rtl = said.partition("|")
        rows.append(Attack(deed, tuple(int(word, 0) for word in words), said.strip(), on_rtl.strip()))
    return rows


def deeds() -> list[str]:
    """Names of the actions, by their numbers in packets."""
    names: str = re.findall(r"^enum deed \{(.*?)\};", SOURCE.read_text(), re.MULTILINE | re.DOTALL)[0]
    return re.findall(r"\w+", names)


@cache
def program() -> Path:
    return toolchain.build([SOURCE]).elf


def victims_packet(number: int) -> bytes:
    payload = bytes([number + 1]) * 160
    return frames.build(ip=4, protocol=frames.UDP, ports=(1000 + number, 7), payload=payload)


def run(
    folder: Path,
    deed: str,
    words: tuple[int, ...],
    cores: int,
    gap_ns: int,
    nic: str = "pspin",
    *,
    count: int = N,
    packet_bytes: int = 0x40_0000,
) -> spinet.Result:
    payload = struct.pack("<4I", *(deeds().index(deed), *words, 0, 0, 0)[:4])
    attack = frames.build(ip=4, protocol=frames.UDP, ports=(1, 666), payload=payload)
    packets = [attack if number % 2 else victims_packet(number) for number in range(count)]
    traffic = frames.write(folder / "traffic.pcap", packets, gap_ns=gap_ns)
    experiment = folder / "experiment.toml"
    experiment.write_text(
        f'program = "{program()}"\ntraffic = "{traffic}"\nlimit = "1 ms"\n'
        f'[nic]\npreset = "{nic}"\n'
        f'set = ["n_clusters={cores}", "cluster.n_cores={cores}", "isolation.watchdog_cycles={WATCHDOG}", '
        f'"l2.packet_bytes={packet_bytes}"]\n'
        '[[context]]\nhandler = "attack"\nmatch = "udp.dst_port == 666"\n'
        "handler_memory = { addr = 0x1C300000, size = 0x80000 }\n"
        f"host_memory = {{ addr = {ATTACKER_HOST}, size = {HOST_BYTES} }}\n"
        '[[context]]\nhandler = "victim"\n'
        "handler_memory = { addr = 0x1C200000, size = 4096 }\n"
        f"host_memory = {{ addr = {VICTIM_HOST}, size = 4096 }}\n"
    )
    return spinet.run(experiment=experiment)


def what_the_victim_has(result: spinet.Result) -> tuple[bytes, list[bytes]]:
    """Its writes to its host, and its packets that left the card."""
    sent = {packet.data for packet in result.sent}
    packets = [victims_packet(number) for number in range(0, N, 2)]
    return result.host_memory(VICTIM_HOST, 4096), [packet for packet in packets if packet in sent]


def describe(result: spinet.Result) -> str:
    """Result of the attacker's packets, which is the same for all, in one line."""
    assert result.complete, result.summary["ended"]["text"]
    said = []
    for trap in result.summary["traps"]:
        assert trap["first"]["context"] == "attack", f"the victim ends with {trap}"
        assert trap["count"] == N // 2
        said.append(f"{trap['cause']}, {trap['first']['value']}".replace(", 0x00000000", ""))
    for what in ("command", "copy"):
        if count := result.summary["output"][f"{what}_faults"]:
            said.append(f"{count // (N // 2)} {what} refused")
    return "; ".join(said) or "done"


@cache
def beside_nothing(folder: Path, cores: int, gap_ns: int, nic: str = "pspin") -> tuple[bytes, list[bytes]]:
    folder.mkdir()
    result = run(folder, "NOTHING", (), cores, gap_ns, nic)
    alone = what_the_victim_has(result)
    assert describe(result) == "done" and alone[0].startswith(b"\xee\xff\xc0\x10") and len(alone[1]) == N // 2
    return alone


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("beside_nothing")


def check(attack: Attack, cores: int, gap_ns: int, folder: Path, alone: Path) -> None:
    result = run(folder, attack.deed, attack.words, cores, gap_ns)
    assert describe(result) == attack.said
    assert what_the_victim_has(result) == beside_nothing(alone / f"{cores}", cores, gap_ns)
    assert SECRET not in result.host_memory(ATTACKER_HOST, HOST_BYTES)


@pytest.mark.parametrize("attack", attacks(REACHES), ids=str)
def test_what_an_attacker_reaches_for(attack: Attack, tmp_path: Path, alone: Path) -> None:
    check(attack, 2, 3000, tmp_path, alone)


@pytest.mark.parametrize("attack", attacks(STAYS), ids=str)
def test_what_an_attacker_leaves_behind(attack: Attack, tmp_path: Path, alone: Path) -> None:
    check(attack, 1, 50, tmp_path, alone)


@pytest.mark.parametrize("attack", attacks(STAYS), ids=str)
def test_what_it_does_on_the_rtl(attack: Attack, tmp_path: Path, alone: Path) -> None:
    result = run(tmp_path, attack.deed, attack.words, 1, 50, "pspin-rtl")
    harms = what_the_victim_has(result) != beside_nothing(alone / "rtl", 1, 50, "pspin-rtl")
    tells = SECRET in result.host_memory(ATTACKER_HOST, HOST_BYTES)
    assert ("harms" if harms else "tells" if tells else "nothing") == attack.on_rtl


def test_on_the_rtl_a_flood_of_copies_harms_by_the_victims_own_watchdog(
    tmp_path: Path, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harmed = run(tmp_path, "DMA_FLOOD", (), 1, 50, "pspin-rtl").packets.to_pylist()
    attack, victim = (next(row for row in harmed if row["frame"] == frame) for frame in (1, 2))
    # The victim begins at once. Its issue waits for the end of the attack's task, and its watchdog expires before that.
    assert victim["start_ps"] - attack["end_ps"] < 100_000
    assert attack["end_ps"] + 14_000_000 < attack["task_done_ps"] < attack["end_ps"] + DRAINED * 1000
    assert victim["trap_cause"] == 24 and victim["end_ps"] < attack["task_done_ps"]
    monkeypatch.setitem(globals(), "WATCHDOG", DRAINED)
    whole = run(tmp_path, "DMA_FLOOD", (), 1, 50, "pspin-rtl")
    assert what_the_victim_has(whole) == beside_nothing(alone / "rtl", 1, 50, "pspin-rtl")


@pytest.mark.parametrize(("nic", "in_l1", "in_l2"), [("pspin", 0, 0), ("pspin-rtl", 9, 1)])
def test_the_tail_of_a_packet(nic: str, in_l1: int, in_l2: int, tmp_path: Path) -> None:
    """The last word of the attacker's packet of 58 bytes: in L1 it is at the place of the victim's ninth packet, in L2
    at that of its first."""
    result = run(tmp_path, "TELL_TAIL_IN_L1", (), 1, 3000, nic)
    assert result.host_memory(ATTACKER_HOST, 4) == bytes((0, 0, in_l1, in_l1))
    # Packet memory for 12 packets of each, of 256 and 64 bytes there, and one more of the victim.
    result = run(tmp_path, "TELL_TAIL_IN_L2", (), 1, 3000, nic, count=26, packet_bytes=4096)
    assert result.host_memory(ATTACKER_HOST, 4) == bytes((0, 0, in_l2, in_l2))


def test_the_tables_try_all_deeds() -> None:
    assert {attack.deed for attack in attacks(REACHES) + attacks(STAYS)} | {
        "TELL_TAIL_IN_L1",
        "TELL_TAIL_IN_L2",
    } == set(deeds())
