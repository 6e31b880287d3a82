# SPDX-License-Identifier: Apache-2.0
"""Collective operations by hosts with plain NICs, as GOAL schedules."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from spinet import _programs, goal
from spinet._core import UsageError
from spinet.collectives import tree
from spinet.collectives.flare import TYPES

if TYPE_CHECKING:
    from spinet.collectives.group import Group

OPERATIONS = ("broadcast", "ring", "alltoall", "barrier", "accumulate")
"""Operations of a `Group` that hosts can do."""


def schedule(group: Group, *, chunk_bytes: int = 0, combine_ns: int = 0) -> goal.Schedule:
    """The messages of the operation. `Group.on_hosts` describes the parameters.

    Examples
    --------
    >>> from spinet.collectives import Group
    >>> schedule(Group(operation="broadcast", size=8, n_bytes=4096), chunk_bytes=1024).counts["sends"]
    28

    Raises
    ------
    UsageError
        If hosts cannot do the operation.
    """
    if group.operation == "alltoall":
        return goal.make("alltoall", ranks=group.size, bytes=group.n_bytes)
    if group.operation == "barrier":
        return goal.make("dissemination", ranks=group.size, bytes=1)
    if group.operation == "broadcast":
        return goal.parse(_broadcast(group, chunk_bytes or group.n_bytes))
    if group.operation == "accumulate":
        return goal.parse(_accumulate(group, combine_ns))
    if group.operation == "ring":
        return goal.parse(_ring(group, combine_ns))
    raise UsageError(
        f"hosts have no schedule for {group.operation}, must be one of {', '.join(OPERATIONS)}",
        hint="spinet goal make allreduce-doubling makes one for a power of two of ranks, without computations",
    )


def network(
    group: Group,
    *,
    leaves: int,
    link: Mapping[str, Any] | None,
    o_ns: int,
    pcie: str,
    chunk_bytes: int,
    combine_ns: int,
) -> dict[str, Any]:
    """The experiment of `Group.on_hosts`."""
    text = schedule(group, chunk_bytes=chunk_bytes, combine_ns=combine_ns).text()
    shared = dict(link or {"rate": "100G", "delay": "300 ns"})
    return {
        **tree.around([{"name": f"n{rank}"} for rank in range(group.size)], group.size, leaves, shared),
        "messages": {"mtu": group.block_bytes, "post_latency": pcie, "deliver_latency": pcie},
        "schedule": str(_programs.kept(text.encode())),
        "loggops": f"o={o_ns},g=0,O=0,S=4294967295",
    }


def _broadcast(group: Group, chunk_bytes: int) -> str:
    """The tree of `broadcast.c`: the rank at `place` from the root sends to those at place + 2^i, if 2^i > place."""
    n, ranks = group.size, []
    sizes = [min(chunk_bytes, group.n_bytes - at) for at in range(0, group.n_bytes, chunk_bytes)]
    for rank in range(n):
        place = (rank - group.root) % n
        distances = [1 << i for i in range(n.bit_length()) if 1 << i > place and place + (1 << i) < n]
        lines = []
        for number, size in enumerate(sizes):
            if place:
                parent = (rank - (1 << (place.bit_length() - 1))) % n
                lines.append(f"r{number}: recv {size}b from {parent} tag {number}")
            for distance in distances:
                lines.append(f"s{number}x{distance}: send {size}b to {(rank + distance) % n} tag {number}")
                if place:
                    lines.append(f"s{number}x{distance} requires r{number}")
        ranks.append(lines)
    return _text(ranks)


def _accumulate(group: Group, combine_ns: int) -> str:
    """All ranks but 0 send their operands to rank 0, which combines one message after the other."""
    target = []
    for origin in range(1, group.size):
        target += [f"r{origin}: recv {group.n_bytes}b from {origin}", f"c{origin}: calc {combine_ns}"]
        target.append(f"c{origin} requires r{origin}")
    return _text([target, *[[f"send {group.n_bytes}b to 0"]] * (group.size - 1)])


def _ring(group: Group, combine_ns: int) -> str:
    """Reduce-scatter and allgather: each rank passes parts of the vector to the next one, and combines the first n - 1.

    The parts differ by one element at most.
    """
    n, item = group.size, TYPES[group.dtype] if group.custom is None else 1
    elements = group.n_bytes // item
    ends = [elements * part // n * item for part in range(n + 1)]
    sizes = [end - begin for begin, end in itertools.pairwise(ends)]
    ranks = []
    for rank in range(n):
        lines, ready = [], ""
        for turn in range(2 * n - 2):
            size, before = sizes[(rank - turn) % n], sizes[(rank - turn - 1) % n]
            lines += [f"s{turn}: send {size}b to {(rank + 1) % n} tag {turn}"] * (size > 0)
            lines += [f"s{turn} requires {ready}"] * (size > 0 and ready != "")
            ready = ""
            if before:
                lines.append(f"r{turn}: recv {before}b from {(rank - 1) % n} tag {turn}")
                ready = f"r{turn}"
                if turn < n - 1:
                    lines += [f"c{turn}: calc {-(-combine_ns * before // group.n_bytes)}", f"c{turn} requires {ready}"]
                    ready = f"c{turn}"
        ranks.append(lines)
    return _text(ranks)


def _text(ranks: list[list[str]]) -> str:
    blocks = ["\n".join([f"rank {rank} {{", *lines, "}"]) for rank, lines in enumerate(ranks)]
    return "\n".join([f"num_ranks {len(ranks)}", *blocks]) + "\n"
