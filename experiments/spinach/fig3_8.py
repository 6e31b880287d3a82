# SPDX-License-Identifier: Apache-2.0
"""Figure 3.8: the Tigon-2 with other memories, and the smallest frames.

Two CPUs, 18-byte datagrams both ways as fast as the card takes them; SRAM at 100 MHz. "Desc. Mem" is
`experiments/spinach/descriptors.toml`: a second SRAM of 100 MHz on a bus of its own holds 91.5 KB, the rings of the
assists and firmware's copies of the host's (92 KB in the thesis). "RR" grants the SRAM's bus in turns instead of by
priority. Counts are those of 6 ms after the first 4. SRAM efficiency is words moved in a busy cycle of the SRAM, of
0.8 at most; a memory stall is a cycle in which a core waits for SRAM or descriptor memory, first access included.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from experiments.spinach.common import DESCRIPTORS, GIGABIT, THESIS, TIGON2, Steady, rates, tigon2
from spinet import plots
from spinet.reproduce import Claim, Point, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TITLE = "Tigon-2, memories for small frames"
SOURCE = f"{THESIS}, Fig. 3.8 a, b, 3.5.2"

MEMORIES = ("Base", "Base + RR", "Desc. Mem", "Desc. + RR")
CLOCKS = (88, 200)
TURNS = "{ kind = 'round-robin' }"

COMPUTE = (
    "Here the cores are the limit, and the SRAM is idle for three fifths of the time at 88 MHz: they spend nine "
    "tenths of their time in handlers, a fifth of it waiting for memory, and nearly all of that for the SRAM's "
    "own two cycles and the way there and back, which a second SRAM has as well. In the thesis the base is not "
    "limited by computation, its assists wait for descriptors. There assists read their pointers in the card's "
    "memory again and again (3.2.3); here registers tell them, as on the real card. The firmware that the thesis "
    "ran is not free"
)
EFFICIENCY = (
    "Bursts are a small part of what the SRAM does here: a frame of 60 bytes is 8 words, and more than half of "
    "all words are single ones of the cores, which no policy makes longer"
)


def points() -> list[Point]:
    """Memories and clocks of the cores."""
    return [
        Point(
            name=f"{memory}, {mhz} MHz",
            settings={"memory": memory, "mhz": mhz},
            quick=mhz == 88 and memory == "Desc. Mem",
        )
        for mhz in CLOCKS
        for memory in MEMORIES
    ]


def measure(*, memory: str, mhz: int) -> dict[str, float]:
    """Frames, instruction throughput, memory stalls, efficiency of the SRAM."""
    has_descriptors = memory.startswith("Desc.")
    changes = [f"clocks.cpu='{mhz} MHz'"]
    if memory.endswith("RR"):
        changes.append(f"sram.policy={TURNS}")
        changes += [f"descriptors.policy={TURNS}"] * has_descriptors
    nic = DESCRIPTORS if has_descriptors else "tigon2"
    early, late = (tigon2(cpus=2, size=18, nic=nic, set=changes, limit_ms=ms) for ms in (4, 10))
    steady = Steady(early, late)
    causes = steady.causes()
    cycles, instructions = sum(causes.values()), causes["execution"]
    found = rates(late, 18, GIGABIT)
    stalls = causes["conflicts"] + causes["load_stalls"] + causes["instruction_misses"]
    return {
        **{name: found[name] for name in ("sent", "received", "frames")},
        "MIPS": instructions / steady.seconds / 1e6,
        "instructions a frame": instructions / (steady.frames("sent") + steady.frames("received")),
        "stalls an instruction": stalls / instructions,
        "waiting": stalls / cycles * 100,
        "SRAM efficiency": steady.sum("sram.requesters[", "].words") / steady.counter("sram.busy_cycles"),
        "SRAM busy": steady.counter("sram.busy_cycles") / (steady.seconds * 100e6) * 100,
    }


def claims(results: Results) -> Iterator[Claim]:
    """What the text says of frames, instructions, stalls and efficiency."""

    def gain(memory: str, mhz: int, quantity: str, to: str = "Base") -> float:
        return (results.value(f"{memory}, {mhz} MHz", quantity) / results.value(f"{to}, {mhz} MHz", quantity) - 1) * 100

    published = {88: (47.5, 11.5), 200: (34.0, 25.7)}
    for mhz, (frames, instructions) in published.items():
        found = gain("Desc. Mem", mhz, "frames")
        waiting = results.value(f"Base, {mhz} MHz", "waiting")
        yield Claim(
            text=f"{mhz} MHz: descriptor memory, {frames:+.1f} % frames, within a quarter of it",
            holds=abs(found - frames) <= frames / 4,
            found=f"{found:+.1f} %; memory without any latency would give {100 / (1 - waiting / 100) - 100:+.0f} %",
            miss=COMPUTE,
        )
        found = gain("Desc. Mem", mhz, "MIPS")
        yield Claim(
            text=f"{mhz} MHz: descriptor memory, {instructions:+.1f} % instructions a second, within a quarter of it",
            holds=abs(found - instructions) <= instructions / 4,
            found=f"{found:+.1f} %",
            miss=COMPUTE,
        )
        yield Claim(
            text=f"{mhz} MHz: descriptor memory lowers memory stalls an instruction",
            holds=gain("Desc. Mem", mhz, "stalls an instruction") < 0,
            found=f"{gain('Desc. Mem', mhz, 'stalls an instruction'):+.1f} %",
        )
        yield Claim(
            text=f"{mhz} MHz: taking turns usually adds no frames, at most 2 %",
            holds=all(
                gain(f"{a} + RR", mhz, "frames", to=b) <= 2 for a, b in (("Base", "Base"), ("Desc.", "Desc. Mem"))
            ),
            found=f"{gain('Base + RR', mhz, 'frames'):+.1f} % base, "
            f"{gain('Desc. + RR', mhz, 'frames', to='Desc. Mem'):+.1f} % with descriptor memory",
        )
        yield Claim(
            text=f"{mhz} MHz: taking turns loses SRAM efficiency",
            holds=gain("Base + RR", mhz, "SRAM efficiency") < 0,
            found=f"{gain('Base + RR', mhz, 'SRAM efficiency'):+.1f} %",
        )
        yield Claim(
            text=f"{mhz} MHz: and more than 20 % of it",
            holds=gain("Base + RR", mhz, "SRAM efficiency") < -20,
            found=f"{gain('Base + RR', mhz, 'SRAM efficiency'):+.1f} %",
            miss=EFFICIENCY,
        )
    base = results.value("Base, 88 MHz", "frames") / 1000
    yield Claim(
        text="Frame contents of 0.164 Gbit/s in the base (3.5.2): 160,000 frames/s of 64 bytes if each counts in and "
        "out, as in 4.1.1, and 320,000 if once",
        holds=None,
        found=f"{base:.0f},000 frames/s",
    )
    yield Claim(
        text="200 MHz: taking turns falls below the base",
        holds=gain("Base + RR", 200, "frames") < 0,
        found=f"{gain('Base + RR', 200, 'frames'):+.1f} %",
    )
    stalls = [
        gain(f"{a} + RR", 200, "stalls an instruction", to=b) for a, b in (("Base", "Base"), ("Desc.", "Desc. Mem"))
    ]
    yield Claim(
        text="200 MHz: taking turns lengthens the cores' wait for memory, with and without descriptor memory",
        holds=all(value > 0 for value in stalls),
        found=f"{stalls[0]:+.1f} % base, {stalls[1]:+.1f} % with descriptor memory",
    )


def plot(results: Results) -> Figure:
    """Frames against the base, and stalls."""
    base = results.value("Base, 88 MHz", "frames")

    def groups(quantity: str, scale: float) -> list[plots.Group]:
        return [
            plots.Group(
                label=memory,
                values={f"{mhz} MHz": results.value(f"{memory}, {mhz} MHz", quantity) * scale for mhz in CLOCKS},
            )
            for memory in MEMORIES
        ]

    published = plots.Group(label="thesis,\nDesc. Mem", values={"88 MHz": 1.475, "200 MHz": None})
    frames = [*groups("frames", 1 / base), published]
    panels = [
        plots.BarPanel(y_label="frames, base at 88 MHz = 1", groups=frames),
        plots.BarPanel(y_label="memory stalls an instruction", groups=groups("stalls an instruction", 1)),
        plots.BarPanel(
            y_label="SRAM words a busy cycle",
            groups=groups("SRAM efficiency", 1),
            levels=[(0.8, "nothing but whole bursts")],
        ),
    ]
    caption = (
        f"{SOURCE}: descriptor memory +47.5 % frames at 88 MHz, +34.0 % at 200 MHz; taking turns loses over 20 % "
        f"of SRAM efficiency. {TIGON2}"
    )
    return plots.bars(panels, title=TITLE, caption=caption)
