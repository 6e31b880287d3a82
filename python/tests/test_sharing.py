# SPDX-License-Identifier: Apache-2.0
"""Shared resources that one tenant can exhaust: the delay of a victim's packets, and its losses.

In each scene a hostile tenant takes the most it can of one resource, by permitted actions of handlers that their
watchdog ends, while a victim has modest traffic. The table of docs/machines/pspin-sharing.md is made here, by
`UPDATE_EXPECT=1`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest
import spinet
from spinet.machine import Context, Tenant

import frames
from test_tenants import (
    COPIES,
    FETCH,
    HANDLERS,
    HELD,
    N_HPUS,
    PACKET_BEATS,
    PAGE_BEATS,
    UNITS,
    N,
    settle_in,
    victim_packets,
)

PAGE = Path("docs/machines/pspin-sharing.md")
WATCHDOG = 2_000
UNSHARED = ("sharing.reserved_queues=0", "sharing.turns=false", "sharing.packet_memory_percent=100")
# Packet memory for a few hundred packets, so that it is soon full.
SMALL = ("l2.packet_bytes=262144",)


# Allowed delay of the victim's slowest packet compared with a run alone, in cycles, and the reason.
#
# BURST   Some hundred packets come in before the victim's, and short handlers run on them.
# ROUNDS  20 tasks wait at most in a cluster of 8 HPUs: three rounds of handlers that their watchdog ends (HELD), and
#         one more in which a task of the hostile tenant is sent whose turn it is.
# READS   A page of 4 KiB from the host takes 86 cycles at 384.1 Gbit/s, otherwise as UNITS.
# MISSES  Each HPU has a turn, and each turn is a page that the translation cache has not: four tables.
BURST = 1_000
ROUNDS = 4 * HELD
ROOM = 262_144 // 2 // 64  # cycles in which half of that packet memory is filled
READS = 5 * (N_HPUS + 7) * 86
MISSES = N_HPUS * 4 * 80
RECORD = 400  # cycles in which an HPU writes an error to the host


@dataclass(frozen=True, kw_only=True)
class Hog:
    """A hostile tenant: its handlers, packets and messages, and the way in which it attacks the victim."""

    takes: str
    bound: str
    late: int
    handler: str
    count: int
    message: str = "each"
    size: int = 64
    every: str | None = None
    flows: int = 1
    first: bool = False  # its packets come before the victim has a rule
    lead: str | None = None  # its packets begin so long before the victim's
    watchdog: int = WATCHDOG  # cycles
    set: tuple[str, ...] = ()


def unended(takes: str, bound: str, *, first: bool = False) -> Hog:
    """Messages whose last packet never arrives."""
    message = "by udp.src_port count 2"
    return Hog(
        takes=takes, bound=bound, late=BURST, handler="quiet", count=300, flows=300, message=message, first=first
    )


def by_11_hpus(takes: str, bound: str, handler: str, *, late: int) -> Hog:
    """Handlers that begin every 190 ns and run for 2,000 cycles keep 11 of 32 HPUs, never all of a cluster."""
    takes = f"11 HPUs: {takes}"
    return Hog(takes=takes, bound=bound, late=late, handler=handler, count=24, every="190 ns")


# By the name of a row of the table.
HOGS = {
    "message queues": unended("300 messages that never end", "`reserved_queues` of each tenant"),
    "message queues, before the victim came": unended(
        "the same, alone on the card", "what was borrowed goes back", first=True
    ),
    "packet descriptors": Hog(
        takes="400 packets of one message, behind a header handler without end",
        bound="turns: its requests are deferred",
        handler="keep",
        count=400,
        message="by udp.dst_port count 1000",
        late=BURST,
    ),
    "packet memory (of 256 KiB)": Hog(
        takes="2,000 packets of 1,442 bytes, each for a handler without end",
        bound="`packet_memory_percent`; watchdogs",
        handler="run",
        count=2000,
        size=1442,
        set=SMALL,
        late=ROUNDS + ROOM,
    ),
    "HPUs, dispatcher": Hog(
        takes="128 handlers without end",
        bound="watchdogs: 3 rounds in a cluster; turns",
        handler="run",
        count=128,
        late=ROUNDS,
    ),
    "HPUs, by many messages": Hog(
        takes="512 handlers without end, each of its message", bound="the same", handler="run", count=512, late=ROUNDS
    ),
    "task FIFOs, packet rings in L1": Hog(
        takes="96 packets of 8 KiB, each for a handler that is ended after 8,000 cycles",
        bound="the same",
        handler="run",
        count=96,
        size=8192,
        lead="13 us",
        watchdog=8_000,
        late=4 * (8_000 + 400),
    ),
    "banks of L1": by_11_hpus("AMOs on one word", "banks take turns", "add", late=FETCH),
    "L2 handler memory": by_11_hpus("loads of one word", "cores take turns", "load", late=FETCH),
    "cluster DMA": by_11_hpus("copies of 4 KiB", "cores take turns, by pages", "copy", late=COPIES * PAGE_BEATS),
    "commands, NIC outbound": by_11_hpus(
        "packets of 1 KiB", "cores and clusters take turns; 7 commands at a unit", "send", late=UNITS * PACKET_BEATS
    ),
    "commands, DMA to the host": by_11_hpus("4 KiB each", "the same, by pages", "to_host", late=UNITS * PAGE_BEATS),
    "commands, DMA from the host": by_11_hpus("4 KiB each", "the same", "from_host", late=READS),
    "HostDirect, cache of the IOMMU": by_11_hpus(
        "a word to each of 256 pages, 64 being cached", "the same; 320 cycles for each miss", "pages", late=MISSES
    ),
    "host events, error records": Hog(
        takes="a trap in 10 ns",
        bound="one for each packet; the event never waits",
        handler="trap",
        count=400,
        every="10 ns",
        late=RECORD,
    ),
    "feedback": Hog(
        takes="64-byte packets, one in 2 ns",
        bound="clusters take turns",
        handler="quiet",
        count=2000,
        every="2 ns",
        late=FETCH,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Result of the victim's packets."""

    lost: int  # not handled by its handlers
    mean_ns: float
    max_ns: int  # from its arrival at the card until it is done


