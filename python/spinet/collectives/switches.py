# SPDX-License-Identifier: Apache-2.0
"""Collective operations of a `Group` by switches that compute: `Flare` for allreduce, else `group_switch.c`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spinet import _programs, toolchain
from spinet._core import UsageError
from spinet.collectives import tree
from spinet.collectives.flare import BLOCK_BYTES, CARD_LINK, START_LINK, TYPES, Flare, check_count
from spinet.collectives.peers import SOURCES, Peer, constants

if TYPE_CHECKING:
    from spinet.collectives.group import Group

OPERATIONS = ("broadcast", "barrier", "ring", "doubling")
"""Operations of a `Group` that a switch can do."""

MAX_SIZE = 1022
"""Most ranks: the card of a single switch holds their addresses and its own."""

_WIRE = constants("group.h")
_PROGRAM = "group_switch.c"


def check(group: Group, leaves: int = 1) -> None:
    """Refuse an operation that switches cannot do.

    Raises
    ------
    UsageError
        The text gives the reason.
    """
    if group.operation not in OPERATIONS:
        raise UsageError(
            f"a switch cannot do the operation {group.operation}, must be one of {', '.join(OPERATIONS)}",
            hint="a switch helps if it combines data, or if many ranks get the same data",
        )
    if group.redundant:
        raise UsageError("redundant goes with paths between ranks; a switch that computes is the only path")
    if group.size > MAX_SIZE:
        raise UsageError(f"size is {group.size}, must be 2 to {MAX_SIZE} around a switch that computes")
    tree.check(group.size, leaves)


def allreduce(group: Group, leaves: int = 1) -> Flare:
    """The allreduce of a group in switches, with as many blocks in flight as on a ring, up to 64.

    Raises
    ------
    UsageError
        If the group has an operator of its own, or other blocks than `Flare`.
    """
    if group.custom is not None:
        raise UsageError(
            "a group's own operator has no size of an element, which a switch needs",
            hint="Flare(custom=..., element_bytes=...).network() makes the network",
        )
    if group.block_bytes != BLOCK_BYTES:
        raise UsageError(f"block_bytes is {group.block_bytes}, must be {BLOCK_BYTES} in a switch")
    return Flare(
        hosts=group.size,
        leaves=leaves,
        elements=group.n_bytes // TYPES[group.dtype],
        dtype=group.dtype,
        op=group.op,
        buffers="tree",
        window=min(group.window * group.size, Flare.most_blocks(max(group.size // leaves, leaves)), 64),
    )


def host(group: Group, rank: int, leaves: int = 1) -> dict[str, Any]:
    """Keys of the node of a rank. Its card runs the program of the group, with its switch as the only other rank."""
    own, card = Peer(number=rank), Peer(number=group.size + rank // (group.size // leaves))
    place = 1 if group.operation == "broadcast" and rank != group.root else 0
    pair = dataclasses.replace(group, size=2, root=0)
    return pair.node(place, (card, own) if place else (own, card))


def card(group: Group, leaves: int = 1, number: int = 0) -> dict[str, Any]:
    """Keys of the node of a switch's card: that of a leaf, or of the root if `number` is the number of leaves.

    The cards follow the ranks among the nodes, and the root's card is the last one.
    """
    below = group.size // leaves
    is_leaf = leaves > 1 and number < leaves
    first = group.size if number == leaves else number * below
    children = [Peer(number=first + i) for i in range(leaves if number == leaves else below)]
    above = [Peer(number=group.size + leaves)] * is_leaf
    peers = [*children, Peer(number=group.size + number), *above]
    all_addresses = dataclasses.replace(group, size=len(peers), root=0)
    with_root = group.root // below if number == leaves else group.root - first  # the child that broadcasts, if any
    if group.operation == "barrier":
        left_out, expected = len(children), len(children)
    else:
        left_out, expected = with_root if 0 <= with_root < len(children) else len(children), 1
    content = dataclasses.replace(group, size=len(children), root=0).configuration(left_out, expected, peers)
    size = all_addresses.configuration_bytes
    context = {
        "match": f"ipv4.header_words == 5 && udp.dst_port == {_WIRE['GROUP_DATA']}",
        "handler_memory": {"addr": 0x1C10_0000, "size": size, "data": str(_programs.kept(content))},
        "scratchpad_bytes": size,
    }
    defines = all_addresses.defines | ({"LEAF": 1} if is_leaf else {})
    return {"program": str(SOURCES / _PROGRAM), "context": [context], "defines": defines}


def network(
    group: Group,
    vectors: Sequence[bytes] | None,
    *,
    leaves: int,
    link: Mapping[str, Any] | None,
    card_link: Mapping[str, Any] | None,
    nic: Mapping[str, Any] | str,
) -> dict[str, Any]:
    """The experiment of `Group.in_switch`."""
    check(group, leaves)
    check_count(vectors, group.size, "ranks")
    if group.operation in ("ring", "doubling"):
        flare = allreduce(group, leaves)
        whole = None if vectors is None else [group.host_memory(vector)[: group.vector_bytes] for vector in vectors]
        arrays = None if whole is None else [np.frombuffer(vector, np.uint8) for vector in whole]
        return flare.network(arrays, link=link, card_link=card_link, nic=nic)
    shared = dict(link or {"rate": "100G", "delay": "300 ns"})
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []
    for rank in range(group.size):
        node = host(group, rank, leaves)
        content = group.host_memory(vectors[rank] if vectors is not None else b"")
        node["context"][0]["host_memory"] = {"size": len(content), "data": str(_programs.kept(content))}
        nodes.append(_built(f"host{rank}", nic, node))
        links.append({"from": f"host{rank}", "to": tree.leaf(rank, group.size, leaves), "with": shared})
    names = tree.switches(leaves)
    for number, name in enumerate(names):
        nodes.append(_built(f"{name}card", nic, card(group, leaves, number)))
        links.append({"from": f"{name}card", "to": name, "with": dict(card_link or CARD_LINK)})
    links += tree.uplinks(leaves, shared)
    go = f"udp:size=64,dst_port={_WIRE['GROUP_GO']},rate=100G"
    counts = {rank: group.starts.count(rank) for rank in range(group.size)}
    send = [{"source": f"{go},count={count}", "to": f"host{rank}"} for rank, count in counts.items() if count]
    nodes.append({"name": "start", "send": send})
    links.append({"from": "start", "to": names[-1], "with": shared | START_LINK})
    match = f"udp.dst_port == {_WIRE['GROUP_DATA']}"
    computes = [{"name": name, "compute": {"match": match, "card": f"{name}card"}} for name in names]
    return {"nodes": nodes, "links": links, "switches": computes}


def _built(name: str, nic: Mapping[str, Any] | str, node: dict[str, Any]) -> dict[str, Any]:
    elf = toolchain.build([node["program"]], defines=node["defines"]).elf
    return {"name": name, "nic": nic, "program": str(elf), "context": node["context"]}
