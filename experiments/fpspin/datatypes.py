# SPDX-License-Identifier: Apache-2.0
"""MPI datatypes over 1 to 16 parallel messages.

Each message is sent with window 1, so only one of its packets is in flight. FPsPIN's handler walks over a segment of
MPITypes and keeps a state for each message. It takes about 6,300 cycles for a packet with one piece and 9,000 for four
or five, so the HPUs are the bottleneck up to 16 messages. The handler here, `handlers/datatype.c`, is another program:
it handles nested vectors without state. It takes a small part of these cycles, so the sender's round trip is the
bottleneck. Only the shape of the rates can be compared: they are linear in the number of messages, and pieces cost
time.

With overlap, the host's program starts the receive, multiplies matrices for as long as the transfer takes alone, and
then looks for the messages. The overlap is the time of the multiplication, relative to that of both. Meanwhile the
card unpacks without the host: the handlers of the last packets wait for it. In the model the multiplication and the
card do not share memory bandwidth. FPsPIN's multiplication is slower beside the transfer, which the ratio does not
show.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from experiments.fpspin import host
from experiments.fpspin.common import PAPER, measured
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "MPI datatypes over parallel messages"
SOURCE = f"{PAPER}; spcl/FPsPIN f5feca1, examples/datatypes/data"
ELEMENT = 110_592  # bytes of data in an element of both types
DATA = host.MOST_DATA // 4 * 4
PARALLEL = (1, 2, 4, 8, 16)
ELEMENTS = 2


@dataclass(frozen=True, kw_only=True)
class Nested:
    """Blocks of bytes, repeated.

    Attributes
    ----------
    levels
        Count and stride in bytes, innermost first; elements follow `extent` bytes apart.
    """

    block: int
    levels: tuple[tuple[int, int], ...]
    extent: int

    def pieces(self, elements: int) -> Iterator[int]:
        """Offsets of the blocks, in the order of the message."""
        places = [0]
        for count, stride in (*self.levels, (elements, self.extent)):
            places = [i * stride + place for i in range(count) for place in places]
        return iter(places)

    def scatter(self, data: bytes, elements: int) -> bytes:
        """The buffer with the unpacked message."""
        buffer = bytearray(self.extent * (elements - 1) + self.extent)
        for number, place in enumerate(self.pieces(elements)):
            buffer[place : place + self.block] = data[number * self.block : (number + 1) * self.block]
        return bytes(buffer)

    def words(self, slot_bytes: int) -> bytes:
        """The type in the handler's format."""
        levels = [*self.levels, (0, self.extent)]
        return struct.pack("<4I", self.block, len(levels), slot_bytes, 0) + b"".join(
            struct.pack("<2I", *level) for level in levels
        )


# hvec(2 1 18432)[hvec(2 1 12288)[hvec(2 1 6144)[vec(32 6 8)[ctg(18)[float]]]]], of MILC; and ctg(27648)[float]
TYPES = {
    "complex": Nested(block=432, levels=((32, 576), (2, 6144), (2, 12288), (2, 18432)), extent=55_152),
    "simple": Nested(block=ELEMENT, levels=(), extent=ELEMENT),
}


def points() -> list[Point]:
    """Types and numbers of messages."""
    return [
        Point(
            name=f"{kind}, {parallel} message{'s' * (parallel > 1)}",
            settings={"kind": kind, "parallel": parallel},
            quick=parallel == 1,
        )
        for kind in TYPES
        for parallel in PARALLEL
    ]


def measure(*, kind: str, parallel: int) -> dict[str, float]:
    """Rate of all messages, cycles of a payload handler, and rate and overlap with a multiplication on the host."""
    computer, alone = receive(TYPES[kind], parallel=parallel, elements=ELEMENTS)
    total, count = computer.raw(0)
    _, both = receive(TYPES[kind], parallel=parallel, elements=ELEMENTS, multiply=alone)
    bits = parallel * ELEMENTS * ELEMENT * 8
    return {
        "rate": bits / alone * 1000,
        "handler": total / count,
        "rate beside the multiplication": bits / both * 1000,
        "overlap": alone / both,
    }


