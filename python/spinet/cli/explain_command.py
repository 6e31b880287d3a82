# SPDX-License-Identifier: Apache-2.0
"""`spinet explain`: shows where a packet spent its time, and what it waited for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.paths import Path, Paths

_FULL = 0.9  # share of the time above which a part is named as a reason


@click.command(short_help="Show where a packet spent its time, and what it waited for.")
@click.argument("run", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.argument("packet", type=parameters.Whole(min=0), required=False, metavar="[PACKET]")
@click.option("--top", metavar="N", type=parameters.Whole(min=1), default=8, help="Slowest packets. Default: 8.")
@parameters.json_option
def command(run: str, packet: int | None, top: int, as_json: bool) -> int:
    """Show where a packet spent its time, and what it waited for.

    DIR is the folder of a run with --paths. PACKET is the number of a packet in the card: the column `packet` of
    packets.parquet, or of frames.parquet for wired cards. Without it, the causes of all packets and the slowest packets
    are listed.

    A path is a list of steps without gaps, from the packet's arrival until the card is done with it. Each step has a
    place, a cause and, if one is known, the packet that is waited for. The steps add up to the time exactly. Steps
    within a handler are in order of size, and those within a wait in order of first appearance.

    \b
    Examples:
      spinet run count.c --traffic udp:size=64,count=10000,rate=400G --paths -o result
      spinet explain result
      spinet explain result 4711
      spinet explain result 4711 --json
    """
    from spinet.cli import run_report
    from spinet.paths import Paths

    paths = Paths.load(run)
    if packet is not None:
        path = paths.path(packet)
        if as_json:
            click.echo(json.dumps(_as_json(path), indent=2))
        else:
            run_report.show(report(path))
    elif as_json:
        slowest = [{"packet": number, "takes_ps": takes} for number, takes in paths.slowest(top)]
        click.echo(json.dumps({"packets": len(paths), "causes": paths.by_cause(), "slowest": slowest}, indent=2))
    else:
        run_report.show(overview(paths, top=top))
    return 0


def overview(paths: Paths, *, top: int) -> Iterator[str | Table]:
    """Causes of all packets, and the slowest packets."""
    from spinet.cli import run_report

    causes, number = paths.by_cause(), len(paths)
    total = sum(causes.values())
    if not total:
        yield "No packet spent time in the card."
        return
    yield f"{number:,} packets, {total / number / 1000:,.1f} ns each from arrival to end"
    rows = [
        (cause, f"{takes / number / 1000:,.1f}", _share(takes, total), paths.about(cause))
        for cause, takes in causes.items()
    ]
    yield run_report.table("Cause", "ns", "share", "while", rows=rows, kinds="wnnw")
    slowest = [paths.path(packet) for packet, _ in paths.slowest(top)]
    listed = [(str(path.packet), f"{path.takes_ps / 1000:,.1f}", ", ".join(_most(path))) for path in slowest]
    yield run_report.table("Slowest packets", "ns", "most of it", rows=listed, kinds="nnw")
    yield f"One packet: spinet explain DIR {slowest[0].packet}"


def report(path: Path) -> Iterator[str | Table]:
    """The path of a packet as blocks of text and tables."""
    from spinet.cli import run_report

    row = path.row
    fate = row["fate"] if "fate" in row else f"{row['way']}, {'came' if row['out_ps'] is not None else 'not'} out"
    named = f"Packet {path.packet}: {row['bytes']} bytes, {fate.replace('_', ' ')}"
    if row.get("frame") is not None:
        named += f", frame {row['frame']} of its source"
    yield f"{named}; {path.takes_ps / 1000:,.1f} ns from arrival to end"
    start, longest = path.steps[0].begin_ps, max(step.takes_ps for step in path.steps)
    rows = [
        (
            f"{(step.begin_ps - start) / 1000:,.1f}",
            f"{step.takes_ps / 1000:,.1f}",
            step.stage,
            step.place,
            step.cause if step.blocker is None else f"{step.cause} (packet {step.blocker})",
        )
        for step in path.steps
    ]
    bars = [step.takes_ps / longest for step in path.steps]
    yield run_report.table("at ns", "takes", "stage", "where", "cause", rows=rows, kinds="nnwww", bars=bars)
    about = {step.cause: step.about for step in path.steps}
    causes = [
        (cause, f"{takes / 1000:,.1f}", _share(takes, path.takes_ps), about[cause])
        for cause, takes in path.by_cause().items()
    ]
    yield run_report.table("Cause", "ns", "share", "while", rows=causes, kinds="wnnw")
    full = {step.resource.name: step.resource for step in path.steps if step.resource and step.resource.busy >= _FULL}
    for resource in full.values():
        yield f"Full over the whole run: {resource.limit} ({resource.name}, {100 * resource.busy:.1f} % busy)"


def _most(path: Path) -> list[str]:
    causes = list(path.by_cause().items())[:3]
    return [f"{cause} {takes / 1000:,.1f}" for cause, takes in causes]


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "0 %"


def _as_json(path: Path) -> dict[str, Any]:
    from dataclasses import asdict

    return {"packet": path.packet, "takes_ps": path.takes_ps, "steps": [asdict(step) for step in path.steps]}
