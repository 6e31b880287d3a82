# SPDX-License-Identifier: Apache-2.0
"""Code that the experiments about datatypes share."""

from __future__ import annotations

import numpy as np
from spinet import datatypes as dt
from spinet.datatypes import Datatype, Received

PAPER = "Di Girolamo et al., SC 2019"
TALK = "sPIN talk, OFA Workshop 2022"
PAYLOAD = 2048
MEASURED = f"spinet: preset pspin, {PAYLOAD} B of the message a packet, handlers of sdk/datatypes."
HOST = dt.Host()

SET_UP = ("restore", "skip", "step", "descend", "next", "search", "checkpoint", "own_segment")
OWNER = ("lock", "unlock", "enter", "leave", "take_buffer", "free_buffer")
PARTS = ("init", "set-up", "owner", "blocks")


def vector(block: int, size: int) -> Datatype:
    """Blocks with gaps of their own size."""
    return dt.vector(size // block, block, 2 * block, dt.BYTE)


def packet_ns(rate: float, payload: int = PAYLOAD) -> float:
    """Time from one packet to the next on the line."""
    return (payload + 52 + 24) * 8 / rate * 1e9


def run(datatype: Datatype, strategy: str, **more: object) -> Received:
    """A message through the card, all bytes compared."""
    got = dt.receive(datatype, strategy=strategy, **more)  # type: ignore[arg-type]
    assert got.result.complete and not got.result.summary["traps"], strategy
    assert got.is_exact and all(done.is_whole for done in got.completions), strategy
    return got


def warm_cycles(got: Received) -> float:
    """Median cycles of the payload handlers that began in the second half: caches have the code, L1 has the type."""
    columns = got.result.columns
    order = np.argsort(columns["start_ps"])
    return float(np.median(columns["cycles"][order][len(order) // 2 :]))


def host_ns(datatype: Datatype, *, rate: float) -> float:
    """The receive of a message into a buffer at line rate, then the unpacking."""
    packets = -(-datatype.size // PAYLOAD)
    return packets * packet_ns(rate) + HOST.unpack_ns(datatype)


def parts(got: Received) -> dict[str, float]:
    """Mean cycles of a payload handler by part, from a run with a profile."""
    found = dict.fromkeys(PARTS, 0.0)
    for instruction in got.result.profile.instructions:
        names = [frame.function for frame in instruction.frames]
        if any(name.endswith("_ph") for name in names) or any("spin_ddt" in name for name in names):
            found[_part_of(names)] += instruction.cost.busy / got.compiled.packets
    return found


def cycles_in(got: Received, function: str) -> float:
    """Mean cycles of a payload handler in a function, from a run with a profile."""
    cost = sum(
        instruction.cost.busy
        for instruction in got.result.profile.instructions
        if function in [frame.function for frame in instruction.frames]
    )
    return cost / got.compiled.packets


def _part_of(names: list[str]) -> str:
    """The part of an instruction, from the functions that it was inlined from."""
    if set(names) & set(OWNER):
        return "owner"
    found = {name.removeprefix("spin_ddt_") for name in names if name.startswith("spin_ddt_")}
    if found & set(SET_UP):
        return "set-up"
    # The loops over blocks are in the handlers' own functions, or in these.
    return "blocks" if not found or found & {"move", "process", "move_vector"} else "init"