def attack(hog: Hog, attacker: Tenant) -> Context:
    return attacker.context(
        program=attacker.load(HANDLERS / "hogs.c"),
        handler=hog.handler,
        memory=attacker.allocate(8192),
        scratchpad=attacker.allocate(8192, kind="scratchpad"),
        host=attacker.register(1 << 20),
        watchdog_cycles=hog.watchdog,
        delivery={"when_full": "stall"},
    )


def packets(hog: Hog) -> list[bytes]:
    return [
        frames.build(ip=4, protocol=frames.UDP, ports=(2000 + n % hog.flows, 666), payload=bytes(hog.size - 42))
        for n in range(hog.count)
    ]


@cache
def scene(name: str, *, shared: bool, hostile: bool = True) -> Seen:
    """The victim beside a hostile tenant, or beside one whose packets no rule takes."""
    hog = HOGS[name]
    settings = hog.set if shared else (*UNSHARED, *hog.set)
    with spinet.Machine(set=settings) as machine:
        attacker = machine.tenant("attacker", scope="udp.dst_port == 666")
        hostile_context = attack(hog, attacker)
        if hostile:
            hostile_context.install(message=hog.message)
        if hog.first:
            machine.run(until="50 us")
            machine.send(packets(hog), every=hog.every)
            machine.run(until="60 us")
        *_others, context, _scratchpad = settle_in(machine)
        machine.run(until="70 us")
        if not hog.first:
            machine.send(packets(hog), every=hog.every)
        if hog.lead is not None:
            machine.step(hog.lead)
        machine.send(victim_packets(), every="100 ns")
        machine.step("300 us")
        rows = [row for row in machine.take_packets().to_pylist() if row["context"] == context.number - 1]
        latency = [(row["done_ps"] - row["arrival_ps"]) // 1000 for row in rows if row["fate"] == "sent_and_to_host"]
        return Seen(lost=N - len(latency), mean_ns=sum(latency) / max(1, len(latency)), max_ns=max(latency, default=0))


def shown(seen: Seen) -> str:
    lost = f"{seen.lost} of {N} lost" if seen.lost else "none lost"
    return f"{lost}; {seen.mean_ns:,.0f}, {seen.max_ns:,}" if seen.lost < N else lost


def table() -> str:
    rows = [
        "| what is shared | what a tenant takes | alone | `[sharing]` off | on | what bounds it |",
        "|---|---|---|---|---|---|",
    ]
    for name, hog in HOGS.items():
        alone, off, on = (
            shown(seen).removeprefix("none lost; ")
            for seen in (scene(name, shared=True, hostile=False), scene(name, shared=False), scene(name, shared=True))
        )
        rows.append(f"| {name} | {hog.takes} | {alone} | {off} | {on} | {hog.bound} |")
    return "\n".join(rows)


def test_the_page_has_what_is_measured() -> None:
    text = PAGE.read_text()
    begin, end = "<!-- made by python/tests/test_sharing.py -->\n", "<!-- end of sharing -->"
    found = re.findall(f"{begin}(.*?){end}", text, re.DOTALL)
    assert len(found) == 1
    measured = table() + "\n"
    if os.environ.get("UPDATE_EXPECT"):
        PAGE.write_text(text.replace(begin + found[0] + end, begin + measured + end))
        return
    # To a tenth, or 50 ns: the table shows waits, not single cycles.
    number = r"\d[\d,]*"
    assert re.sub(number, "#", found[0]) == re.sub(number, "#", measured)
    was, now = ([int(text.replace(",", "")) for text in re.findall(number, rows)] for rows in (found[0], measured))
    assert all(abs(a - b) <= max(50, b // 10) for a, b in zip(was, now, strict=True))


def handled(machine: spinet.Machine) -> int:
    """Packets that handlers had since the last call."""
    return sum(row["fate"] != "ordinary" for row in machine.take_packets().to_pylist())


def test_who_leaves_a_borrowed_queue_is_reported() -> None:
    hog = HOGS["message queues, before the victim came"]
    with spinet.Machine() as machine:
        assert machine.capabilities.reserved_message_queues == 16
        attacker = machine.tenant("attacker", scope="udp.dst_port == 666")
        hostile = attack(hog, attacker)
        hostile.install(message=hog.message)
        machine.run(until="50 us")
        machine.send(packets(hog))
        machine.step("10 us")
        assert handled(machine) == 256 and attacker.take_events() == ()
        victim = settle_in(machine)[0]
        machine.step("10 us")
        machine.send(victim_packets())
        machine.step("20 us")
        # The number that the victim uses at the same time, at most the number reserved for it.
        heard = attacker.take_events()
        assert 1 <= len(heard) <= 16 and {event.what for event in heard} == {"message_evicted"}
        assert len({event.numbers["msgid"] for event in heard}) == len(heard)
        error = hostile.error()
        assert error is not None and error.cause == 28
        assert {event.what for event in victim.take_events()} == {"message_done"}
        # The next packet of the first flows begins a message, for which no queue is left.
        assert handled(machine) == N
        machine.send(packets(hog)[:1])
        machine.step("10 us")
        assert handled(machine) == 0


@pytest.mark.parametrize("name", HOGS)
def test_a_hog_takes_nothing_from_the_victim(name: str) -> None:
    seen, alone = scene(name, shared=True), scene(name, shared=True, hostile=False)
    assert (seen.lost, alone.lost) == (0, 0)
    assert seen.max_ns <= alone.max_ns + HOGS[name].late
