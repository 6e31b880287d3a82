# SPDX-License-Identifier: Apache-2.0
"""`spinet native`: the same handlers and packets on this machine's processor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from spinet.native import NativeResult


@click.command(cls=parameters.NamingCommand, short_help="Run handlers on this machine.")
@click.argument("program", nargs=-1, required=True, type=click.Path(), metavar="HANDLER.c... | EXPERIMENT.toml")
@parameters.option(
    "traffic", multiple=False, help="Packets: a capture, or a generator such as 'udp:size=64,count=1000'."
)
@parameters.option("match")
@parameters.option("message")
@parameters.option("handler")
@parameters.option("handler_memory")
@parameters.option("count", help="Take only the first N packets.")
@parameters.option("seed")
@click.option(
    "--threads",
    metavar="N",
    type=int,
    multiple=True,
    default=(1, 4),
    help="Worker threads, 1 to 32; may be repeated. Default: 1, then 4.",
)
@parameters.option("cc", default="cc", show_default=True, help="A C compiler for this machine.")
@click.option(
    "--flag",
    "flags",
    metavar="FLAG",
    multiple=True,
    help="A flag of this compiler; may be repeated. Default: -O3, -march=native.",
)
@parameters.option("defines")
@parameters.json_option
def command(
    program: tuple[str, ...],
    traffic: str | None,
    match: str | None,
    message: str | None,
    handler: str | None,
    handler_memory: str | None,
    count: int | None,
    seed: int | None,
    threads: tuple[int, ...],
    cc: str,
    flags: tuple[str, ...],
    defines: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run handlers on this machine's processor: worker threads process packets in memory.

    The sources are those of `spinet run`, compiled by the system's C compiler. The results are the
    same. The times are this machine's, in nanoseconds, with hardware counters if the system has them.

    \b
    Examples:
      spinet native reduce.c --traffic 'udp:size=2092,count=512,payload=ints' --message 'all last'
      spinet native kvstore.c --traffic 'udp:size=1024,count=1000,payload=ycsb:a:1.1' --threads 2 --json
    """
    from spinet import native

    is_file = len(program) == 1 and program[0].endswith((".toml", ".json"))
    results = [
        native.run(
            program=None if is_file else program,
            experiment=program[0] if is_file else None,
            traffic=traffic,
            match=match,
            message=message,
            handler=handler,
            handler_memory=handler_memory,
            count=count,
            seed=seed,
            threads=n,
            cc=cc,
            flags=flags or ("-O3", "-march=native"),
            defines=parameters.macros(defines),
        )
        for n in threads
    ]
    if as_json:
        known = {
            "compiler": results[0].compiler,
            "clock_ns": results[0].clock_ns,
            "packets": len(results[0].ns["payload"]),
            "sent": results[0].n_sent,
            "command_faults": results[0].command_faults,
            "runs": [_measured(result) for result in results],
        }
        click.echo(json.dumps(known, indent=2))
        return
    _print(results)


def _measured(result: NativeResult) -> dict[str, Any]:
    """Results for one number of threads: times of handlers, and counts of the threads."""
    handlers = {}
    for stage, ns in result.ns.items():
        ran = ns[ns >= 0]
        if ran.size:
            handlers[stage] = {
                "runs": int(ran.size),
                "median_ns": float(_percentile(ran, 50)),
                "p99_ns": float(_percentile(ran, 99)),
                "min_ns": int(ran.min()),
                "max_ns": int(ran.max()),
            }
    threads = [{"ns": worker.ns, **worker.events, "why_not": worker.why_not or None} for worker in result.threads]
    return {"handlers": handlers, "threads": threads}


def _percentile(values: Any, percent: int) -> float:
    import numpy as np

    return float(np.percentile(values, percent))


def _print(results: Sequence[NativeResult]) -> None:
    first = results[0]
    click.echo(f"{first.compiler}; a look at the clock takes {first.clock_ns} ns and is part of each handler's time")
    click.echo(f"{len(first.ns['payload'])} packets in, {first.n_sent} out")
    for result in results:
        n = len(result.threads)
        click.echo(f"\n{n} thread{'s' if n > 1 else ''}")
        measured = _measured(result)
        for stage, cost in measured["handlers"].items():
            click.echo(
                f"  {stage:<10}  {cost['runs']:>7,} runs  median {cost['median_ns']:>9,.0f} ns  "
                f"99 % {cost['p99_ns']:>9,.0f} ns  min {cost['min_ns']:>7,} ns  max {cost['max_ns']:>9,} ns"
            )
        for number, worker in enumerate(result.threads):
            counted = ", ".join(f"{name} {count:,}" for name, count in worker.events.items() if count is not None)
            click.echo(f"  thread {number:<3}  {worker.ns:>11,} ns  {counted or f'no counters: {worker.why_not}'}")
    if first.console:
        click.echo(parameters.visible(first.console), err=True, nl=False)