def receive(kind: Nested, *, parallel: int, elements: int, multiply: float = 0.0) -> tuple[host.Computer, float]:
    """Send messages, each packet after the acknowledgement of the one before, and check the buffer.

    The host first computes for `multiply` nanoseconds, and then answers calls. Returns the nanoseconds until it has
    answered all.
    """
    slot = -(-kind.extent * elements // host.PAGE) * host.PAGE
    computer = host.Computer(
        program="datatype.c", rule_set=host.SLMP, handler="datatype", host_bytes=parallel * slot, memory_bytes=4096
    )
    computer.memory.write(kind.words(slot), offset=2 * 8 * host.N_HPUS)
    size = elements * ELEMENT
    messages = [bytes((5 * i + i // 253 + 31 * m) & 0xFF for i in range(size)) for m in range(parallel)]
    todo = [list(range(0, size, DATA)) for _ in messages]
    free = [computer.now + 100.0] * parallel
    start = computer.now
    computer.computes_until = start + multiply
    while any(todo) or any(free) or not computer.machine.is_idle:
        for m, offsets in enumerate(todo):
            if offsets and free[m] and free[m] <= computer.now:
                offset = offsets.pop(0)
                flags = host.SYN | (0 if offsets else host.END)
                data = messages[m][offset : offset + DATA]
                computer.machine.send([host.slmp(flags, m << 24, offset, data, src_port=40000 + m)])
                free[m] = 0.0
        computer.advance(min([computer.now + host.TICK_NS, *(at for at in free if at > computer.now)]))
        for sent in computer.machine.take_sent():
            message = sent.data[44]
            known = sent.time_ns + computer.costs.acknowledged + computer.costs.send
            free[message] = known if todo[message] else 0.0
        if not any(todo) and not any(free) and computer.machine.is_idle:
            break
    for m, sent_data in enumerate(messages):
        found = computer.host.read(offset=host.N_HPUS * host.PAGE + m * slot, size=kind.extent * elements)
        assert found == kind.scatter(sent_data, elements), f"message {m} lies where its type says"
    slots = sorted(length - host.PAGE for _, _, length in computer.calls)
    assert slots == list(range(parallel)), "the host hears of each message once"
    return computer, computer.now - start


def claims(results: Results) -> Iterator[Claim]:
    """Claims about the shape of the rates."""
    for kind in TYPES:
        rows = {
            int(row["messages"]): float(row["alone_mbps"])
            for row in measured("datatypes")
            if row["type"] == kind and row["elements"] == "20"
        }
        wanted = rows[16] / rows[1]
        found = results.value(f"{kind}, 16 messages", "rate") / results.value(f"{kind}, 1 message", "rate")
        yield Claim(
            text=f"{kind}: 16 messages are {wanted:.1f} times as fast as one (within 10 %)",
            holds=abs(found - wanted) <= 0.1 * wanted,
            found=f"{found:.1f} times",
        )
    overlaps = [results.value(point.name, "overlap") for point in points()]
    lowest = min(float(row["overlap"]) for row in measured("datatypes"))
    yield Claim(
        text=f"The lowest overlap is at least {lowest:.3f}, as FPsPIN's",
        holds=min(overlaps) >= lowest,
        found=f"{min(overlaps):.4f}",
    )
    ours = [results.value(f"{kind}, 1 message", "handler") for kind in ("complex", "simple")]
    yield Claim(
        text="A packet of the complex type takes 1.42 times the cycles of the simple type: 9,000 and 6,300",
        holds=None,
        found=f"{ours[0] / ours[1]:.2f} times: {ours[0]:.0f} and {ours[1]:.0f} cycles",
    )


def plot(results: Results) -> Figure:
    """Rates and overlap by messages."""
    curves, overlaps = [], []
    for look, kind in enumerate(TYPES):
        x, y = results.series("parallel", "rate", kind=kind)
        curves.append(plots.Curve(label=f"{kind}: spinet", x=x, y=y, look=look))
        series = results.published_series("parallel", "rate", reference="FPGA", kind=kind)
        curves.append(plots.Curve(label=f"{kind}: FPGA", kind="published", look=look, **series))
        x, y = results.series("parallel", "overlap", kind=kind)
        overlaps.append(plots.Curve(label=f"{kind}: spinet", x=x, y=y, look=look))
        series = results.published_series("parallel", "overlap", reference="FPGA", kind=kind)
        overlaps.append(plots.Curve(label=f"{kind}: FPGA", kind="published", look=look, **series))
    rates = plots.Panel(x_label="parallel messages", y_label="rate in Mbit/s", curves=curves, x_base=2, y_base=10)
    overlap = plots.Panel(x_label="parallel messages", y_label="overlap", curves=overlaps, x_base=2)
    ours = f"spinet: preset fpspin, messages of {ELEMENTS * ELEMENT:,} bytes, another handler."
    caption = f"FPGA: {SOURCE}; medians of 20, messages of 2,211,840 bytes. {ours}"
    return plots.curves([rates, overlap], title=TITLE, caption=caption)
