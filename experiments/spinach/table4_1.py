# SPDX-License-Identifier: Apache-2.0
"""Table 4.1: instructions and accesses of a frame.

The 10 Gigabit NIC with one core at 400 MHz and 1472-byte datagrams in both directions, so the core never waits for
work. Instructions of the functions of a task are divided by the frames of its direction, from 1 to 4 ms. Accesses are
counted for the whole program, including dispatch and registers, for one sent and one received frame. The Tigon-2's
firmware (two CPUs, 1472 bytes) is shown for comparison, because the thesis derived its handlers from that card's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import ARITHMETIC, LINE_RATE, TENGIG, THESIS, Steady, tengig, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Instructions a frame"
SOURCE = f"{THESIS}, Table 4.1, 4.1.1"

PUBLISHED = {  # instructions, accesses
    "fetch send descriptors": (24.5, 19.6),
    "send frame": (256.9, 92.0),
    "fetch receive descriptors": (12.1, 12.3),
    "receive frame": (241.0, 98.8),
}
FUNCTIONS = {
    "tengig": {
        "fetch send descriptors": ("fetch_send_descriptors",),
        "send frame": (
            "fetch_frames",
            "take_frame_reads",
            "take_reads",
            "reads_ready",
            "read_done",
            "commit_reads",
            "commit_send",
        ),
        "fetch receive descriptors": (
            "fetch_receive_descriptors",
            "fetch_mini_descriptors",
            "fetch_buffers",
            "mark_buffers",
            "mark_mini_buffers",
        ),
        "receive frame": (
            "place_frames",
            "frames_arrived",
            "add_sums",
            "take_writes",
            "writes_ready",
            "write_done",
            "commit_writes",
            "commit_receive",
        ),
    },
    "tigon2": {
        "fetch send descriptors": ("send_descriptors",),
        "send frame": ("send_data", "dma_read_done", "send_consumer_update"),
        "fetch receive descriptors": ("standard_descriptors", "receive_descriptors_arrived"),
        "receive frame": ("receive", "dma_write_done", "return_producer_update"),
    },
}


def points() -> list[Point]:
    """One point for each of two cards."""
    names = {"tengig": "10 Gigabit NIC", "tigon2": "Tigon-2"}
    return [Point(name=name, settings={"card": card}, quick=card == "tengig") for card, name in names.items()]


def measure(*, card: str) -> dict[str, float]:
    """Instructions a frame by task, and data accesses of one sent and one received frame."""
    if card == "tengig":
        early, late = (tengig(cores=1, mhz=400, limit_ms=ms, profile=True) for ms in (1, 4))
    else:
        early, late = (tigon2(cpus=2, size=1472, limit_ms=ms, profile=True) for ms in (4, 12))
    steady = Steady(early, late)
    functions = steady.functions("instructions")
    frames = {"send": steady.frames("sent"), "receive": steady.frames("received")}
    found = {
        task: sum(functions[name] for name in names) / frames["send" if "send" in task else "receive"]
        for task, names in FUNCTIONS[card].items()
    }
    if card == "tengig":
        accesses = steady.sum("cpu[0].loads.", "") + steady.sum("cpu[0].stores.", "")
        found["data accesses"] = accesses / ((frames["send"] + frames["receive"]) / 2)
        control = steady.counter("control_memory.reads") + steady.counter("control_memory.writes")
        found["data accesses, assists with it"] = control / ((frames["send"] + frames["receive"]) / 2)
        found["instructions in all"] = sum(functions.values()) / ((frames["send"] + frames["receive"]) / 2)
    return found


def claims(results: Results) -> Iterator[Claim]:
    """The sums of the table in the text, and the total for a frame."""
    instructions = {
        way: sum(published[0] for task, published in PUBLISHED.items() if way in task) for way in ("send", "receive")
    }
    accesses = {
        way: sum(published[1] for task, published in PUBLISHED.items() if way in task) for way in ("send", "receive")
    }
    for way, mips, gbps in (("send", 229, 2.90), ("receive", 206, 2.89)):
        found = instructions[way] * LINE_RATE / 1e6, accesses[way] * LINE_RATE * 32 / 1e9
        yield Claim(
            text=f"The table's rows give {mips} MIPS and {gbps:.2f} Gbit/s to {way} at 812,744 frames/s (4.1.1)",
            holds=abs(found[0] - mips) <= 0.5 and abs(found[1] - gbps) <= 0.005,
            found=f"{found[0]:.1f} MIPS, {found[1]:.3f} Gbit/s",
            basis=ARITHMETIC,
        )
    frame = 1518 * 8 * 4 * LINE_RATE / 1e9
    yield Claim(
        text="Frames, in and out of memory, both ways: 39.5 Gbit/s (4.1.1)",
        holds=abs(frame - 39.5) < 0.05,
        found=f"{frame:.2f}",
        basis=ARITHMETIC,
    )
    yield Claim(
        text="Accesses to control memory by cores and assists for a frame each way, including dispatch (thesis: "
        f"{sum(accesses.values()):.1f} without)",
        holds=None,
        found=f"{results.value('10 Gigabit NIC', 'data accesses, assists with it'):.1f}",
    )
    own = results.value("10 Gigabit NIC", "instructions in all") * LINE_RATE / 1e6
    yield Claim(
        text="Instruction rate of spinet's firmware at line rate, with dispatch (thesis: at least 434 MIPS without)",
        holds=None,
        found=f"{own:.0f} MIPS",
    )


def plot(results: Results) -> Figure:
    """A bar for each firmware."""
    bars = [
        plots.Stack(label="thesis", parts={task: values[0] for task, values in PUBLISHED.items()}, published=True),
        *(
            plots.Stack(label=row.point.name, parts={task: row.measured[task] for task in PUBLISHED})
            for row in results.rows
        ),
    ]
    caption = f"Thesis: {SOURCE}. {TENGIG} Tigon-2: firmware/tigon2."
    return plots.stacks(bars, x_label="instructions, one frame sent and one received", title=TITLE, caption=caption)
