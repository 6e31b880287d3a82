# SPDX-License-Identifier: Apache-2.0
"""The summary of a run, for people."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

_BAR = 32  # columns of the longest bar, where there is room
_LEAST_BAR = 8  # with less space, no bar is drawn
_MOST_COLUMNS = 100
_KEEPS_UP = 0.995  # a card that handles this share of the offered packets holds the offered rate
_MOST_RESOURCES, _LEAST_BUSY = 4, 0.01  # number and share of the busiest parts that are shown

# Stages of a packet in the card by their names in the summary, each with an explanation.
_STAGES = {
    "packet_memory": "into packet memory",
    "message_queue": "in its message's queue",
    "header": "for the header handler",
    "cluster": "waiting for a cluster",
    "copy": "copy to L1",
    "hpu": "waiting for an HPU",
    "handler": "handler",
    "commands": "commands",
    "completion": "completion handler",
    "feedback": "feedback",
}


def print_summary(summary: Mapping[str, Any], *, title: str) -> None:
    """Print the most important results for people."""
    parts = (_packets, _contexts, _times, resources, _handlers, _faults, _findings, captures, _stuck)
    blocks = [block for part in parts for block in part(summary)]
    show([_headline(summary, title), *remarks(summary), *blocks, footer(summary)])


def print_common(summary: Mapping[str, Any], *, title: str) -> None:
    """Print what every kind of card has."""
    packets, rates = summary["packets"], summary["throughput"]
    rows = [
        ("in", _count(packets["in"]), _count(packets["in_bytes"]), _gbps(rates["in_gbps"])),
        ("out", _count(packets["out"]), _count(packets["out_bytes"]), _gbps(rates["out_gbps"])),
        *((f"dropped: {_words(why)}", _count(n), "", "") for why, n in packets["dropped_by_reason"].items() if n),
        *(("unfinished", _count(packets["unfinished"]), "", "") for _ in range(packets["unfinished"] > 0)),
    ]
    blocks: list[str | Table | Text] = [
        f"{title} on {card(summary['experiment']['nic'])}: {summary['ended']['text']}",
        *remarks(summary),
        table("Packets", "count", "bytes", "rate", rows=rows),
    ]
    latency = summary["latency_ns"]
    if latency is not None:
        values = ", ".join(f"{name} {duration(latency[name])}" for name in ("min", "median", "p99", "max"))
        blocks.append(f"Latency     {values}")
    show([*blocks, *resources(summary), footer(summary)])


def show(blocks: Iterable[str | Table | Text], *, width: int | None = None) -> None:
    """Print blocks with an empty line between them. Default width: that of the terminal."""
    console = Console(width=width or columns(), highlight=False, markup=False)
    with console.capture() as printed:
        for number, block in enumerate(blocks):
            if number:
                console.print()
            console.print(block, soft_wrap=isinstance(block, str))
    for line in printed.get().splitlines():
        click.echo(line.rstrip())  # without the blanks at the end of the last column


Blocks = Iterator[str | Table]

_MARK = "! "


def remarks(summary: Mapping[str, Any]) -> list[str]:
    """The remarks, one marked paragraph each. The first line of the report already says why a run is unfinished."""
    texts = (remark["text"] for remark in summary["remarks"] if remark["kind"] != "unfinished")
    wrap = textwrap.TextWrapper(
        width=columns(),
        initial_indent=_MARK,
        subsequent_indent=" " * len(_MARK),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [wrap.fill(text[:1].upper() + text[1:]) for text in texts]


def columns() -> int:
    """Width of the output in columns."""
    return min(shutil.get_terminal_size((_MOST_COLUMNS, 24)).columns, _MOST_COLUMNS)


def table(
    *headings: str, rows: Sequence[Sequence[str]], kinds: str = "w", bars: Sequence[float] | None = None
) -> Table:
    """Columns under their headings. `kinds` has a letter for each column: `w` for words, whose lines may be broken, any
    other for numbers.

    `bars` are drawn behind the rows, 1 being the longest, as long as there is room.
    """
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    room = min(columns() - sum(widths) - 2 * len(widths), _BAR)
    if bars is not None and room >= _LEAST_BAR:
        drawn = [bar(fraction, room) for fraction in bars]
        headings, kinds = (*headings, ""), kinds.ljust(len(headings), "n") + "b"
        rows = [(*row, one) for row, one in zip(rows, drawn, strict=True)]
        widths.append(max(map(len, drawn), default=0))
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= columns() else 1
    table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for heading, width, kind in zip(headings, widths, kinds.ljust(len(headings), "n"), strict=True):
        if kind == "w":
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right" if kind == "n" else "left", no_wrap=True, min_width=width)
    for row in rows:
        table.add_row(*row)
    return table


def card(nic: str | Mapping[str, Any]) -> str:
    """A card of an experiment, with the parameters that differ from its file."""
    if isinstance(nic, str):
        return nic
    changes = ", ".join(f"{path}={value}" for path, value in nic.get("set", {}).items())
    return f"{nic['preset']} with {changes}" if changes else str(nic["preset"])


def _headline(summary: Mapping[str, Any], title: str) -> str:
    time = summary["time"]
    return (
        f"{title} on {card(summary['experiment']['nic'])}: {summary['ended']['text']}, "
        f"{duration(time['simulated_ns'])} of simulated time ({time['cycles']:,} cycles)"
    )


def _packets(summary: Mapping[str, Any]) -> Blocks:
    packets, output = summary["packets"], summary["output"]
    rows = [
        ("in", _count(packets["in"]), _count(packets["in_bytes"])),
        ("matched", _count(packets["matched"]), _count(packets["matched_bytes"])),
        # Matched packets without a queue go there too; they are listed below.
        (
            "not matched, to the host the ordinary way",
            _count(packets["in"] - packets["matched"]),
            _count(packets["in_bytes"] - packets["matched_bytes"]),
        ),
        ("sent by handlers", _count(packets["out"]), _count(packets["out_bytes"])),
        (
            "to the host by handlers, in beats of 64 B",
            _count(output["host_writes"]),
            _count(output["host_write_bytes"]),
        ),
    ]
    if output["host_reads"]:
        rows.append(("read from the host by handlers", _count(output["host_reads"]), _count(output["host_read_bytes"])))
    yield table("Packets", "count", "bytes", rows=rows)
    yield from network(summary)
    dropped = [
        (f"dropped by the card: {_words(why)}", _count(n)) for why, n in packets["dropped_by_reason"].items() if n
    ]
    # Every matched packet is in one row.
    fates = [
        ("sent", _count(packets["sent"])),
        ("to the host", _count(packets["to_host"])),
        *_if_any("sent, and to the host", packets["sent_and_to_host"]),
        ("consumed (handled; nothing sent or written)", _count(packets["consumed"])),
        *_if_any("trapped", packets["trapped"]),
        *_if_any("unfinished", packets["unfinished"]),
        *_if_any("no queue free, to the host the ordinary way", packets["without_queue"]),
        *(dropped or [("dropped by the card", "0")]),
    ]
    yield table("Fate of matched packets", "packets", rows=fates)
    if packets["marked"]:
        yield f"Marked as having met congestion: {_count(packets['marked'])} packets"


def _if_any(what: str, number: int) -> list[tuple[str, str]]:
    return [(what, _count(number))] if number else []


def _contexts(summary: Mapping[str, Any]) -> Blocks:
    contexts = summary["contexts"]
    if len(contexts) < 2 and all(context["messages"] == context["packets"] for context in contexts):
        return
    rows = [
        (
            context["name"],
            context["match"] or "everything",
            context["message"],
            _count(context["packets"]),
            _count(context["messages"]),
            _count(context["messages_ended"]),
        )
        for context in contexts
    ]
    yield table("Context", "takes", "message", "packets", "messages", "ended", rows=rows, kinds="www")
    alone = sum(context["packets_without_fields"] for context in contexts)
    if alone:
        yield f"Packets without the fields of the message definition, each a message of its own: {_count(alone)}"


def _times(summary: Mapping[str, Any]) -> Blocks:
    rate, latency = summary["throughput"], summary["latency_ns"]
    lines = []
    if any(value is not None for value in rate.values()):
        lines.append(
            f"Throughput  in {_gbps(rate['in_gbps'])}, out {_gbps(rate['out_gbps'])}, "
            f"{_scaled(rate['done_packets_per_s'], ('', 'k', 'M', 'G'))} packets/s"
        )
    if latency is not None:
        values = ", ".join(f"{name} {duration(latency[name])}" for name in ("min", "median", "p99", "max"))
        lines.append(f"Latency     {values}")
    hpus = summary["hpus"]
    clusters = " ".join(f"{busy:.0f}" for busy in hpus["per_cluster_percent"])
    asleep = "" if hpus["asleep_percent"] is None else f", {hpus['asleep_percent']:.1f} % asleep"
    lines.append(f"HPUs        {hpus['busy_percent']:.1f} % of {hpus['count']} busy (by cluster: {clusters}){asleep}")
    wait = summary["ingress_wait_ns"]
    if wait is not None and wait["max"]:
        lines.append(f"Ingress     packets waited {duration(wait['mean'])} for room, at most {duration(wait['max'])}")
    yield "\n".join(lines)
    if latency is not None and latency["split"]:
        yield _split(latency["split"])


def _order(stage: str) -> int:
    """Stages in order of time; unknown ones come last."""
    return list(_STAGES).index(stage) if stage in _STAGES else len(_STAGES)


def _split(split: Mapping[str, Mapping[str, float]]) -> Table:
    longest = max(stage["mean"] for stage in split.values()) or 1.0
    in_order = sorted(split.items(), key=lambda item: _order(item[0]))
    stages = [(name, stage) for name, stage in in_order if stage["p99"] or stage["mean"]]
    rows = [
        (_STAGES.get(name, _words(name)), duration(stage["mean"]), duration(stage["p99"])) for name, stage in stages
    ]
    bars = [stage["mean"] / longest for _name, stage in stages]
    return table("Where the time goes", "mean", "p99", rows=rows, bars=bars)


def _handlers(summary: Mapping[str, Any]) -> Blocks:
    several = len(summary["contexts"]) > 1
    rows = [
        (
            *((handler["context"],) if several else ()),
            handler["symbol"] or "(none)",
            handler["stage"],
            _count(handler["runs"]),
            *(_spread(handler["instructions"]) if handler["runs"] else "---"),
            *(_spread(handler["cycles"]) if handler["runs"] else "---"),
        )
        for handler in summary["handlers"]
    ]
    if rows:
        who = ("Context", "handler") if several else ("Handler",)
        figures = ("runs", "instructions", "min", "max", "cycles", "min", "max")
        yield table(*who, "stage", *figures, rows=rows, kinds="www" if several else "ww")


_EVENTS = {
    "message_timeout": "no packet for longer than the context waits",
    "message_killed": "no room in packet memory",
    "message_evicted": "their queues were needed by another tenant",
    "translation_fault": "host memory that is not registered",
}


def _faults(summary: Mapping[str, Any]) -> Blocks:
    rows = []
    for trap in summary["traps"]:
        first = trap["first"]
        where = f"{first['place'] or first['pc']}{_line(first)}, cluster {first['cluster']} core {first['core']}"
        what = trap["cause"] + (f" ({first['note']})" if first["note"] else "")
        value = f", {first['value_is']} {first['value']}" if first["value_is"] else ""
        rows.append((what, f"{where}{value}", _count(trap["count"])))
    output = summary["output"]
    faults = output["command_faults"]
    if faults:
        rows.append(("command refused", _refused(output["first_command_fault"]), _count(faults)))
    if output["copy_faults"]:
        rows.append(("copy by a cluster's DMA engine", "an unmapped address", _count(output["copy_faults"])))
    events = summary["events"]
    for what, text in _EVENTS.items():
        if events[what]:
            rows.append((_words(what), text, _count(events[what])))
    if rows:
        yield table("Fault", "first at", "count", rows=rows, kinds="ww")


def _findings(summary: Mapping[str, Any]) -> Blocks:
    """Findings of the memory checker, if the run was checked."""
    check = summary.get("check")
    if check is None:
        return
    rows = []
    for found in check["findings"]:
        where = f"{found['place']}{_line(found)}"
        who = f"{found['stage']} of packet {found['frame']}, message {found['message']}"
        when = f"cluster {found['cluster']} core {found['core']}, cycle {_count(found['cycle'])}"
        more = ""
        if found["loaded"] is not None and found["loaded"]["line"]:
            more = f"; loaded at {source_line(found['loaded'])}"
        if found["other"] is not None:
            other = found["other"]
            more = (
                f"; the other core: {other['place']}{_line(other)}, packet {other['frame']}, "
                f"cluster {other['cluster']} core {other['core']}, cycle {_count(other['cycle'])}"
            )
        rows.append((found["kind"], found["text"] + more, f"{where}, {who}, {when}", _count(found["count"])))
    if rows:
        yield table("Memory", "finding", "first at", "count", rows=rows, kinds="www")
    else:
        yield "Memory  checked, no findings"


def _refused(first: Mapping[str, Any]) -> str:
    where = f"cluster {first['cluster']} core {first['core']}"
    return f"{first['handler']}, by {first['unit']}, {where}, address {first['addr']}: {first['why']}"


def _line(place: Mapping[str, Any]) -> str:
    """The source line of a place in a program, in brackets, if it is known."""
    return f" ({source_line(place)})" if place["line"] else ""


def source_line(place: Mapping[str, Any]) -> str:
    """The source line of a place in a program, and those of functions inlined there: `a.c:3, inlined from b.h:7`."""
    line, *inlined = (Path(frame["line"]).name for frame in (place, *place["inlined"]))
    return f"{line}, inlined from {', '.join(inlined)}" if inlined else line


_CAPTURE_NOTES = {
    "other_link_types": "packets of links other than Ethernet, left out",
    "snapped": "packets that the capture holds only in part",
    "too_long": "packets longer than any frame, left out",
    "too_short": "packets shorter than an Ethernet header",
    "jumbo": "jumbo frames",
    "contradictory_lengths": "packets whose lengths contradict each other",
    "without_time": "packets without a time",
    "fcs_removed": "packets whose frame check sequence was taken off",
    "malformed_blocks": "malformed blocks, left out",
    "other_blocks": "blocks that hold no packets",
    "truncated": "packets cut off by the end of the file",
    "corrupt": "places where the file makes no sense",
}


def capture_notes(capture: Mapping[str, Any], stop: str | None) -> list[str]:
    """Remarks on a capture, one line each."""
    notes = [f"  {_count(int(capture[name]))} {text}" for name, text in _CAPTURE_NOTES.items() if capture.get(name)]
    return [*notes, f"  reading stopped: {stop}"] if stop else notes


def network(summary: Mapping[str, Any]) -> Blocks:
    """Counts of the network's faults, one line for each source with faults."""
    for source in summary["sources"]:
        counts = source["network"]
        done = [f"{_count(counts[what])} {what}" for what in ("lost", "duplicated", "reordered") if counts[what]]
        if done:
            yield f"The network, on the way{_of(source, summary)}: {', '.join(done)}"


