# SPDX-License-Identifier: Apache-2.0
"""`spinet run` for cards that run handlers."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import errors, kinds, parameters
from spinet.cli.asked import Asked

if TYPE_CHECKING:
    from spinet.experiment import Experiment


def command(asked: Asked) -> int:
    """Run the handlers; the exit code."""
    from spinet import api, experiment
    from spinet.output import OutputFolder

    if not asked.program:
        raise click.UsageError("there is no program: name a C file with handlers, or an experiment file")
    if asked.trace_instructions and asked.output is None:
        raise click.UsageError("--trace-instructions goes with -o")
    if (asked.trace_cores or asked.trace_time) and not asked.trace_instructions:
        raise click.UsageError("--trace-cores and --trace-time go with --trace-instructions")
    prepared = _prepared(asked)
    trace = api.InstructionTrace(cores=asked.trace_cores, time=asked.trace_time) if asked.trace_instructions else None
    with contextlib.ExitStack() as stack:
        # Check the output folder first, so that its error appears before the run.
        folder = None
        if asked.output is not None:
            folder = stack.enter_context(OutputFolder(asked.output, force=asked.force))
        build = experiment.compiled(prepared, cc=asked.cc, defines=asked.macros())
        tenants = experiment.compiled_tenants(prepared, first=build, cc=asked.cc, defines=asked.macros())
        if build is not None and build.messages:
            click.echo(build.messages.rstrip("\n"), err=True)
        with parameters.progress_bar() as on_progress:
            summary = api.stream(
                prepared,
                build=build,
                tenants=tenants,
                folder=folder.path if folder else None,
                trace=trace,
                on_progress=on_progress,
                on_console=_print_console,
            )
        if folder is not None:
            folder.commit()
    title = asked.program[0] if kinds.is_experiment(asked.program) else prepared.program_name()
    _print_summary(summary, title=title, output=asked.output, as_json=asked.as_json)
    return asked.exit_code(_exit_code(summary), summary)


def _prepared(asked: Asked) -> Experiment:
    from spinet import api

    is_file = kinds.is_experiment(asked.program)
    return api.prepare(
        program=None if is_file else asked.program,
        traffic=next(iter(asked.traffics), None),
        experiment=asked.program[0] if is_file else None,
        match=asked.match,
        message=asked.message,
        handler=asked.handler,
        handler_memory=asked.handler_memory,
        overrides=api.overrides(
            nic=asked.nic,
            set=asked.sets,
            seed=asked.seed,
            faults=",".join(asked.faults) or None,
            pacing=asked.pace,
            count=asked.count,
            limit=asked.limit,
        ),
    )


def _print_console(time_ps: int, cluster: int, core: int, text: str) -> None:
    for line in parameters.visible(text).removesuffix("\n").split("\n"):
        click.echo(f"[{time_ps / 1000:.0f} ns, cluster {cluster} core {core}] {line}", err=True)


def _print_summary(summary: dict[str, Any], *, title: str, output: Path | None, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(summary, indent=2))
        errors.warn(summary["remarks"])
        return
    from spinet.cli import run_report

    run_report.print_summary(summary, title=title)
    if output is not None:
        click.echo(f"\nResults are in {output}")


def _exit_code(summary: dict[str, Any]) -> int:
    ended = summary["ended"]
    if ended["reason"] == "interrupted":
        return errors.interrupted(f"{ended['text']}{_busy_cores(ended['cores'])}")
    # A limit at which nothing was under way is what was asked for.
    if ended["reason"] == "complete" or (ended["reason"] == "limit" and ended["unfinished_packets"] == 0):
        return 0
    # The text names one core; with several cores, all are listed.
    where = _busy_cores(ended["cores"]) if len(ended["cores"]) > 1 else ""
    errors.complain(f"the run did not finish: {ended['text']}{where}", hint=_hint(ended["reason"]))
    return errors.UNFINISHED


def _busy_cores(cores: list[dict[str, Any]]) -> str:
    """A line for each of the first cores that have something to do."""
    where = [
        f"\n  cluster {core['cluster']} core {core['core']}: {core['place'] or core['pc']}, {core['waiting_for']}"
        for core in cores[:8]
    ]
    return "".join(where) + (f"\n  and {len(cores) - 8} more cores" if len(cores) > 8 else "")


def _hint(reason: str) -> str:
    return {
        "limit": "give it more simulated time with --limit, or look for a loop where the cores are",
        "stalled": "nothing moved any more: a handler loops, or waits for something that does not come",
        "not_ready": "the program did not tell the card that it is ready: is it built with spinet's runtime?",
    }.get(reason, "")
