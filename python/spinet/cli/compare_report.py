# SPDX-License-Identifier: Apache-2.0
"""A comparison of NICs, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from spinet.cli import run_report

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.comparison import Comparison, NetworkComparison, Row
    from spinet.comparison.networks import NetworkRow

Blocks = Iterator["str | Table"]

_KINDS = ("waiting", "transfers", "computation")


def print_comparison(comparison: Comparison) -> None:
    """Print the table of a comparison, with explanations."""
    run_report.show([*_offered(comparison), *_table(comparison), *_notes(comparison)])


def print_networks(comparison: NetworkComparison) -> None:
    """Print the table of a comparison of networks, with explanations."""
    rows = []
    for row in comparison.rows:
        link = row.busiest_link
        rows.append(
            (
                row.network,
                run_report.duration(row.completion_ns),
                f"{row.entered_bytes:,}",
                f"{row.link_bytes:,}",
                "-" if link is None else f"{link.sender} > {link.receiver} {100 * link.share:.0f}%",
                "-" if row.host_cpu_ns is None else run_report.duration(row.host_cpu_ns),
                f"{row.handler_cycles:,}",
                f"{row.dropped:,}",
            )
        )
    headings = (
        "network",
        "time",
        "bytes sent",
        "bytes on links",
        "busiest link",
        "host CPU",
        "handler cycles",
        "dropped",
    )
    notes = [
        "time: from the first frame (with a schedule: 0) to the last delivery, end of a packet, or host operation.",
        "bytes on links: a frame counts on each link. busiest link: share of the time in which frames were on it.",
        "host CPU: of all hosts, for computations and messages of the schedule. handler cycles: of all cards.",
    ]
    run_report.show(
        [run_report.table(*headings, rows=rows), "\n".join(notes), "\n".join(map(_network, comparison.rows))]
    )


def _network(row: NetworkRow) -> str:
    cards = ", ".join(f"{n:,} {nic}" for nic, n in row.cards.items())
    switches = f"{row.switches:,} switch{'' if row.switches == 1 else 'es'}"
    notes = [f"{row.nodes:,} nodes ({cards}), {switches}"]
    if row.host_cpu_ns is None:
        notes.append("its hosts run programs, whose processor time is not modelled")
    elif row.busiest_host_cpu_ns:
        notes.append(f"busiest host {run_report.duration(row.busiest_host_cpu_ns)}")
    if row.busiest_card is not None:
        notes.append(
            f"{row.handler_runs:,} handler runs; busiest card {row.busiest_card}, {row.busiest_card_cycles:,} cycles"
        )
    if row.ended != "complete":
        notes.append(f"not finished: {row.ended_text}")
    return f"{row.network}: {'; '.join(notes)}"


def _offered(comparison: Comparison) -> Blocks:
    offered, rate = comparison.offered, comparison.offered_rate
    matched = f", {len(offered.matched):,} for the handlers" if len(offered.matched) < len(offered.packets) else ""
    fast = f", {_rate(rate.packets_per_s)} packets/s, {_gbps(rate.gbps)} Gbit/s" if rate.gbps is not None else ""
    line = f" ({_gbps(offered.line_gbps)} Gbit/s on a line)" if offered.line_gbps is not None else ""
    parts = [f"{comparison.title}", f"offered to each: {rate.packets:,} packets{matched}{fast}{line}"]
    if offered.cut_gaps:
        parts.append(f"{offered.cut_gaps:,} gaps cut to {run_report.duration(offered.longest_gap_ps / 1000)}")
    if offered.padded:
        parts.append(f"{offered.padded:,} short packets padded")
    yield "; ".join(parts)


def _table(comparison: Comparison) -> Blocks:
    rows = []
    for row in comparison.rows:
        latency, by_part = row.latency_ns, row.time_ns
        times, shares = ["-"] * 3, ["-"] * 3
        if latency is not None:
            times = [run_report.duration(ns) for ns in (latency.mean, latency.median, latency.p99)]
        if latency is not None and by_part is not None and latency.mean:
            known = [(by_part[kind], 100 * by_part[kind] / latency.mean) for kind in _KINDS]
            shares = [f"{share:.0f}%" if ns or not by_part["unattributed"] else "-" for ns, share in known]
        rows.append(
            (
                row.nic if row.is_simulated else f"{row.nic} *",
                f"{row.delivered.packets:,}",
                _rate(row.delivered.packets_per_s),
                _gbps(row.delivered.gbps),
                *times,
                *shares,
                f"{row.lost:,}",
                _output(row, _reference(comparison), alone=comparison.outputs_equal is None),
            )
        )
    headings = ("NIC", "out", "packets/s", "Gbit/s", "mean", "median", "99 %", "wait", "transfer", "compute", "lost")
    yield run_report.table(*headings, "output", rows=rows)


def _reference(comparison: Comparison) -> str | None:
    return None if comparison.outputs_equal is None else comparison.reference


def _output(row: Row, reference: str | None, *, alone: bool) -> str:
    output = row.output
    if output is None or alone:
        return "-"
    if row.nic == reference:
        return "reference"
    if output.is_equal:
        return "equal"
    counts = ((output.missing, "missing"), (output.unexpected, "other"))
    return ", ".join(f"{n:,} {what}" for n, what in counts if n)


def _notes(comparison: Comparison) -> Blocks:
    notes = [
        "packets/s, Gbit/s: of the whole run, with warm-up and drain; steady state is below.",
        "Latency: from when the first bit is due on the line until the last byte has left. wait, transfer, compute:",
        "shares of its mean: in queues; on links, in and out of memories, in fixed pipelines; in handlers.",
    ]
    if _reference(comparison) is not None:
        notes[-1] += " output: packets sent, compared byte by byte"
        notes.append(f"with those of {_reference(comparison)}, in any order.")
    elif not comparison.handler:
        notes[-1] += " output: packets, compared byte by byte with"
        notes.append("those offered, in any order.")
    yield "\n".join(notes)
    lines = []
    for row in comparison.rows:
        notes = [row.how, *row.notes]
        if row.is_line_the_limit:
            notes.insert(1, f"its line carries {row.line_gbps:g} Gbit/s, less than the traffic asks for")
        if row.steady is not None:
            steady = row.steady
            notes.append(f"steady state {_rate(steady.packets_per_s)} packets/s, {_gbps(steady.gbps)} Gbit/s")
        elif row.not_steady_because is not None:
            notes.append(f"no steady state: {row.not_steady_because}")
        if row.is_host_ideal:
            notes.append("its host is ideal: no PCIe latency")
        if row.lost:
            notes.append(
                "lost: " + ", ".join(f"{why.replace('_', ' ')} {n:,}" for why, n in row.lost_by_reason.items())
            )
        if row.consumed:
            notes.append(f"{row.consumed:,} consumed by handlers")
        if row.ended != "complete":
            notes.append(f"not finished: {row.ended_text}")
        lines.append(f"{row.nic}{'' if row.is_simulated else ' *'}: {'; '.join(notes)}")
    lines += [f"{nic} did not run: {why}" for nic, why in comparison.not_run.items()]
    yield "\n".join(lines)


def _rate(per_s: float | None) -> str:
    if per_s is None:
        return "-"
    for unit, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if per_s >= factor:
            return f"{per_s / factor:.3g}{unit}"
    return f"{per_s:.3g}"


def _gbps(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.4g}"
