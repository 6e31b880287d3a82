# SPDX-License-Identifier: Apache-2.0
"""The report of `spinet run` for networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from spinet.cli import run_report
from spinet.network_overview import count_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_MOST_NODES = 16
_MOST_LINKS = 12


def print_summary(summary: Mapping[str, Any], *, title: str) -> None:
    """Print the report."""
    run_report.show([*_blocks(summary, title), run_report.footer(summary)])


def _blocks(summary: Mapping[str, Any], title: str) -> Iterator[str | Table | Text]:
    nodes, links, packets = summary["nodes"], summary["links"], summary["packets"]
    size = f"{count_of(len(nodes), 'node')}, {count_of(len(links) // 2, 'link')}"
    simulated = run_report.duration(summary["time"]["simulated_ns"])
    yield f"{title}: {size}; {summary['ended']['text']}, {simulated} of simulated time"
    yield from run_report.remarks(summary)
    rows = [
        ("sent by cards and hosts", packets["in"], packets["in_bytes"]),
        ("received by cards", packets["out"], packets["out_bytes"]),
        *((f"dropped: {why.replace('_', ' ')}", n, None) for why, n in packets["dropped_by_reason"].items()),
        *(("in flight at the end", packets["in_flight"], None) for _ in range(packets["in_flight"] > 0)),
        *(("marked by switches", packets["marked"], None) for _ in range(packets["marked"] > 0)),
    ]
    shown = [(what, f"{count:,}", "" if size is None else f"{size:,}") for what, count, size in rows]
    yield run_report.table("Frames", "count", "bytes", rows=shown)
    latency = summary["latency_ns"]
    if latency is not None:
        yield f"Latency across the network     {_times(latency)}"
    yield from _messages(summary["messages"])
    yield from _nodes(nodes)
    yield from _links(links)
    yield from run_report.bottleneck(summary)


def _messages(messages: Mapping[str, Any] | None) -> Iterator[str | Table]:
    if messages is None or messages["done"] + messages["unfinished"] == 0:
        return
    left = f", {messages['unfinished']:,} unfinished" if messages["unfinished"] else ""
    latency = messages["latency_ns"]
    values = "" if latency is None else f"; {_times(latency)}"
    yield f"{messages['done']:,} messages between hosts, {messages['bytes']:,} bytes{left}{values}"
    parts = ("latency_ns", "nic_ns", "link_ns", "queue_ns", "receiver_ns")
    rows = [
        (
            f"{slow['from']} to {slow['to']}",
            slow["kind"],
            f"{slow['number']:,}",
            f"{slow['bytes']:,}",
            *(run_report.duration(slow[part]) for part in parts),
        )
        for slow in messages["slowest"]
    ]
    if rows:
        headings = ("kind", "number", "bytes", "time", "NIC", "links", "switches", "receiver")
        yield run_report.table("Slowest messages", *headings, rows=rows, kinds="ww")


def _times(latency: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {run_report.duration(latency[name])}" for name in ("min", "median", "p99", "max"))


def _nodes(nodes: list[dict[str, Any]]) -> Iterator[str | Table]:
    rows = [
        (node["name"], node["nic"], node["ip"], f"{node['in']:,}", f"{node['done']:,}", f"{node['refused']:,}")
        for node in nodes[:_MOST_NODES]
    ]
    yield run_report.table("Node", "card", "address", "packets in", "finished", "refused", rows=rows, kinds="www")
    if len(nodes) > _MOST_NODES:
        yield f"... and {len(nodes) - _MOST_NODES} more nodes; --json lists all"


def _links(links: list[dict[str, Any]]) -> Iterator[str | Table]:
    busiest = sorted(links, key=lambda link: -link["utilisation"])
    rows = [
        (
            f"{link['from']} to {link['to']}",
            f"{link['frames']:,}",
            f"{link['bytes']:,}",
            f"{100 * link['utilisation']:.1f} %",
            f"{link['lost']:,}",
            f"{link['pauses']:,}",
        )
        for link in busiest[:_MOST_LINKS]
    ]
    yield run_report.table("Busiest links", "frames", "bytes", "busy", "lost", "pauses", rows=rows)
    if len(links) > _MOST_LINKS:
        yield f"... and {len(links) - _MOST_LINKS} more directions of links; --json lists all"