def captures(summary: Mapping[str, Any]) -> Blocks:
    """Remarks on the captures and on the times of their packets."""
    for source in summary["sources"]:
        capture, pacing = source["capture"] or {}, source["pacing"]
        notes = capture_notes(capture, capture.get("stop"))
        if pacing["out_of_order"]:
            notes.append(f"  {_count(pacing['out_of_order'])} packets with an earlier time than the packet before them")
        if pacing["cut_gaps"]:
            notes.append(f"  {_count(pacing['cut_gaps'])} gaps without packets that were cut short")
        if notes:
            yield "\n".join([f"About the capture{_of(source, summary)}", *notes])


def _of(source: Mapping[str, Any], summary: Mapping[str, Any]) -> str:
    """The name of a source, if there are several."""
    return f" of {source['source']}" if len(summary["sources"]) > 1 else ""


def _stuck(summary: Mapping[str, Any]) -> Blocks:
    ended = summary["ended"]
    if ended["reason"] == "complete":
        return
    left = f"packets {_count(ended['unfinished_packets'])}, messages {_count(ended['open_messages'])}"
    cores = [
        (
            f"{core['cluster']}.{core['core']}",
            core["stage"] or "-",
            f"{core['place'] or core['pc']}{_line(core)}",
            core["waiting_for"],
        )
        for core in ended["cores"]
    ]
    yield f"Not finished: {left}"
    if cores:
        yield table("Core", "stage", "is at", "and", rows=cores, kinds="wwww")


