# SPDX-License-Identifier: Apache-2.0
"""Locks of the SDK: cost without others, order and throughput with many cores."""

from __future__ import annotations

import struct
from collections import Counter
from pathlib import Path

import pytest
import spinet

SOURCE = Path(__file__).parent / "handlers/locks.c"
CORES = 8  # on two clusters


def took(ticket: bool, rounds: int) -> tuple[list[int], int]:
    """Cores in the order in which they took a lock in L2 that all of them want, and the time in ns."""
    with spinet.Machine(set=["n_clusters=2", "cluster.n_cores=4"]) as machine:
        tenant = machine.tenant("one")
        memory = tenant.allocate(8192)
        program = tenant.load(SOURCE, defines={"ROUNDS": rounds, **({"TICKET": 1} if ticket else {})})
        tenant.context(program=program, handler="all", memory=memory).install()
        machine.run(until="20 us")
        before = machine.now_ns
        machine.send([bytes(60)] * CORES)
        machine.finish()
        start = 4 + (8 if ticket else 4)
        (count,) = struct.unpack("<I", memory.read(offset=start, size=4))
        assert count == CORES * rounds, "no core took the lock while another held it"
        return list(memory.read(offset=start + 4, size=count)), machine.now_ns - before


def lead(owners: list[int], rounds: int) -> int:
    """The greatest lead of one core over another, in takes of the lock, until the first core has no rounds left."""
    counts = Counter(dict.fromkeys(range(CORES), 0))
    most = 0
    for core in owners:
        counts[core] += 1
        most = max(most, max(counts.values()) - min(counts.values()))
        if counts[core] == rounds:
            break
    return most


def test_a_ticket_lock_serves_all_cores_and_a_spin_lock_does_not() -> None:
    in_order, ticket_ns = took(ticket=True, rounds=50)
    without, spin_ns = took(ticket=False, rounds=50)
    assert lead(in_order, 50) <= 2, "cores come in at different times"
    assert lead(without, 50) >= 20
    assert ticket_ns < 1.1 * spin_ns


@pytest.mark.parametrize(("ticket", "cycles"), [(True, (4, 1, 50, 27)), (False, (5, 1, 32, 27))])
def test_locks_take_about_as_long_as_their_comments_say(ticket: bool, cycles: tuple[int, ...]) -> None:
    with spinet.Machine() as machine:
        tenant = machine.tenant("one")
        memory, pad = tenant.allocate(4096), tenant.allocate(64, kind="scratchpad")
        program = tenant.load(SOURCE, defines={"ROUNDS": 1, **({"TICKET": 1} if ticket else {})})
        tenant.context(program=program, handler="times", memory=memory, scratchpad=pad).install()
        machine.run(until="20 us")
        machine.send([bytes(60)])
        machine.finish()
        assert struct.unpack("<4I", memory.read(size=16)) == pytest.approx(cycles, abs=2)
