# SPDX-License-Identifier: Apache-2.0
"""`spinet run` for cards that are wired from modules."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from spinet.cli import errors, parameters


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the command line says."""

    program: Sequence[str]
    firmware: Sequence[str]
    load: int | None
    entry: int | None
    traffic: str | None
    send: str | None
    sets: Sequence[str]
    limit: str | None
    seed: int | None
    cc: str | None
    defines: Mapping[str, str | int]
    output: Path | None
    force: bool
    as_json: bool


def command(nic: str, wanted: Wanted, *, refused: Sequence[str]) -> int:
    """Run the card; the exit code."""
    from spinet import card_run
    from spinet._core import UsageError
    from spinet.output import SUMMARY, OutputFolder

    if refused:
        raise UsageError(f"{refused[0]} is for handlers, which {nic} does not run")
    if wanted.program and wanted.firmware:
        raise UsageError(f"firmware is named twice: {wanted.program[0]} and {wanted.firmware[0]}")
    with contextlib.ExitStack() as stack:
        folder = None
        if wanted.output is not None:
            folder = stack.enter_context(OutputFolder(wanted.output, force=wanted.force))
        chosen = card_run.choose_firmware(
            nic,
            list(wanted.firmware or wanted.program) or None,
            defines=wanted.defines,
            cc=wanted.cc,
            load=wanted.load,
            entry=wanted.entry,
            set=wanted.sets,
        )
        if chosen.messages:
            click.echo(chosen.messages.rstrip("\n"), err=True)
        on_progress = stack.enter_context(parameters.card_progress_bar())
        summary = card_run.drive(
            nic,
            chosen,
            traffic=wanted.traffic,
            send=wanted.send,
            set=wanted.sets,
            limit=wanted.limit or "20 ms",
            seed=1 if wanted.seed is None else wanted.seed,
            profile=True,
            base_dir=".",
            on_progress=on_progress,
        )
        if folder is not None:
            (folder.path / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
            folder.commit()
    if wanted.as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        _print(summary, wanted.output)
    if summary["ended"]["reason"] in ("complete", "limit"):
        return 0
    more = "".join(f"\n  {line}" for line in [*summary["rings"], *summary["faults"]])
    errors.complain(f"the run did not finish: {summary['ended']['text']}{more}", hint="")
    return errors.UNFINISHED


def _print(summary: Mapping[str, Any], output: Path | None) -> None:
    """What a person wants to know first."""
    from rich.console import Console

    console = Console(width=100, highlight=False, markup=False)
    with console.capture() as printed:
        for block in _blocks(summary):
            console.print(block, soft_wrap=isinstance(block, str))
            console.print()
    for line in printed.get().rstrip().splitlines():
        click.echo(line.rstrip())
    if output is not None:
        click.echo(f"\nResults are in {output}")


def _blocks(summary: Mapping[str, Any]) -> Iterator[Any]:
    from spinet.cli.run_report import duration, table

    time = summary["time"]
    started = "" if time["started_ns"] is None else f", the first {duration(time['started_ns'])} of it start-up"
    yield f"{summary['nic']}: {summary['ended']['text']}, {duration(time['simulated_ns'])} of simulated time{started}"
    rows = [_way(name, summary[way]) for name, way in (("sent", "sent"), ("received", "received"))]
    headings = ("Frames", "given", "came out", "in order", "lost", "wrong", "frames/s", "Gbit/s", "latency, mean")
    yield table(*headings, rows=rows)
    if summary["cores"]:
        yield table(
            "Core",
            "instructions",
            "a cycle",
            *(cause.replace("_", " ") for cause in summary["cores"][0]["cycles_by_cause"]),
            "at",
            rows=[_core(core) for core in summary["cores"]],
        )
    if summary["functions"]:
        cycles = sum(function["cycles"] for function in summary["functions"])
        yield table(
            "Function",
            "cycles",
            "instructions",
            "time",
            rows=[
                (
                    function["name"],
                    f"{function['cycles']:,}",
                    f"{function['instructions']:,}",
                    f"{function['cycles'] / cycles:.1%}",
                )
                for function in summary["functions"][:12]
            ],
        )


def _way(name: str, way: Mapping[str, Any]) -> tuple[str, ...]:
    rate, latency = way["rate"], way["latency_ns"]
    from spinet.cli.run_report import duration

    return (
        name,
        f"{way['offered']:,}",
        f"{way['frames']:,}",
        f"{way['good']:,}",
        f"{way['lost']:,}",
        f"{way['late'] + way['unknown']:,}",
        f"{rate['frames_per_s']:,.0f}" if rate["frames"] else "-",
        f"{rate['gbps']:.3f}" if rate["frames"] else "-",
        duration(latency["mean"]) if latency else "-",
    )


def _core(core: Mapping[str, Any]) -> tuple[str, ...]:
    cycles = core["cycles"]
    shares = [f"{count / cycles:.1%}" if cycles else "-" for count in core["cycles_by_cause"].values()]
    place = f"{core['place']}{', halted' if core['is_halted'] else ''}"
    per_cycle = f"{core['instructions'] / cycles:.2f}" if cycles else "-"
    return (core["path"], f"{core['instructions']:,}", per_cycle, *shares, place)