def resources(summary: Mapping[str, Any]) -> Blocks:
    """The rate that the card holds, and its busiest parts; only the busiest one of several parts of a kind."""
    if summary["steady"] is not None:
        yield "\n".join(_steady(summary["steady"], summary.get("hpus")))
    found: dict[str, Mapping[str, Any]] = {}
    for row in summary["resources"]:
        found.setdefault(re.sub(r"\[\d+\]", "[]", row["name"]), row)
    rows = [row for row in found.values() if row["utilisation"] >= _LEAST_BUSY][:_MOST_RESOURCES]
    if not rows:
        return
    yield table(
        "Busiest parts",
        "",
        "busy",
        rows=[(row["name"].removeprefix("nic."), row["limit"], f"{100 * row['utilisation']:.1f} %") for row in rows],
        kinds="wwn",
        bars=[min(row["utilisation"], 1.0) for row in rows],
    )
    yield from bottleneck(summary)


def bottleneck(summary: Mapping[str, Any]) -> Blocks:
    """The part that limits the throughput, if there is one."""
    for row in summary["resources"]:
        if row["name"] == summary["bottleneck"]:
            state = "busy" if row["does"] == "passes" else "full"
            yield f"Bottleneck: {row['limit']} ({100 * row['utilisation']:.1f} % {state})"


