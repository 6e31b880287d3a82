# SPDX-License-Identifier: Apache-2.0
"""The summary of a run with chains of offloads, for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinet.cli import run_report

if TYPE_CHECKING:
    from rich.table import Table

# Parts of a packet's time in the card by their names in the summary, each with an explanation.
_PARTS = {
    "ingress": "line and RMT pipeline",
    "interconnect": "interconnect",
    "queueing": "waiting in the scheduler",
    "detours": "detours",
    "unit_wait": "waiting in a unit",
    "service": "engines",
}


_MOST_TROUBLES = 3
_MOST_WORDS = 8


def print_summary(summary: Mapping[str, Any], *, title: str) -> None:
    """Print the most important results for people."""
    parts = (_packets, _tables, _tenants, _times, _services, _chains, _drops, run_report.captures)
    blocks = [block for part in parts for block in part(summary)]
    run_report.show(
        [
            _headline(summary, title),
            *run_report.remarks(summary),
            *blocks,
            *run_report.resources(summary),
            run_report.footer(summary),
        ]
    )


Blocks = Iterator["str | Table"]


def _headline(summary: Mapping[str, Any], title: str) -> str:
    time = summary["time"]
    return (
        f"{title} on {run_report.card(summary['experiment']['nic'])}: {summary['ended']['text']}, "
        f"{run_report.duration(time['simulated_ns'])} of simulated time ({time['cycles']:,} cycles)"
    )


def _packets(summary: Mapping[str, Any]) -> Blocks:
    packets, rates = summary["packets"], summary["throughput"]
    rows = [
        ("in", f"{packets['in']:,}", f"{packets['in_bytes']:,}", _gbps(rates["in_gbps"])),
        ("out", f"{packets['out']:,}", f"{packets['out_bytes']:,}", _gbps(rates["out_gbps"])),
    ]
    if packets["to_network"] and packets["to_host"]:
        rows.append(("  to the network", f"{packets['to_network']:,}", "", _gbps(rates["network_gbps"])))
        rows.append(("  to the host", f"{packets['to_host']:,}", "", _gbps(rates["host_gbps"])))
    if packets["dropped"]:
        rows.append(("dropped", f"{packets['dropped']:,}", f"{packets['dropped_bytes']:,}", ""))
    if packets["unfinished"]:
        rows.append(("inside at the end", f"{packets['unfinished']:,}", "", ""))
    yield run_report.table("Packets", "count", "bytes", "Gbit/s", rows=rows)
    yield from run_report.network(summary)
    # The first one is shown above.
    troubles = sorted(summary["troubles"], key=lambda trouble: float(trouble["time_ns"]))[1:_MOST_TROUBLES]
    if troubles:
        yield "\n".join(["What programs did wrong after that", *(f"  {_trouble(trouble)}" for trouble in troubles)])


def _trouble(trouble: Mapping[str, Any]) -> str:
    line = f" at {run_report.source_line(trouble)}" if trouble["line"] else ""
    packet = "" if trouble["packet"] is None else f", packet {trouble['packet']}"
    what = f"{trouble['text']} in {trouble['place'] or 'no function'}{line} (pc {trouble['pc']})"
    return f"{_time(trouble['time_ns'])}, {trouble['unit']}{packet}: {what}"


def _tables(summary: Mapping[str, Any]) -> Blocks:
    rows = [
        (table["table"], match, f"{packets:,}")
        for table in summary.get("tables", ())
        for match, packets in [*((row["match"], row["packets"]) for row in table["entries"]), ("-", table["misses"])]
    ]
    if rows:
        yield run_report.table("Table", "match", "packets", rows=rows, kinds="ww")
    for register in summary.get("registers", ()):
        words = [f"[{index}] {word:,}" for index, word in register["words"][:_MOST_WORDS]]
        more = "" if len(register["words"]) <= _MOST_WORDS else ", ..."
        yield f"Register {register['register']}: {', '.join(words) or 'all 0'}{more}"


def _tenants(summary: Mapping[str, Any]) -> Blocks:
    tenants = summary["tenants"]
    rows = []
    for tenant in tenants:
        latency = tenant["latency_ns"]
        times = [_time(latency[name]) for name in ("mean", "median", "p99")] if latency else ["-"] * 3
        rows.append(
            (
                tenant["name"],
                _weight(tenant),
                f"{tenant['in']:,}",
                f"{tenant['dropped']:,}",
                _gbps(tenant["in_gbps"]),
                _gbps(tenant["out_gbps"]),
                f"{tenant['share']:.1%}",
                *times,
            )
        )
    headings = ("Tenant", "weight", "packets", "dropped", "in Gbit/s", "out Gbit/s", "share", "mean", "median", "p99")
    yield run_report.table(*headings, rows=rows)
    if sum(1 for tenant in tenants if tenant["in"]) > 1:
        changed = any(tenant["weight"] != tenant["last_weight"] for tenant in tenants)
        then = ", as they were in time," if changed else ""
        index = f"{summary['jain_index']:.4f}"
        yield f"Jain's index of what the tenants got for their weights{then} is {index}; {_window(summary)}"
    unused = [f"{kind[:-1]} {', '.join(names)}" for kind, names in summary["unused"].items() if names]
    if unused:
        yield f"No packet came to {'; '.join(unused)}"


def _weight(tenant: Mapping[str, Any]) -> str:
    first, last = tenant["weight"], tenant["last_weight"]
    return f"{first}" if first == last else f"{first}, then {last}"


def _window(summary: Mapping[str, Any]) -> str:
    """The time in which shares were measured."""
    window = summary["share_window_ns"]
    if window is None:
        return "they never sent at the same time, so it and the shares are of the whole run"
    begin, end = (_time(time) for time in window)
    return f"it and the shares are of the time when all sent, {begin} to {end}"


def _times(summary: Mapping[str, Any]) -> Blocks:
    latency = summary["latency_ns"]
    if latency is None:
        return
    figures = ", ".join(f"{name} {_time(latency[name])}" for name in ("min", "mean", "median", "p99", "max"))
    yield f"Latency, first bytes in to first bytes out: {figures}"
    longest = max(part["mean"] for part in latency["split"].values()) or 1.0
    parts = [(name, part) for name, part in latency["split"].items() if part["mean"] or part["p99"]]
    rows = [(_PARTS[name], _time(part["mean"]), _time(part["p99"])) for name, part in parts]
    bars = [part["mean"] / longest for _name, part in parts]
    yield run_report.table("Where the time goes", "mean", "p99", rows=rows, bars=bars)


def _split(row: Mapping[str, Any]) -> list[str]:
    split = row["split_ns"]
    names = ("queueing", "interconnect", "detours", "unit_wait", "service")
    return [_time(split[name]["mean"]) if split else "-" for name in names]


def _services(summary: Mapping[str, Any]) -> Blocks:
    rows = []
    for service in summary["services"]:
        if not service["packets"]:
            continue
        units = service["units"]
        busy = sum(unit["busy_percent"] or 0.0 for unit in units) / len(units)
        held = sum(unit["credits_held"] or 0.0 for unit in units) / len(units)
        rows.append(
            (
                service["service"],
                str(len(units)),
                f"{held:.1f}/{service['initial_credits']}",
                f"{busy:.0f}%",
                f"{service['packets']:,}",
                f"{service['pushed']:,}",
                f"{service['detours']:,}",
                *_split(service),
            )
        )
    if rows:
        headings = ("units", "credits", "busy", "visits", "pushed", "detours")
        times = ("queue", "way", "detour", "wait", "engine")
        yield run_report.table("Service", *headings, *times, rows=rows)


def _chains(summary: Mapping[str, Any]) -> Blocks:
    rows: list[Sequence[str]] = []
    for chain in summary["chains"]:
        latency = chain["latency_ns"]
        mean = _time(latency["mean"]) if latency else "-"
        name = chain["name"] if not chain["services"] else f"{chain['name']}: {' -> '.join(chain['services'])}"
        rows.append((name, f"{chain['in']:,}", f"{chain['dropped']:,}", f"{chain['detoured']:,}", mean, *[""] * 5))
        if len(summary["chains"]) == 1 and len(chain["hops"]) < 2:
            continue  # the table of services has the same values
        for i, hop in enumerate(chain["hops"]):
            rows.append((f"  {i + 1}. {hop['service']}", f"{hop['packets']:,}", "", f"{hop['detours']:,}",
                         _time(hop["total_ns"]["mean"]) if hop["total_ns"] else "-", *_split(hop)))  # fmt: skip
    headings = ("packets", "dropped", "detoured", "mean")
    if any(row[5] for row in rows):
        of_hops = ("queue", "way", "detour", "wait", "engine")
        yield run_report.table("Chain and hop", *headings, *of_hops, rows=rows)
    elif any(chain["hops"] for chain in summary["chains"]):
        yield run_report.table("Chain", *headings, rows=[row[:5] for row in rows])


def _drops(summary: Mapping[str, Any]) -> Blocks:
    rows = [
        (tenant["name"], why.replace("_", " "), f"{count:,}", f"{100 * count / tenant['in']:.1f}%")
        for tenant in summary["tenants"]
        for why, count in tenant["dropped_by_reason"].items()
    ]
    if rows:
        yield run_report.table("Dropped of", "because of", "packets", "of its packets", rows=rows, kinds="ww")


def _gbps(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}"


def _time(nanoseconds: float) -> str:
    return "0" if nanoseconds == 0 else run_report.duration(nanoseconds)
