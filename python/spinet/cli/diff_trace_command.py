# SPDX-License-Identifier: Apache-2.0
"""`spinet diff-trace`: finds the first difference of two instruction traces, and its cause."""

from __future__ import annotations

import click

from spinet.cli import parameters


@click.command(short_help="Compare instruction traces.")
@click.argument("a", type=click.Path(), metavar="A", shell_complete=parameters.complete_files)
@click.argument("b", type=click.Path(), metavar="B", shell_complete=parameters.complete_files)
@click.option("--elf", metavar="FILE.elf", type=click.Path(), help="The program, for names of functions.")
@click.option(
    "--lookahead",
    metavar="N",
    type=click.IntRange(min=8, max=10_000_000),
    help="Search this number of instructions for the point where the runs meet again. Default: 20000.",
)
@click.option(
    "--list",
    "listed",
    metavar="N",
    type=parameters.Whole(min=1),
    help="With --json: number of differences to list. Default: 10.",
)
@parameters.json_option
def command(a: str, b: str, elf: str | None, lookahead: int | None, listed: int | None, as_json: bool) -> int:
    """Compare instruction traces: the first difference in values, the first difference in time, and its cause.

    A and B are trace files of spinet run --trace-instructions, spinet exec --trace or PsPIN's RTL. If they are folders,
    files of the same name are compared. Exit code 0 if they are the same, 1 if not.

    \b
    Examples:
      spinet diff-trace rtl/trace_core_00_0.log result/instructions/trace_core_00_0.log
      spinet diff-trace before after --elf ping_pong.elf
      spinet diff-trace before after --json
    """
    from spinet import _core

    is_equal, text, as_text = _core.diff_trace(a, b, program=elf, lookahead=lookahead, listed=listed)
    click.echo(as_text if as_json else text, nl=as_json)
    return 0 if is_equal else 1
