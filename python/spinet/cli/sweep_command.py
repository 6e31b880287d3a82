# SPDX-License-Identifier: Apache-2.0
"""`spinet sweep`: runs every combination of some values, and collects the summaries in one table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet._options import OPTIONS
from spinet.cli import errors, parameters, run_command
from spinet.sweeps.plan import NOT_HERE

if TYPE_CHECKING:
    from rich.table import Table

    from spinet.sweeps import Plan, Sweep

_OF_RUNS = [name for name in NOT_HERE if name not in ("output", "force")]
_SHOWN = 40  # rows


@click.command(cls=parameters.CommandOfKinds, short_help="Run every combination of some values, as one table.")
@click.argument("program", nargs=-1, type=click.Path(), metavar="[SWEEP.toml | HANDLER.c... | EXPERIMENT.toml]")
@click.option(
    "--vary",
    metavar="KEY=VALUES",
    multiple=True,
    help="Values of a key: 64,128 or 1..8 or 64..1024*2; may be repeated. Separated by semicolons if there is one.",
)
@click.option("--column", "columns", metavar="NAME", multiple=True, help="Print this column; may be repeated.")
@click.option("--list", "only_list", is_flag=True, help="Print the settings of all runs, and run nothing.")
@click.option("--fresh", is_flag=True, help="Do all runs again.")
@parameters.jobs_option
@parameters.scheduler_option
@run_command.all_options(without=_OF_RUNS)
@parameters.json_option
def command(
    vary: tuple[str, ...],
    columns: tuple[str, ...],
    only_list: bool,
    fresh: bool,
    jobs: int | None,
    scheduler: str | None,
    as_json: bool,
    output: Path | None,
    force: bool,
    **options: Any,
) -> int:
    """Run every combination of some values on all cores, and collect the summaries in one table.

    A key of --vary is an option of `spinet run` by its keyword in Python (nic, program, traffic, seed, pacing, ...),
    set.PARAMETER of the card, defines.MACRO, or a name in braces in the text of another option.

    Runs are kept by the content of their inputs: card, program, captures, and all values. A sweep that was interrupted
    continues where it ended, and only what changed is run again.

    \b
    Examples:
      spinet sweep ping_pong.c --traffic 'udp:size={size},count=10000' --vary 'size=64..1024*2'
      spinet sweep ping_pong.c --traffic udp:count=10000 --vary set.cluster.n_cores=1..8 --vary seed=1..5 -o cores
      spinet sweep --vary 'program=a.c;b.c' --traffic dns.pcap --column latency_ns.p99
      spinet sweep sweep.toml -o result              (docs/guides/sweep.md describes the file)
      spinet sweep sweep.toml --scheduler tcp://host:8786

    \b
    In the output folder:
      runs.parquet      a row for each run: its settings, and all values of its summary
      sweep.json        what was varied
    `spinet plot` draws columns of it, and `spinet diff` compares two sweeps.

    \b
    Exit codes: 0 all runs ended; 2 bad input, or a run failed or did not finish (columns error, ended.reason); 130
    interrupted: runs that ended are kept, and the same command continues.
    """
    from spinet import sweeps
    from spinet.output import OutputFolder
    from spinet.sweeps import runs

    plan, from_command = _plan(vary, options)
    if only_list:
        for settings in plan.runs():
            click.echo(json.dumps(settings) if as_json else ", ".join(f"{key}={v}" for key, v in settings.items()))
        return 0
    folder = None if output is None else OutputFolder(output, force=force, holds=sweeps.SWEEP)
    n_done = n_known = 0
    with parameters.count_bar(plan.n_runs, "runs") as on_count:

        def on_run(row: Mapping[str, Any], _n: int, is_known: bool) -> None:
            nonlocal n_done, n_known
            n_done, n_known = n_done + 1, n_known + is_known
            if on_count is not None:
                on_count(", ".join(str(row[key]) for key in plan.varied))

        try:
            made = sweeps.run(
                plan,
                keywords=_of_command if from_command else runs.of_python,
                options=from_command,
                processes=jobs,
                scheduler=scheduler,
                fresh=fresh,
                folder=folder,
                on_run=on_run,
            )
        except KeyboardInterrupt:
            click.echo(f"stopped; {n_done} of {plan.n_runs} runs are kept: the same command continues", err=True)
            return errors.INTERRUPTED
    names = made.columns([*plan.columns, *columns] if plan.columns or columns else ())
    if as_json:
        click.echo(json.dumps({"varied": made.varied, "known": n_known, "runs": made.table.to_pylist()}, indent=2))
    else:
        _print(made, names)
        known = f", {n_known:,} of them known" if n_known else ""
        click.echo(f"{plan.n_runs:,} runs{known}" + (f"; results are in {output}" if output is not None else ""))
    return _exit_code(made)


def _exit_code(made: Sweep) -> int:
    if made.failed:
        first = made.failed[0]
        errors.complain(f"{len(made.failed)} runs failed; run {first['run']}: {first['error']}")
        return errors.BAD_INPUT
    if made.unfinished:
        errors.complain(f"{made.unfinished} runs ended before their packets were done; column ended.reason says why")
        return errors.BAD_INPUT
    return 0


def _plan(vary: tuple[str, ...], options: dict[str, Any]) -> tuple[Plan, bool]:
    """The plan, and whether its keywords are options of the command."""
    from spinet._core import UsageError
    from spinet.sweeps import plan as plans

    stated = {name: value for name, value in options.items() if value not in (None, (), False)}
    program = list(options["program"])
    if len(program) == 1 and program[0].endswith(".toml") and not vary:
        plan = plans.read(program[0])
        if others := [name for name in stated if name != "program"]:
            flag = OPTIONS[others[0]].name
            raise UsageError(f"{flag} belongs into {program[0]}", hint=f"write it there: [run] {others[0]} = ...")
        return plan, False
    if not vary:
        raise UsageError("the sweep varies nothing", hint="name keys with values: --vary 'size=64..1024*2'")
    if "defines" in stated:
        stated["defines"] = parameters.macros(stated["defines"])
    varied: dict[str, Any] = {}
    for text in vary:
        key, equals, values = text.partition("=")
        if not equals or not key:
            raise UsageError(f"--vary {text}: must be KEY=VALUES, such as size=64,128")
        if key in varied:
            raise UsageError(f"--vary {text}: {key} is varied twice")
        try:
            varied[key] = _values(values)
        except UsageError as error:
            raise UsageError(f"--vary {text}: {error}") from None
    return plans.Plan(run=stated, vary=varied, base_dir=Path.cwd()), True


def _values(text: str) -> list[Any]:
    """Values of an option.

    >>> _values("64,128"), _values("1..3"), _values("udp:size=64,count=1;dns.pcap"), _values("true")
    ([64, 128], [1, 2, 3], ['udp:size=64,count=1', 'dns.pcap'], [True])
    """
    from spinet.sweeps import plan as plans

    parts = text.split(";" if ";" in text else ",")
    return [value for part in parts for value in plans.values_of(_value(part))]


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return {"true": True, "false": False}.get(text, text)


def _of_command(stated: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Keywords for options of the command."""
    options: dict[str, Any] = {name: () if known.multiple else None for name, known in OPTIONS.items()}
    for name, value in stated.items():
        several = (OPTIONS[name].multiple or name == "program") and not isinstance(value, Mapping)
        options[name] = (value,) if several and isinstance(value, str) else value
    options["program"] = options["program"] or ()
    return run_command.keywords(options)


def _print(made: Sweep, names: list[str]) -> None:
    from spinet.cli import run_report

    shown = made.table.select(names).slice(0, _SHOWN).to_pylist()
    cells = [tuple(_cell(row[name]) for name in names) for row in shown]
    # All columns, even if the terminal has to break lines.
    needed = sum(2 + max(map(len, column)) for column in zip(names, *cells, strict=True))
    blocks: list[str | Table] = [run_report.table(*names, rows=cells)]
    if len(made.table) > _SHOWN:
        blocks.append(f"and {len(made.table) - _SHOWN:,} more; -o writes all of them, --json prints them")
    run_report.show(blocks, width=max(needed, run_report.columns()))


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,.6g}" if isinstance(value, float) else str(value)
