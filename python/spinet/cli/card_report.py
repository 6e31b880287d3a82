# SPDX-License-Identifier: Apache-2.0
"""The report of `spinet run` for wired cards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinet.cli import run_report

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_CORES_ABREAST = 4
_MOST_FUNCTIONS = 12
_FATES = {
    "through": "came out of the card",
    "too_long": "too long for the card, not given to it",
    "filtered": "for another address, dropped",
    "receiver_off": "came before the receiver was enabled",
    "overrun": "no room between line and memory, dropped",
    "no_buffer": "no buffer free, dropped",
    "no_descriptor": "no descriptor free, dropped",
    "link_down": "lost while the network was down",
    "damaged": "reached the host with an error flag",
    "not_out": "in the card, or dropped by its firmware",
    "not_given": "not due before the end",
}


def print_summary(summary: Mapping[str, Any]) -> None:
    """Print the report."""
    run_report.show(_blocks(summary))


def _blocks(summary: Mapping[str, Any]) -> Iterator[str | Table | Text]:
    from rich.text import Text

    time = summary["time"]
    started = ""
    if time["started_ns"] is not None:
        started = f", the first {run_report.duration(time['started_ns'])} of it start-up"
    simulated = run_report.duration(time["simulated_ns"])
    if time["skipped_ns"]:
        started += f", {run_report.duration(time['skipped_ns'])} of it idle and skipped"
    yield f"{summary['nic']}: {summary['ended']['text']}; {simulated} of simulated time{started}"
    yield from run_report.remarks(summary)
    ways = [_way(summary[way]) for way in ("sent", "received")]
    rows = [(name, *(way[name] for way in ways)) for name in ways[0]]
    yield run_report.table("Frames", "sent", "received", rows=rows)
    both = [summary[way]["fates"] for way in ("sent", "received")]
    fates = [(_FATES.get(key, key.replace("_", " ")), *(way[key] for way in both)) for key in both[0]]
    if any(count for key, *counts in fates[1:] for count in counts):
        rows = [(words, *(f"{count:,}" for count in counts)) for words, *counts in fates if any(counts)]
        yield run_report.table("What happened to them", "sent", "received", rows=rows)
    if summary["unmeasured"] and any(summary[way]["frames"] for way in ("sent", "received")):
        yield f"No rates: {summary['unmeasured']}"
    if summary.get("short_window"):
        yield Text(f"Short: {summary['short_window']}")
    cores = summary["cores"]
    for at in range(0, len(cores), _CORES_ABREAST):
        yield _cores(cores[at : at + _CORES_ABREAST])
    if cores:
        yield "\n".join(
            f"{core['path']} {'is halted' if core['is_halted'] else 'is'} at {core['place']}" for core in cores
        )
    yield from run_report.resources(summary)
    if summary["functions"]:
        yield _functions(summary["functions"])


def _way(way: Mapping[str, Any]) -> dict[str, str]:
    rate, latency = way["rate"], way["latency_ns"]
    is_measured = bool(rate["frames"])
    return {
        "given to the card": f"{way['offered']:,}",
        "came out": f"{way['frames']:,}",
        "as given and in order": f"{way['good']:,}",
        "lost": f"{way['lost']:,}",
        "late or twice": f"{way['late']:,}",
        "never given": f"{way['unknown']:,}",
        "frames/s": f"{rate['frames_per_s']:,.0f}" if is_measured else "-",
        "Gbit/s": f"{rate['gbps']:.3f}" if is_measured else "-",
        **{
            f"latency, {name}": run_report.duration(latency[name]) if latency else "-"
            for name in ("min", "mean", "median", "p99", "max")
        },
    }


def _cores(cores: Sequence[Mapping[str, Any]]) -> Table:
    """The cores side by side: instructions, cycles and their causes."""

    def share(core: Mapping[str, Any], count: int) -> str:
        return f"{count / core['cycles']:.1%}" if core["cycles"] else "-"

    def per_cycle(core: Mapping[str, Any]) -> str:
        return f"{core['instructions'] / core['cycles']:.2f}" if core["cycles"] else "-"

    rows = [
        ("instructions", *(f"{core['instructions']:,}" for core in cores)),
        ("cycles", *(f"{core['cycles']:,}" for core in cores)),
        ("instructions a cycle", *map(per_cycle, cores)),
    ]
    for cause in cores[0]["cycles_by_cause"]:
        shares = (share(core, core["cycles_by_cause"][cause]) for core in cores)
        rows.append((cause.replace("_", " "), *shares))
    return run_report.table("Core", *(core["path"] for core in cores), rows=rows)


def _functions(functions: Sequence[Mapping[str, Any]]) -> Table:
    cycles = sum(function["cycles"] for function in functions)
    rows = [
        (
            function["name"],
            f"{function['cycles']:,}",
            f"{function['instructions']:,}",
            f"{function['cycles'] / cycles:.1%}",
            f"{function['lock_cycles'] / cycles:.1%}",
        )
        for function in functions[:_MOST_FUNCTIONS]
    ]
    return run_report.table("Function", "cycles", "instructions", "time", "on locks", rows=rows)
