# SPDX-License-Identifier: Apache-2.0
"""The computer around FPsPIN: it answers host calls, and sends over SLMP from the second port.

`Costs` states the times of its software. Its programs look at the card every `TICK_NS`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import spinet
from spinet import _frames

HERE = Path(__file__).resolve().parent
HANDLERS = HERE / "handlers"
MHZ = 40
N_HPUS, PAGE, DATA = 16, 4096, 64
ANSWERS, COUNTERS = 0, 8 * N_HPUS  # offsets in the context's handler memory
TICK_NS = 250

# IPv4 without options, and below a protocol that is not in fragments. FPsPIN's own rules compare only the Ethernet type
# and the protocol, so that its handlers would take options for the header of UDP.
IPV4 = {"word": 3, "mask": 0xFFFFFF00, "low": 0x08004500}


def _whole(protocol: int) -> dict[str, int]:
    return {"word": 5, "mask": 0x3FFF00FF, "low": protocol}


ECHO_REQUEST = {"rules": [IPV4, _whole(1), {"word": 8, "mask": 0xFF00, "low": 0x0800}]}
UDP = {"rules": [IPV4, _whole(17)]}
SLMP_PORT = 9330
SLMP = {
    "rules": [*UDP["rules"], {"word": 9, "mask": 0xFFFF0000, "low": SLMP_PORT << 16}],
    "end": {"word": 10, "mask": 0x8000, "low": 0x8000},
}
END, SYN, ACK = 0x8000, 0x4000, 0x2000
SLMP_HEADERS = 14 + 20 + 8 + 10
CARD, TESTER = b"\x0a\0\0\1", b"\x0a\0\0\2"
MOST_DATA = 1462  # largest data of an SLMP packet, before it is rounded down to the sender's alignment


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Times of the host's software, in nanoseconds."""

    # assumed: a loop over 16 flags in coherent memory, and a system call that writes a word of the NIC
    call: float = 2000.0
    # measured: (3916.9 - 550.2) / 1400 cycles of 25 ns, data of 2023: the host's checksum in coherent memory
    checksum_byte: float = 60.1
    # measured: 223,074 us for the 74,473 packets of 104,857,600 bytes, one thread, window 64: a busy sender
    send: float = 2995.0
    # measured: 21.32 us a packet at window 1 (104,857,600 bytes), without the 7.35 us in the card
    acknowledged: float = 13970.0


def ipv4(protocol: int, payload: bytes) -> bytes:
    """An Ethernet frame from the tester to the card."""
    return _frames.ipv4(protocol, payload, source=TESTER, target=CARD)


def udp(payload: bytes, *, port: int, src_port: int = 40000) -> bytes:
    """A UDP packet without a checksum."""
    return _frames.udp(payload, source=TESTER, target=CARD, ports=(src_port, port))


def ping(size: int, *, number: int = 1) -> bytes:
    """An echo request with `size` bytes of data."""
    data = bytes(i & 0xFF for i in range(size))
    message = struct.pack(">BBHHH", 8, 0, 0, 7, number) + data
    return ipv4(1, message[:2] + struct.pack(">H", _frames.checksum(message)) + message[4:])


def slmp(flags: int, message: int, offset: int, data: bytes, *, src_port: int = 40000) -> bytes:
    """A packet of SLMP."""
    return udp(struct.pack(">HII", flags, message, offset) + data, port=SLMP_PORT, src_port=src_port)


