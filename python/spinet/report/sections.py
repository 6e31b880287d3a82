# SPDX-License-Identifier: Apache-2.0
"""The sections of a report."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet._core import InputError, UsageError
from spinet.cli import run_report
from spinet.report import charts
from spinet.report.page import Markup, Section, table, tag
from spinet.report.series import Line, rounded, unit

if TYPE_CHECKING:
    from spinet._timing import Level
    from spinet.paths import Path as PacketPath
    from spinet.report.run import Run

_MOST_RESOURCES = 24
_MOST_LINES = 20  # source lines
_SLOWEST = 8
_MOST_CAUSES = 9  # all others are shown as one
_NO_TABLE = "This run kept no table of packets."


def all_of(run: Run) -> list[Section]:
    """All sections; the first is the head of the page."""
    makers = (_head, _what_ran, _over_time, _latency, _occupancy, _resources, _drops, _slowest, _lines)
    return [make(run) for make in makers]


def _head(run: Run) -> Section:
    summary = run.summary
    experiment = summary["experiment"]
    head = Section(f"{_program(experiment)} on {run_report.card(experiment.get('nic', summary['nic']))}")
    head.add(f"{summary['ended']['text'][:1].upper()}{summary['ended']['text'][1:]}. {run.kind.counts(summary)}.")
    head.inner += [
        tag("p", remark["text"][:1].upper() + remark["text"][1:], class_="remark") for remark in summary["remarks"]
    ]
    head.inner.append(
        tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in _tiles(run)), class_="tiles")
    )
    return head


def _program(experiment: dict[str, Any]) -> str:
    """Programs or chains, as a title."""
    programs = experiment.get("program") or experiment.get("firmware") or []
    names = [Path(str(one)).name for one in ([programs] if isinstance(programs, str) else programs)]
    names = names or [str(chain.get("name", "chain")) for chain in experiment.get("chain") or []]
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "") or "Firmware"


def _tiles(run: Run) -> Iterator[tuple[str, Markup]]:
    summary = run.summary
    rate, steady, latency = summary["throughput"], summary["steady"], summary["latency_ns"]
    packets = summary["packets"]
    yield "packets in", _figure(f"{packets['in']:,}", f"{packets['in_bytes']:,} bytes")
    yield "packets out", _figure(f"{packets['out']:,}", f"{packets['out_bytes']:,} bytes")
    yield "dropped", _figure(f"{packets['dropped']:,}", f"{packets['unfinished']:,} unfinished")
    yield "throughput in", _gbps(rate["in_gbps"])
    yield "throughput out", _gbps(rate["out_gbps"])
    if steady is not None:
        offered = f"of {steady['offered_gbps']:,.4g} Gbit/s offered"
        yield "held in steady state", _figure(f"{steady['held_gbps']:,.4g} Gbit/s", offered)
    if latency is not None:
        yield (
            "latency, median",
            _figure(run_report.duration(latency["median"]), f"min {run_report.duration(latency['min'])}"),
        )
        yield (
            "latency, 99th percentile",
            _figure(run_report.duration(latency["p99"]), f"max {run_report.duration(latency['max'])}"),
        )
    yield "simulated time", _figure(run_report.duration(summary["time"]["simulated_ns"]), f"seed {summary['seed']}")
    full = next((one for one in summary["resources"] if one["name"] == summary["bottleneck"]), None)
    if full is not None:
        yield "bottleneck", _figure(full["name"], f"{full['limit']}: {100 * full['utilisation']:.1f} % busy")


def _figure(value: str, more: str) -> Markup:
    return Markup(tag("span", value) + "<br>" + tag("small", more))


def _gbps(value: float | None) -> Markup:
    return _figure("-" if value is None else f"{value:,.4g} Gbit/s", "from the first packet to the last")


def _what_ran(run: Run) -> Section:
    section = Section("Card and traffic")
    summary = run.summary
    rows = [(one["side"], one["source"]) for one in summary.get("sources", ())]
    if rows:
        section.inner.append(table(("side", "traffic"), rows))
    section.add(Markup(f"The digest of everything that left the card is {tag('code', summary['digest'][:16])}."))
    text = json.dumps(summary["experiment"], indent=2)
    again = Markup(f"The experiment, which {tag('code', 'spinet run experiment.json')} repeats")
    section.inner.append(tag("details", tag("summary", again), tag("pre", text)))
    section.inner += _diagram(run)
    return section


def _diagram(run: Run) -> list[Markup]:
    """The card or the network with its load."""
    try:
        title, drawn, about = run.kind.picture(run.summary)
    except (InputError, UsageError) as error:
        return [tag("p", f"The card cannot be drawn: {error}")]
    scroll = tag("div", Markup(drawn), class_="scroll diagram", tabindex=0, role="img", aria_label=title)
    return [tag("figure", tag("h3", title), scroll, tag("figcaption", about))]


def _over_time(run: Run) -> Section:
    section = Section("Throughput and latency over time")
    packets = run.packets
    if packets is None:
        section.add(_NO_TABLE)
        return section
    rates = packets.rates()
    about = "Bytes of packets without FCS, preamble and gap, at the time at which they came or left."
    rate = section.chart("rate", "Throughput", charts.over_time(packets.middles, rates, title="Gbit/s"), about)
    slow = packets.latency_over_time()
    size = unit(float(max((line.values[~_nan(line)].max() for line in slow if (~_nan(line)).any()), default=1.0)))
    scaled = [Line(line.name, line.values / size[1]) for line in slow]
    about = "Of packets that the card was done with in each of 120 equal parts of the time."
    latency = section.chart(
        "latency-time",
        "Time in the card",
        charts.over_time(packets.middles, scaled, title=f"time in the card [{size[0]}]"),
        about,
    )
    section.inner.append(tag("div", rate, latency, class_="two"))
    return section


def _nan(line: Line) -> Any:
    import numpy as np

    return np.isnan(line.values)


def _latency(run: Run) -> Section:
    section = Section("Distribution of latency")
    packets = run.packets
    rows = [] if packets is None else packets.percentiles()
    if packets is None or not rows:
        section.add(_NO_TABLE if packets is None else "The card was not done with any packet.")
        return section
    edges, lines, is_log = packets.histogram()
    about = "The scale of time is logarithmic, and so are the widths of the bars." if is_log else ""
    histogram = section.chart(
        "latency", "Time in the card", charts.histogram(edges, lines, is_log=is_log, noun="packets"), about
    )
    ways = [way for way, (_, latency) in packets.latencies.items() if latency.size]
    headings = ["percentile", *(f"{way} [ns]".strip() for way in ways)]
    listed = table(headings, [(name, *values) for name, values in rows], caption="Percentiles")
    section.inner.append(tag("div", histogram, listed, class_="two"))
    split = (run.summary["latency_ns"] or {}).get("split") or {}
    bars = [
        {"name": name.replace("_", " "), "value": part["mean"], "about": f"99th percentile {part['p99']:,.6g} ns"}
        for name, part in split.items()
        if part["max"]
    ]
    if bars:
        numbers = [(name.replace("_", " "), part["mean"], part["p99"], part["max"]) for name, part in split.items()]
        data = table(("part", "mean [ns]", "99th percentile [ns]", "max [ns]"), numbers)
        spec = charts.bars(bars, title="mean [ns]", format=",.4~g")
        section.inner.append(
            section.chart(
                "split",
                "Where the time goes, mean of all packets",
                spec,
                "In the order in which a packet passes.",
                data,
            )
        )
    return section


def _occupancy(run: Run) -> Section:
    section = Section("Occupancy over time")
    packets = run.packets
    if packets is None:
        section.add(_NO_TABLE)
        return section
    figures = []
    for at, level in enumerate(packets.timing.levels):
        lines = _renamed(run, level, packets.level(level))
        if not lines or not any(line.values.any() for line in lines):
            continue
        most = _units(run, level)
        about = "Mean of each part of the time." + (
            "" if most is None else f" The dashed line is all there are: {most:,}."
        )
        spec = charts.over_time(packets.middles, lines, title=level.title, is_stacked=True, most=most)
        figures.append(section.chart(f"level-{at}", level.title, spec, about))
    section.inner.append(tag("div", *figures, class_="two"))
    return section


def _renamed(run: Run, level: Level, lines: Sequence[Line]) -> list[Line]:
    """Lines of services with the names of the services."""
    if level.group != "service":
        return list(lines)
    names = [one["service"] for one in run.summary["services"]]
    return [Line(names[int(line.name.rpartition(" ")[2])], line.values) for line in lines]


def _units(run: Run, level: Level) -> int | None:
    """The most that can be occupied; None if the summary does not say."""
    if not level.resource:
        return None
    pattern = re.compile(re.escape(level.resource).replace(r"\*", r"\d+"))
    found = [one["units"] for one in run.summary["resources"] if pattern.fullmatch(one["name"])]
    return sum(found) or None


def _resources(run: Run) -> Section:
    section = Section("Resources")
    resources = run.summary["resources"]
    if not resources:
        section.add("No part that can be full was used.")
        return section
    rows = [{"name": one["name"], "value": one["utilisation"], "about": one["limit"]} for one in resources]
    bottleneck = run.summary["bottleneck"]
    statement = (
        "No part was busy for 90 % of the time." if bottleneck is None else f"{bottleneck} limits the throughput."
    )
    section.add(statement)
    data = table(
        ("part", "limit", "units", "busy cycles", "busy [%]"),
        [(one["name"], one["limit"], one["units"], one["busy_cycles"], 100 * one["utilisation"]) for one in resources],
    )
    spec = charts.bars(rows[:_MOST_RESOURCES], title="share of time busy", format=".1%", most=1, mark=bottleneck or "")
    few = f"The busiest {_MOST_RESOURCES} of {len(rows)}." if len(rows) > _MOST_RESOURCES else ""
    section.inner.append(section.chart("resources", "Busy parts", spec, few, data))
    return section


def _drops(run: Run) -> Section:
    section = Section("Drops")
    reasons = {name: count for name, count in run.summary["packets"]["dropped_by_reason"].items() if count}
    if not reasons:
        section.add("The card dropped no packet.")
        return section
    section.inner.append(
        table(("reason", "packets"), [(name.replace("_", " "), count) for name, count in reasons.items()])
    )
    lines = run.packets.drops() if run.packets is not None else []
    if run.packets is not None and lines:
        spec = charts.over_time(run.packets.middles, lines, title="packets", is_stacked=True)
        section.inner.append(
            section.chart("drops", "Dropped packets over time", spec, "At the time at which they came.")
        )
    return section


def _slowest(run: Run) -> Section:
    section = Section("Paths of packets")
    paths = run.paths
    if paths is None:
        section.add(Markup(f"Not recorded. {tag('code', 'spinet run --paths')} records it."))
        return section
    causes = paths.by_cause()
    whole = sum(causes.values()) or 1
    rows = [
        {"name": name.replace("_", " "), "value": takes / whole, "about": paths.about(name)}
        for name, takes in causes.items()
        if takes
    ]
    data = table(
        ("cause", "meaning", "time of all packets [ns]", "share [%]"),
        [
            (name.replace("_", " "), paths.about(name), takes / 1000, 100 * takes / whole)
            for name, takes in causes.items()
        ],
    )
    spec = charts.bars(rows[:16], title="share of the time of all packets", format=".1%")
    section.inner.append(section.chart("causes", "Causes, all packets", spec, data=data))
    slowest = [paths.path(number) for number, _ in paths.slowest(_SLOWEST)]
    order = list(causes)[:_MOST_CAUSES]
    size = unit(max((path.takes_ps for path in slowest), default=0) / 1000)
    parts = [
        {
            "name": f"packet {path.packet}",
            "part": step.cause.replace("_", " ") if step.cause in order else "other",
            "place": step.place,
            "value": rounded([step.takes_ps / 1000 / size[1]])[0],
            "at": at,
        }
        for path in slowest
        for at, step in enumerate(path.steps)
        if step.takes_ps
    ]
    names = [name.replace("_", " ") for name in order] + ["other"]
    spec = charts.stacks(parts, title=f"time in the card [{size[0]}]", order=names)
    section.inner.append(
        section.chart("slowest", f"The {len(slowest)} slowest packets", spec, "Steps in order, by cause.")
    )
    section.inner += [_steps(path) for path in slowest]
    return section


def _steps(path: PacketPath) -> Markup:
    rows = [
        (
            step.begin_ps / 1000,
            step.takes_ps / 1000,
            step.stage,
            step.place,
            step.cause.replace("_", " "),
            "" if step.blocker is None else f"packet {step.blocker}",
            "" if step.resource is None else f"{step.resource.name}: {100 * step.resource.busy:.0f} % busy",
        )
        for step in path.steps
        if step.takes_ps
    ]
    headings = ("begin [ns]", "takes [ns]", "stage", "place", "cause", "waits for", "resource")
    return tag(
        "details", tag("summary", f"Packet {path.packet}: {path.takes_ps / 1000:,.1f} ns"), table(headings, rows)
    )


def _lines(run: Run) -> Section:
    from spinet.profile import Sources

    section = Section("Hottest lines")
    profile = run.profile
    if profile is None:
        section.add(
            Markup(f"Not recorded. {tag('code', 'spinet run --profile')} records it for cards with programmable cores.")
        )
        return section
    whole = profile.total.busy or 1
    sources = Sources()
    rows: list[Sequence[object]] = []
    for chain, cost in list(profile.chains().items())[:_MOST_LINES]:
        inner = chain[-1]
        lost = ", ".join(
            f"{cause.replace('_', ' ')} {100 * cycles / (cost.busy or 1):.0f} %" for cause, cycles in cost.causes[:3]
        )
        where = Markup("".join(tag("span", str(frame), class_="place") for frame in chain))
        rows.append(
            (
                100 * cost.busy / whole,
                where,
                inner.function,
                tag("code", sources.text(inner).strip()),
                cost.busy,
                cost.executed,
                lost,
            )
        )
    headings = ("share [%]", "line", "function", "source", "cycles", "instructions", "lost to")
    section.inner.append(
        table(headings, rows, caption="Busy cycles of all cores, by line and the lines that it is inlined in")
    )
    return section
