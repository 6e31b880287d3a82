# SPDX-License-Identifier: Apache-2.0
"""`spinet ndr`: finds the highest rate that a card holds without loss."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from spinet._options import OPTIONS
from spinet.cli import parameters, run_command

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.ndr import NoDropRate, Trial

# Options of `spinet run` that concern the results of one run, or the rate.
_NOT_HERE = (
    "pacing",
    "output",
    "force",
    "strict",
    "report",
    "profile",
    "paths",
    "timeline",
    "waves",
    "timeline_only",
    "capture_drops",
    "out",
    "check",
    "trace_instructions",
    "trace_cores",
    "trace_time",
    "threads",
)


@click.command(cls=parameters.CommandOfKinds, short_help="Find the highest rate that a card holds without loss.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[HANDLER.c...]")
@click.option("--sizes", metavar="LIST", help="Search for each of these sizes of packets, such as 64,512,1500.")
@click.option("--max", "most", metavar="RATE", default="400G", show_default=True, help="The highest rate to try.")
@click.option(
    "--precision",
    metavar="PERCENT",
    type=click.FloatRange(min=0.01, max=50),
    default=1.0,
    show_default=True,
    help="End the search at this part of --max.",
)
@run_command.all_options(without=_NOT_HERE)
@parameters.json_option
def command(
    sizes: str | None, most: str, precision: float, as_json: bool, program: tuple[str, ...], **options: Any
) -> int:
    """Find the highest rate that a card holds without loss, by bisection over runs.

    A rate is held if no packet is dropped, and if the card is done with packets as fast as they come. Both are
    measured in steady state: in the last three quarters of the time in which packets come. So packets that a buffer
    soaks up do not count. Rates are those on the line, with FCS, preamble and gap.

    The search replaces the rate of --traffic. A generator without a count makes 20,000 packets. A capture is played
    back to back at each rate.

    \b
    Examples:
      spinet ndr ping_pong.c --traffic udp:size=64
      spinet ndr count.c --traffic udp: --sizes 64,128,256,512,1024,1500
      spinet ndr filter.c --traffic dns.pcap --match udp --max 100G --precision 0.1
      spinet ndr --nic panic --chain 'all: aes -> sha' --traffic udp:size=512 --max 100G
    """
    from spinet import _programs, api, ndr
    from spinet._core import UsageError
    from spinet.cli import run_report

    if program and parameters.is_experiment(program[0]):
        raise UsageError("an experiment file says its rates itself", hint="name handlers, --nic and --traffic instead")
    if len(options["traffic"]) != 1:
        raise UsageError("name one source of packets, whose rate is searched for: --traffic udp:size=64")
    unset = {name: () if OPTIONS[name].multiple else None for name in _NOT_HERE}
    (traffic,) = options["traffic"]

    def run(source: str, pacing: str | None) -> Mapping[str, Any]:
        given, _ = run_command.keywords(
            {**unset, **options, "program": program, "traffic": (source,), "pacing": pacing}
        )
        ready = _programs.built(
            api.prepare(None, given, options=True),
            given,
            cc=options["cc"],
            defines=parameters.macros(options["defines"]),
        )
        return api.collect(ready, keep_packets=False).summary

    found: list[NoDropRate] = []
    for size in [None] if sizes is None else ndr.sizes(sizes):
        found.append(
            ndr.search(
                run,
                traffic,
                size=size,
                most=ndr.rate(most),
                precision=precision / 100,
                count=options["count"],
                on_trial=_tell if sys.stderr.isatty() else None,
            )
        )
    if as_json:
        click.echo(json.dumps([one.as_json() for one in found], indent=2))
    else:
        run_report.show(report(found))
    return 0


def _tell(trial: Trial) -> None:
    """Show progress on a terminal."""
    click.echo(f"{trial.gbps:8.2f} Gbit/s: {trial.lost or 'held'}", err=True)


def report(found: Sequence[NoDropRate]) -> Iterator[str | Table]:
    """A row for each search, and what limits the card."""
    from spinet.cli import run_report

    rows = []
    for one in found:
        latency = None if one.best is None else one.best.summary["latency_ns"]
        rows.append(
            (
                one.traffic if one.size is None else f"{one.size} B",
                f"{one.gbps:.2f}",
                f"{one.packets_per_s / 1e6:.2f}",
                "-" if latency is None else run_report.duration(latency["median"]),
                "-" if latency is None else run_report.duration(latency["p99"]),
            )
        )
    bars = [one.gbps / max(1e-9, *(other.gbps for other in found)) for one in found]
    yield run_report.table(
        "No-drop rate of", "Gbit/s", "M packets/s", "median", "p99", rows=rows, bars=bars if len(found) > 1 else None
    )
    for one in found:
        name = "" if one.size is None else f"{one.size} B: "
        if one.beyond is None:
            yield f"{name}the card holds the highest rate that was tried, {one.gbps:g} Gbit/s"
            continue
        limit = [
            f"; {row['limit']} ({row['name']}, {100 * row['utilisation']:.1f} % busy)"
            for row in one.beyond.summary["resources"]
            if row["name"] == one.beyond.summary["bottleneck"]
        ]
        yield f"{name}at {one.beyond.gbps:.2f} Gbit/s: {one.beyond.lost}{''.join(limit)}"