@dataclass(kw_only=True)
class Computer:
    """A card with one context, and the host's program, which answers calls of handlers.

    Attributes
    ----------
    answer
        Gets the data of a call; returns the new data, and the nanoseconds that the host needs for it.
    calls
        Time, HPU and length of each call.
    computes_until
        Until this time the program computes, and does not look at the card.
    """

    program: str
    rule_set: Mapping[str, Any]
    defines: Mapping[str, str | int] = field(default_factory=dict)
    handler: str | None = None
    host_bytes: int = 1 << 20
    costs: Costs = field(default_factory=Costs)
    answer: Callable[[bytes], tuple[bytes, float]] = lambda data: (data, 0.0)
    nic: str = "fpspin"
    settings: Mapping[str, int] = field(default_factory=dict)
    memory_bytes: int = 4096
    calls: list[tuple[int, int, int]] = field(default_factory=list)
    computes_until: float = 0.0

    def __post_init__(self) -> None:
        """Load the handlers and install the rules."""
        self.machine = spinet.Machine(nic=self.nic, set=self.settings)
        tenant = self.machine.tenant("fpspin")
        self.memory = tenant.allocate(self.memory_bytes)
        self.host = tenant.register(N_HPUS * PAGE + self.host_bytes)
        loaded = tenant.load(HANDLERS / self.program, defines=dict(self.defines))
        scratchpad = tenant.allocate(64, kind="scratchpad")
        self.context = tenant.context(
            program=loaded, handler=self.handler, memory=self.memory, host=self.host, scratchpad=scratchpad
        )
        self.context.install(rule_set=self.rule_set)
        self.tenant = tenant
        self._numbers = [0] * N_HPUS
        self._answers: list[tuple[float, int, bytes]] = []
        self.machine.take_sent()

    @property
    def now(self) -> float:
        """Simulated nanoseconds."""
        return self.machine.now_ns

    def advance(self, until: float) -> None:
        """Let time pass, in ticks, and answer calls."""
        while self.now < until:
            due = [at for at, _, _ in self._answers]
            step = min([until, self.now + TICK_NS, *due])
            self.machine.run(until=f"{max(step, self.now + 25):.0f} ns")
            if self.now >= self.computes_until:
                self._look()

    def _look(self) -> None:
        flags = self.host.read(offset=0, size=(N_HPUS - 1) * PAGE + 8)
        for hpu in range(N_HPUS):
            number = flags[hpu * PAGE]
            if number == self._numbers[hpu]:
                continue
            self._numbers[hpu] = number
            length = int.from_bytes(flags[hpu * PAGE + 1 : hpu * PAGE + 5], "little")
            self.calls.append((int(self.now), hpu, length))
            place = hpu * PAGE + DATA
            time = 0.0
            if length <= PAGE - DATA:
                data, time = self.answer(self.host.read(offset=place, size=length))
                self.host.write(data, offset=place)
                length = len(data)
            word = struct.pack("<BIHB", number, length, hpu, 0)
            self._answers.append((self.now + self.costs.call + time, hpu, word))
        for due in [each for each in self._answers if each[0] <= self.now]:
            self._answers.remove(due)
            self.memory.write(due[2], offset=ANSWERS + 8 * due[1], wait=False)

    def ask(self, packet: bytes, *, within: float = 1e6) -> tuple[bytes, float]:
        """Send a packet and wait for the answer: the packet, and the nanoseconds until it left the card."""
        start, end = self.now, self.now + within
        self.machine.send([packet])
        while self.now < end:
            self.advance(self.now + TICK_NS)
            sent = self.machine.take_sent()
            if sent:
                while not self.machine.is_idle:  # the handler still counts
                    self.advance(self.now + TICK_NS)
                return sent[0].data, sent[0].time_ns - start
        raise RuntimeError(f"no answer within {within} ns")

    def raw(self, number: int) -> tuple[int, int]:
        """Sum and count of one of the handlers' counters."""
        total, count = struct.unpack("<II", self.memory.read(offset=COUNTERS + 8 * number, size=8))
        return total, count


def answer_echo(costs: Costs) -> Callable[[bytes], tuple[bytes, float]]:
    """Complete an ICMP echo: type and checksum."""

    def answer(packet: bytes) -> tuple[bytes, float]:
        length = struct.unpack(">H", packet[16:18])[0]
        message = b"\0" + packet[35:36] + b"\0\0" + packet[38 : 14 + length]
        time = costs.checksum_byte * len(message)
        reply = packet[:34] + message[:2] + struct.pack(">H", _frames.checksum(message)) + message[4:]
        return reply, time

    return answer