def _steady(steady: Mapping[str, float], hpus: Mapping[str, Any] | None) -> Iterator[str]:
    held, offered = _line_rate(steady, "held"), _line_rate(steady, "offered")
    keeps_up = steady["held_packets_per_s"] >= _KEEPS_UP * steady["offered_packets_per_s"]
    yield f"Steady      holds {f'the offered {offered}' if keeps_up else f'{held} of {offered}'}"
    if hpus is not None and hpus["used_cycles"] is not None:
        yield (
            f"Budget      {hpus['budget_cycles']:,.1f} cycles a packet on {hpus['count']} HPUs at the offered rate; "
            f"handlers take {hpus['used_cycles']:,.1f}"
        )


def _line_rate(steady: Mapping[str, float], which: str) -> str:
    packets = _scaled(steady[f"{which}_packets_per_s"], ("", "k", "M", "G"))
    return f"{steady[f'{which}_line_gbps']:,.1f} Gbit/s on the line ({packets} packets/s)"


def footer(summary: Mapping[str, Any]) -> str:
    """Digest, seed and duration of the run."""
    wall = summary["wall"]
    took = f"computed in {duration(wall['seconds'] * 1e9)}"
    # In a shorter run, start-up takes most of the time. A network has no clock of its own.
    if wall["seconds"] > 0.1 and wall["cycles_per_second"] is not None:
        took += f", {_scaled(wall['cycles_per_second'], ('', 'k', 'M', 'G'))} cycles/s"
    return f"Digest {summary['digest'][:16]}, seed {summary['seed']}, {took}"


