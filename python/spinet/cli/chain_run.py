# SPDX-License-Identifier: Apache-2.0
"""`spinet run` for cards that run chains of offloads."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping
from typing import Any

import click

from spinet.cli import errors, kinds, parameters
from spinet.cli.asked import Asked


def command(asked: Asked) -> int:
    """Run the chains; the exit code."""
    from spinet import chains
    from spinet._core import UsageError

    card = asked.nic or "panic"
    experiment = None
    if asked.program:
        if not kinds.is_experiment(asked.program):
            source = asked.program[0]
            raise UsageError(
                f"{source}: {card} runs chains of offloads, not handlers",
                hint=f"a core of it can: --service 'core: riscv, program={source}' --chain 'all: core'",
            )
        experiment = asked.program[0]
        for option, value in (
            ("--chain", asked.chains),
            ("--service", asked.services),
            ("--tenant", asked.tenants),
        ):
            if value:
                raise UsageError(f"{option} belongs into {experiment}", hint=f"say it there: [[{option[2:]}]]")
    if not (asked.traffics or asked.sends) and (asked.pace is not None or asked.count is not None):
        raise UsageError("--pace and --count go with --traffic and --send; an experiment file says them with its own")
    given = {"pacing": asked.pace, "count": asked.count}
    told = {key: value for key, value in given.items() if value is not None}
    prepared = chains.prepare(
        experiment,
        {
            "nic": asked.nic,
            "set": list(asked.sets),
            "chain": list(asked.chains),
            "service": list(asked.services),
            "tenant": list(asked.tenants),
            "policy": asked.policy,
            "traffic": [{"source": source, **told} for source in asked.traffics],
            "send": [_queued(source, told) for source in asked.sends],
            "faults": ",".join(asked.faults) or None,
            "seed": asked.seed,
            "limit": asked.limit,
        },
    )
    with parameters.progress_bar() as on_progress:
        summary = _run(prepared, asked, on_progress)
    if asked.as_json:
        click.echo(json.dumps(summary, indent=2))
        errors.warn(summary["remarks"])
    else:
        from spinet.cli import chain_report

        title = experiment or ", ".join(row["name"] for row in summary["chains"] if row["tenant"] is not None)
        chain_report.print_summary(summary, title=title)
        if asked.output is not None:
            click.echo(f"\nResults are in {asked.output}")
    return asked.exit_code(_exit_code(summary), summary)


def _queued(send: str, told: Mapping[str, Any]) -> dict[str, Any]:
    """A source of the host with its options: `QUEUE=SOURCE` is for that transmit queue."""
    queue, equals, source = send.partition("=")
    is_numbered = bool(equals) and queue.strip().isdecimal()
    return {"queue": int(queue), "source": source, **told} if is_numbered else {"source": send, **told}


def _run(prepared: Any, asked: Asked, on_progress: Any) -> dict[str, Any]:
    from spinet import _core, chains, output, packet_table
    from spinet.output import OutputFolder

    with contextlib.ExitStack() as stack:
        if asked.output is None:
            return _driven(prepared, asked, on_progress, captures=None)
        # Check the output folder first, so that its error appears before the run.
        folder = stack.enter_context(OutputFolder(asked.output, force=asked.force))
        columns, hop_columns = _core.chain_columns()
        packets = packet_table.ParquetFile(folder.path / output.PACKETS, columns)
        hops = packet_table.ParquetFile(folder.path / output.HOPS, hop_columns)
        with contextlib.closing(packets), contextlib.closing(hops):
            summary = _driven(prepared, asked, on_progress, captures=folder.path, tables=(packets, hops))
        chains.write_rest(folder.path, summary)
        folder.commit()
    return summary


def _driven(prepared: Any, asked: Asked, on_progress: Any, **where: Any) -> dict[str, Any]:
    """The summary at the end, or at Ctrl-C."""
    from spinet import api, chains

    try:
        return chains.drive(prepared, cc=asked.cc, defines=asked.macros(), on_progress=on_progress, **where)
    except api.Interrupted as stopped:
        return stopped.summary


def _exit_code(summary: Mapping[str, Any]) -> int:
    ended = summary["ended"]
    if ended["reason"] == "interrupted":
        return errors.interrupted(ended["text"])
    # A limit at which nothing was inside is what was asked for.
    if ended["reason"] == "complete" or (ended["reason"] == "limit" and ended["unfinished_packets"] == 0):
        return 0
    hint = {
        "limit": "give it more simulated time with --limit",
        "stalled": "nothing moved any more: a service waits for something that does not come",
    }.get(ended["reason"], "")
    errors.complain(f"the run did not finish: {ended['text']}", hint=hint)
    return errors.UNFINISHED