@dataclass(frozen=True, kw_only=True)
class Transfer:
    """A file sent over SLMP.

    Attributes
    ----------
    elapsed
        From the first packet until all acknowledgements are there, in nanoseconds.
    received
        The bytes in host memory.
    """

    elapsed: float
    n_packets: int
    received: bytes
    n_acknowledged: int
    complete: bool


def transfer(
    data: bytes,
    *,
    window: int,
    threads: int = 1,
    align: int = 64,
    message: int = 0x01020304,
    costs: Costs | None = None,
    gap: float = 0.0,
    within: float = 1e9,
) -> Transfer:
    """Send `data` as SLMP's sender does: the first packet alone, then threads with a window each, then the last packet.

    A thread sends a packet every `costs.send`. When its window is used up, it waits for acknowledgements of any packet.
    With window 0, only the first and the last packet ask for an acknowledgement.
    """
    costs = costs or Costs()
    computer = Computer(
        program="slmp_receive.c", rule_set=SLMP, host_bytes=len(data) + PAGE, memory_bytes=4096, costs=costs
    )
    size = MOST_DATA // align * align
    offsets = list(range(0, len(data), size)) or [0]
    acknowledged: list[float] = []  # when the sender knows of each

    def pass_time(until: float) -> None:
        computer.advance(until)
        acknowledged.extend(sent.time_ns + costs.acknowledged for sent in computer.machine.take_sent())

    def send(offset: int, flags: int) -> None:
        computer.machine.send([slmp(flags, message, offset, data[offset : offset + size])])

    start = computer.now
    end = start + within
    only = len(offsets) == 1
    pass_time(computer.now + costs.send)
    send(0, SYN | (END if only else 0))
    known = 0  # acknowledgements that were used

    def ready(number: int) -> bool:
        return len(acknowledged) > number and sorted(acknowledged)[number] <= computer.now

    while not ready(0) and computer.now < end:
        pass_time(computer.now + TICK_NS)
    known = 1
    middle, last = offsets[1:-1], offsets[-1:] if not only else []
    share = -(-len(middle) // threads)
    lists = [middle[i * share : (i + 1) * share] for i in range(threads)]
    left = [-(-window // threads)] * threads
    free = [computer.now] * threads
    flags = SYN if window else 0
    outstanding = 0
    while any(lists) and computer.now < end:
        for thread, todo in enumerate(lists):
            if not todo or free[thread] > computer.now:
                continue
            if window and left[thread] == 0:
                while left[thread] < -(-window // threads) and ready(known):
                    left[thread] += 1
                    known += 1
                    outstanding -= 1
                if left[thread] == 0:
                    continue
            send(todo.pop(0), flags)
            if window:
                left[thread] -= 1
                outstanding += 1
            free[thread] = computer.now + costs.send + gap
        busy = [at for thread, at in enumerate(free) if at > computer.now and lists[thread]]
        pass_time(min([computer.now + TICK_NS, *busy]))
    pass_time(max([computer.now, *free]))
    for offset in last:
        send(offset, SYN | END)
        outstanding += 1
    while not ready(known + outstanding - 1) and outstanding and computer.now < end:
        pass_time(computer.now + TICK_NS)
    elapsed = computer.now - start
    while not computer.machine.is_idle and computer.now < end:
        pass_time(computer.now + TICK_NS)
    lengths = [length for _, _, length in computer.calls]
    return Transfer(
        elapsed=elapsed,
        n_packets=len(offsets),
        received=computer.host.read(offset=N_HPUS * PAGE, size=len(data)),
        n_acknowledged=len(acknowledged),
        complete=lengths == [len(data)],
    )
