# SPDX-License-Identifier: Apache-2.0
"""`spinet run` for cards that are wired from modules."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import errors, kinds, parameters, run_report
from spinet.cli.asked import Asked

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

_CORES_ABREAST = 4
_MOST_FUNCTIONS = 12
_FATES = {
    "through": "came out of the card",
    "too_long": "too long for the card, not given to it",
    "filtered": "for another address, dropped",
    "receiver_off": "came before the receiver was enabled",
    "overrun": "no room between line and memory, dropped",
    "no_buffer": "no buffer free, dropped",
    "no_descriptor": "no descriptor free, dropped",
    "damaged": "reached the host with an error flag",
    "not_out": "in the card, or dropped by its firmware",
    "not_given": "not due before the end",
}


def command(asked: Asked) -> int:
    """Run the card; the exit code."""
    from spinet import _nics, card_run
    from spinet._core import UsageError
    from spinet.output import OutputFolder

    file, base_dir, experiment = "keywords", ".", _of_file(asked)
    if experiment is not None:
        file, base_dir = asked.program[0], str(Path(asked.program[0]).absolute().parent)
    elif asked.program and asked.firmware:
        raise UsageError(f"firmware is named twice: {asked.program[0]} and {asked.firmware[0]}")
    else:
        assert asked.nic is not None, "without a card or an experiment, the command is about handlers"
        experiment = card_run.said(
            asked.nic,
            asked.sets,
            traffic=next(iter(asked.traffics), None),
            send=next(iter(asked.sends), None),
            pacing=asked.pace,
            count=asked.count,
            faults=",".join(asked.faults) or None,
            limit=asked.limit,
            seed=1 if asked.seed is None else asked.seed,
            profile=True,
        )
    nic, sets = experiment["nic"]["preset"], _nics.settings(experiment["nic"]["set"])
    with contextlib.ExitStack() as stack:
        folder = None
        if asked.output is not None:
            folder = stack.enter_context(OutputFolder(asked.output, force=asked.force))
        names, load, entry = _firmware(asked, experiment, base_dir)
        chosen = card_run.choose_firmware(
            nic, names, defines=asked.macros(), cc=asked.cc, load=load, entry=entry, set=sets, base_dir=base_dir
        )
        if chosen.messages:
            click.echo(chosen.messages.rstrip("\n"), err=True)
        on_progress = stack.enter_context(parameters.progress_bar())
        summary = card_run.drive(
            experiment,
            chosen,
            file=file,
            base_dir=base_dir,
            folder=folder.path if folder else None,
            on_progress=on_progress,
        )
        if folder is not None:
            folder.commit()
    if asked.as_json:
        click.echo(json.dumps(summary, indent=2))
    else:
        _print(summary, asked.output)
    return asked.exit_code(_exit_code(summary), summary)


def _of_file(asked: Asked) -> dict[str, Any] | None:
    """The experiment of the file that the command line names, if it names one, with its options over it."""
    from spinet import _nics, card_run
    from spinet._core import UsageError

    if not kinds.is_experiment(asked.program):
        return None
    if asked.traffics or asked.sends or asked.pace is not None or asked.count is not None:
        raise UsageError("an experiment file says its traffic itself", hint="change `traffic` and `send` in the file")
    experiment = card_run.read(Path(asked.program[0]))
    nic = experiment.get("nic", "tigon2")
    nic = {"preset": nic} if isinstance(nic, str) else dict(nic)
    nic["preset"] = asked.nic or nic.get("preset", "tigon2")
    nic["set"] = [*_nics.settings(nic.get("set", [])), *asked.sets]
    over = {"nic": nic, "faults": ",".join(asked.faults) or None, "limit": asked.limit, "seed": asked.seed}
    return {**experiment, **{key: value for key, value in over.items() if value is not None}}


def _firmware(
    asked: Asked, experiment: Mapping[str, Any], base_dir: str
) -> tuple[list[str] | None, int | None, int | None]:
    """Firmware, load address and entry: those of the options, else those of the experiment."""
    from spinet import _core

    if kinds.is_experiment(asked.program) and not asked.firmware:
        stated = experiment.get("firmware")
        stated = {} if stated is None else {"program": stated} if isinstance(stated, str) else stated
        program = stated.get("program", [])
        names = [program] if isinstance(program, str) else list(program)
        found = [str(Path(base_dir) / name) if (Path(base_dir) / name).is_file() else name for name in names]
        load, entry = (
            None if stated.get(key) is None else _core.address(stated[key], what=key) for key in ("load", "entry")
        )
        return found or None, load if asked.load is None else asked.load, entry if asked.entry is None else asked.entry
    program = () if kinds.is_experiment(asked.program) else asked.program
    return list(asked.firmware or program) or None, asked.load, asked.entry


def _exit_code(summary: Mapping[str, Any]) -> int:
    if summary["ended"]["reason"] == "interrupted":
        return errors.interrupted(summary["ended"]["text"])
    if not summary["ended"]["is_unfinished"]:
        return 0
    at = (f"{core['path']} is at {core['place']}" for core in summary["cores"] if not core["is_halted"])
    more = "".join(f"\n  {line}" for line in [*at, *summary["rings"], *summary["faults"]])
    hint = "give it more simulated time with --limit" if summary["ended"]["reason"] == "limit" else ""
    errors.complain(f"the run did not finish: {summary['ended']['text']}{more}", hint=hint)
    return errors.UNFINISHED


def _print(summary: Mapping[str, Any], output: Path | None) -> None:
    """The printed summary."""
    from rich.console import Console

    console = Console(width=run_report.columns(), highlight=False, markup=False)
    with console.capture() as printed:
        for block in _blocks(summary):
            console.print(block, soft_wrap=isinstance(block, str))
            console.print()
    for line in printed.get().rstrip().splitlines():
        click.echo(line.rstrip())
    if output is not None:
        click.echo(f"\nResults are in {output}")


def _blocks(summary: Mapping[str, Any]) -> Iterator[str | Table | Text]:
    from rich.text import Text

    time = summary["time"]
    started = ""
    if time["started_ns"] is not None:
        started = f", the first {run_report.duration(time['started_ns'])} of it start-up"
    simulated = run_report.duration(time["simulated_ns"])
    if time["skipped_ns"]:
        started += f", {run_report.duration(time['skipped_ns'])} of it idle and skipped"
    yield f"{summary['nic']}: {summary['ended']['text']}; {simulated} of simulated time{started}"
    yield from run_report.remarks(summary)
    ways = [_way(summary[way]) for way in ("sent", "received")]
    rows = [(name, *(way[name] for way in ways)) for name in ways[0]]
    yield run_report.table("Frames", "sent", "received", rows=rows)
    fates = [(words, *(summary[way]["fates"][key] for way in ("sent", "received"))) for key, words in _FATES.items()]
    if any(count for key, *counts in fates[1:] for count in counts):
        rows = [(words, *(f"{count:,}" for count in counts)) for words, *counts in fates if any(counts)]
        yield run_report.table("What happened to them", "sent", "received", rows=rows)
    if summary["unmeasured"] and any(summary[way]["frames"] for way in ("sent", "received")):
        yield f"No rates: {summary['unmeasured']}"
    if summary.get("short_window"):
        yield Text(f"Short: {summary['short_window']}")
    cores = summary["cores"]
    for at in range(0, len(cores), _CORES_ABREAST):
        yield _cores(cores[at : at + _CORES_ABREAST])
    if cores:
        yield "\n".join(
            f"{core['path']} {'is halted' if core['is_halted'] else 'is'} at {core['place']}" for core in cores
        )
    if summary["functions"]:
        yield _functions(summary["functions"])


def _way(way: Mapping[str, Any]) -> dict[str, str]:
    rate, latency = way["rate"], way["latency_ns"]
    is_measured = bool(rate["frames"])
    return {
        "given to the card": f"{way['offered']:,}",
        "came out": f"{way['frames']:,}",
        "as given and in order": f"{way['good']:,}",
        "lost": f"{way['lost']:,}",
        "late or twice": f"{way['late']:,}",
        "never given": f"{way['unknown']:,}",
        "frames/s": f"{rate['frames_per_s']:,.0f}" if is_measured else "-",
        "Gbit/s": f"{rate['gbps']:.3f}" if is_measured else "-",
        **{
            f"latency, {name}": run_report.duration(latency[name]) if latency else "-"
            for name in ("min", "mean", "median", "p99", "max")
        },
    }


def _cores(cores: Sequence[Mapping[str, Any]]) -> Table:
    """Cores side by side: what they did and where their cycles went."""

    def share(core: Mapping[str, Any], count: int) -> str:
        return f"{count / core['cycles']:.1%}" if core["cycles"] else "-"

    def per_cycle(core: Mapping[str, Any]) -> str:
        return f"{core['instructions'] / core['cycles']:.2f}" if core["cycles"] else "-"

    rows = [
        ("instructions", *(f"{core['instructions']:,}" for core in cores)),
        ("cycles", *(f"{core['cycles']:,}" for core in cores)),
        ("instructions a cycle", *map(per_cycle, cores)),
    ]
    for cause in cores[0]["cycles_by_cause"]:
        shares = (share(core, core["cycles_by_cause"][cause]) for core in cores)
        rows.append((cause.replace("_", " "), *shares))
    return run_report.table("Core", *(core["path"] for core in cores), rows=rows)


def _functions(functions: Sequence[Mapping[str, Any]]) -> Table:
    cycles = sum(function["cycles"] for function in functions)
    rows = [
        (
            function["name"],
            f"{function['cycles']:,}",
            f"{function['instructions']:,}",
            f"{function['cycles'] / cycles:.1%}",
            f"{function['lock_cycles'] / cycles:.1%}",
        )
        for function in functions[:_MOST_FUNCTIONS]
    ]
    return run_report.table("Function", "cycles", "instructions", "time", "on locks", rows=rows)
