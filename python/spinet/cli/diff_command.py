# SPDX-License-Identifier: Apache-2.0
"""`spinet diff`: shows what changed between two results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.differences import Change, Difference

CHANGED = 1
_SHOWN = 30  # changes of a section


@click.command(short_help="Show what changed between two results.")
@click.argument("before", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.argument("after", type=click.Path(), metavar="DIR", shell_complete=parameters.complete_files)
@click.option(
    "--tolerance",
    metavar="PERCENT",
    type=click.FloatRange(min=0),
    default=0.0,
    show_default=True,
    help="Leave out numbers that changed by at most this.",
)
@click.option("--counters", is_flag=True, help="Compare the counters of all parts, too.")
@click.option("--all", "everything", is_flag=True, help=f"Print all changes, not only {_SHOWN} of each section.")
@parameters.json_option
def command(before: str, after: str, tolerance: float, counters: bool, everything: bool, as_json: bool) -> int:
    """Show what changed between two results: folders of two runs (spinet run -o DIR), or of two sweeps.

    For runs, it compares the experiments, all values of the summaries, and the cycles of source lines if both runs have
    --profile. For sweeps, it compares the summaries of runs with equal settings. It leaves out times of this machine.

    \b
    Examples:
      spinet run count.c --traffic dns.pcap --profile -o before
      spinet run count.c --traffic dns.pcap --profile -o after      (of the changed handler)
      spinet diff before after --tolerance 1
      spinet diff sweep-1 sweep-2 --json

    \b
    Exit codes: 0 nothing changed, 1 something changed, 2 bad input.
    """
    from spinet import differences
    from spinet.cli import run_report

    found = differences.diff(before, after, counters=counters).beyond(tolerance / 100)
    if as_json:
        click.echo(json.dumps(found.as_json(), indent=2))
    elif found.is_empty:
        click.echo("nothing changed")
    else:
        run_report.show(report(found, most=None if everything else _SHOWN))
    return 0 if found.is_empty else CHANGED


def report(found: Difference, *, most: int | None) -> Iterator[str | Table]:
    """A table for each section; `most` changes of each."""
    for section in ("experiment", "summary", "profile"):
        changes = found.of(section)
        if not changes:
            continue
        # Values of an experiment can be long texts.
        yield _lines(changes[:most]) if section == "experiment" else _table(section, changes[:most])
        if most is not None and len(changes) > most:
            yield f"and {len(changes) - most:,} more changes of the {section}; --all prints them"


def _lines(changes: Sequence[Change]) -> str:
    return "\n".join(["experiment", *(f"{one.key}: {_cell(one.before)} -> {_cell(one.after)}" for one in changes)])


def _table(section: str, changes: Sequence[Change]) -> Table:
    from spinet import differences
    from spinet.cli import run_report

    heads = {"profile": "cycles of the line"}
    has_runs = any(change.where for change in changes)
    cells = [
        (
            change.key,
            *([change.where] if has_runs else []),
            _cell(change.before),
            _cell(change.after),
            differences.percent(change),
        )
        for change in changes
    ]
    names = (heads.get(section, section), *(["run"] if has_runs else []), "before", "after", "change")
    return run_report.table(*names, rows=cells, kinds="ww" if has_runs else "w")


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else f"{value:,}" if type(value) is int else str(value)