def bar(fraction: float, longest: int) -> str:
    """A bar in eighths of a column; any value above 0 is visible."""
    eighths = max(round(fraction * longest * 8), 1 if fraction > 0 else 0)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


def duration(nanoseconds: float | None) -> str:
    """A time in the unit that suits it."""
    if nanoseconds is None:
        return "-"
    if nanoseconds < 1000:
        return f"{nanoseconds:.{int(nanoseconds < 100)}f} ns"
    return _scaled(nanoseconds / 1000, ("us", "ms", "s"))


def _scaled(value: float | None, units: Sequence[str]) -> str:
    """About three digits with the fitting unit; each unit is a thousand times the previous one."""
    if value is None:
        return "-"
    unit = 0
    while value >= 1000 and unit + 1 < len(units):
        value /= 1000
        unit += 1
    return f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f} {units[unit]}".rstrip()


def _gbps(rate: float | None) -> str:
    return "-" if rate is None else _scaled(rate * 1e9, ("bit/s", "kbit/s", "Mbit/s", "Gbit/s"))


def _count(number: int) -> str:
    return f"{number:,}"


def _spread(values: Mapping[str, float]) -> tuple[str, str, str]:
    return f"{values['mean']:,.1f}", f"{values['min']:,}", f"{values['max']:,}"


def _words(name: str) -> str:
    return name.replace("_", " ")
