# SPDX-License-Identifier: Apache-2.0
"""One switch, or leaf switches below a root switch, with an equal number of ranks at each leaf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spinet._core import UsageError


def check(ranks: int, leaves: int) -> None:
    """Refuse numbers of leaf switches that do not divide the ranks into groups of 2 or more.

    Raises
    ------
    UsageError
        The text names the possible numbers.
    """
    possible = [1, *(n for n in range(2, ranks // 2 + 1) if ranks % n == 0)]
    if leaves not in possible:
        raise UsageError(
            f"leaves is {leaves}, must be one of {', '.join(map(str, possible))}: a divisor of the {ranks} ranks, with "
            "2 or more at each leaf switch"
        )


def switches(leaves: int) -> list[str]:
    """Names of the switches; the last one is the root."""
    return [f"leaf{i}" for i in range(leaves)] + ["root"] * (leaves > 1)


def leaf(rank: int, ranks: int, leaves: int) -> str:
    """Name of the switch of a rank."""
    return f"leaf{rank // (ranks // leaves)}"


def uplinks(leaves: int, link: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The links between leaf switches and the root."""
    return [{"from": name, "to": "root", "with": dict(link)} for name in switches(leaves)[:-1]]


def around(
    nodes: list[dict[str, Any]],
    ranks: int,
    leaves: int,
    link: Mapping[str, Any],
    start_link: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Keys of a network of these nodes: the ranks, and perhaps a node that starts them, at the root switch.

    Around one switch it is a star, whose nodes without further keys need no mention.
    """
    check(ranks, leaves)
    starters = [node["name"] for node in nodes[ranks:]]
    if leaves == 1:
        links = [{"from": name, "to": "sw0", "with": dict(start_link or link)} for name in starters]
        more = {"links": links} if links else {}
        described = {"nodes": nodes} if any(len(node) > 1 for node in nodes) else {}
        return {"topology": {"name": "star", "nodes": len(nodes)}, "link": dict(link), **more, **described}
    links = [
        {"from": node["name"], "to": leaf(rank, ranks, leaves), "with": dict(link)}
        for rank, node in enumerate(nodes[:ranks])
    ]
    links += [{"from": name, "to": "root", "with": dict(start_link or link)} for name in starters]
    links += uplinks(leaves, link)
    return {"nodes": nodes, "links": links, "switches": [{"name": name} for name in switches(leaves)]}
