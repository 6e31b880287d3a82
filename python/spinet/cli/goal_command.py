# SPDX-License-Identifier: Apache-2.0
"""`spinet goal`: runs, makes, converts and checks schedules of message-passing programs."""

from __future__ import annotations

import contextlib
import difflib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet._core import InputError
from spinet.cli import errors, parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table


_LISTED = 32  # hosts


class _RunsByDefault(click.Group):
    """A group whose first word may be a schedule, which then runs."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `run` in front of anything but a command, a request for help, or a command with a slip of the pen."""
        if args and args[0] not in (*self.commands, "-h", "--help"):
            word = Path(args[0])
            is_file = word.exists() or word.suffix
            if not is_file and difflib.get_close_matches(args[0], self.commands):
                raise errors.NoSuchCommand(args[0], list(self.commands), of=ctx.command_path)
            args = ["run", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_RunsByDefault, short_help="Run schedules of message-passing programs.")
def command() -> None:
    """Run, make, convert or check GOAL schedules: the sends, receives and computations of message-passing programs.

    `spinet goal SCHEDULE` is short for `spinet goal run SCHEDULE`. A schedule is text or binary, as LogGOPSim reads it.

    \b
    Examples:
      spinet goal make allreduce-ring --ranks 16 --bytes 65536 -o ring.goal
      spinet goal ring.goal
      spinet goal ring.goal --loggops L=3700,o=200,g=5,G=0.04,S=0 --model atlahs -o result
      spinet goal convert ring.goal ring.bin
      spinet goal check ring.bin
    """


_SCHEDULE = click.argument("schedule", type=click.Path(path_type=Path), shell_complete=parameters.complete_files)


@command.command("run", cls=parameters.NamingCommand, short_help="Run a schedule.")
@_SCHEDULE
@click.option(
    "--nic",
    metavar="NIC",
    default="plain",
    show_default=True,
    help="The network card of each host: plain, or a card that runs handlers, such as pspin.",
)
@click.option(
    "--topology",
    metavar="SPEC",
    help="Send messages as packets through this network, such as fat-tree:levels=2,radix=8. Default: no network for "
    "plain cards, a star for others.",
)
@click.option("--rate", metavar="RATE", help="Rate of all links of the network. Default: 100G.")
@click.option("--delay", metavar="TIME", help="Delay of all links of the network. Default: 500 ns.")
@click.option("--switch", metavar="NAME", help="Preset of all switches of the network.")
@click.option(
    "--messages", metavar="NAME=VALUE,...", help="Transport of messages, such as mtu=1024,transport=selective."
)
@click.option(
    "--program",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Handlers for the packets, C or ELF; they must copy packets to host memory. Default: copy_to_host.c.",
)
@click.option("--handler", metavar="NAME", help="The handler, if the program has several.")
@click.option("--match", metavar="EXPR", help="Packets for the handlers. Default: all packets of messages.")
@parameters.option("threads")
@click.option(
    "--loggops",
    metavar="NAME=VALUE,...",
    default="L=2500,o=1500,g=1000,G=6,O=0,S=65535",
    show_default=True,
    help="Parameters of the hosts: times in ns, S in bytes.",
)
@click.option(
    "--model",
    type=click.Choice(["2010", "atlahs"]),
    default="2010",
    show_default=True,
    help="How messages are charged: as LogGOPSim does, or as ATLAHS does.",
)
@click.option("--path", "n_steps", metavar="N", type=click.IntRange(min=1), help="Print N steps of the critical path.")
@parameters.option("output")
@parameters.option("force", help="Replace the folder of an earlier run.")
@parameters.json_option
def run_command(
    schedule: Path,
    nic: str,
    topology: str | None,
    rate: str | None,
    delay: str | None,
    switch: str | None,
    messages: str | None,
    program: tuple[Path, ...],
    handler: str | None,
    match: str | None,
    threads: int | None,
    loggops: str,
    model: str,
    n_steps: int | None,
    output: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Run a schedule on hosts that follow the LogGOPS model, and print when each host ends.

    With --topology or --nic, messages travel as packets through a simulated network. Its NICs, links and switches
    replace L and G.

    \b
    Topologies:
      pair
      star:nodes=16
      fat-tree:levels=2,radix=8,oversubscription=1/2,nodes=32
      dragonfly:nodes_per_switch=2,switches_per_group=4,global_links=2,groups=9
      torus:dimensions=4x4x4

    \b
    Parameters of --loggops:
      L  latency                       o  overhead of a processor for a message
      g  gap between messages          G  gap per byte
      O  overhead per byte             S  largest message that does not wait for its receive

    \b
    Keys of --json:
      finish_ns      when the last host ended
      hosts_ns       when each host ended, a list
      critical_path  number of steps, and the time of the steps of each kind, whose sum is finish_ns
      schedule       number of ranks, operations, sends, recvs, calcs, dependencies; bytes of all sends
      messages, nic, model, loggops, digest
      packets        in a network: packets that entered, arrived, were dropped and marked
      steps          with --path: the steps of the critical path

    \b
    In the output folder:
      summary.json          what --json prints
      operations.parquet    a row for each operation: when it was posted, started and done, and its partner
      messages.parquet      in a network: a row for each message, with its time in NICs, on links and in switches
      frames.parquet        in a network: a row for each event of each packet

    Exit code 2 if the schedule is wrong, or cannot end because receives or messages are left.
    """
    from spinet import _mpi, goal, packet_table
    from spinet import output as outputs
    from spinet._core import goal_columns
    from spinet.output import OutputFolder

    _mpi.must_be_alone("spinet goal run", hint="a network's file has the key schedule, and spinet run takes several")
    with contextlib.ExitStack() as stack:
        folder = None if output is None else stack.enter_context(OutputFolder(output, force=force))
        link = {key: value for key, value in (("rate", rate), ("delay", delay)) if value is not None}
        if link and nic == goal.PLAIN and topology is None:
            raise InputError(
                f"--{next(iter(link))} is for networks: give a topology, or a card other than {goal.PLAIN}"
            )
        result = goal.run(
            schedule,
            loggops=loggops,
            model=model,
            nic=nic,
            topology=topology,
            link=link or None,
            switch=switch,
            messages=None if messages is None else _pairs(messages),
            program=list(program) or None,
            handler=handler,
            match=match,
            threads=threads,
        )
        found: dict[str, Any] = result.summary
        if n_steps is not None:
            found = {**found, "steps": result.critical_path(n_steps)}
        if folder is not None and result.network is not None:
            result.network.write(folder.path)
            folder.commit()
        elif folder is not None:
            rows = packet_table.ParquetFile(folder.path / "operations.parquet", goal_columns())
            try:
                result.take_operations(rows.append)
            finally:
                rows.close()
            (folder.path / outputs.SUMMARY).write_text(json.dumps(found, indent=2) + "\n")
            folder.commit()
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    _print(found, schedule)
    if output is not None:
        click.echo(f"Results are in {output}")


def _pairs(text: str) -> dict[str, Any]:
    pairs: dict[str, Any] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        key, sign, value = (word.strip() for word in part.partition("="))
        if not (key and sign and value):
            raise InputError(f"--messages: found `{part}`, must be `key=value`")
        pairs[key] = int(value) if value.isdecimal() else value
    return pairs


def _print(found: Mapping[str, Any], schedule: Path) -> None:
    from spinet.cli import run_report

    size, hosts = found["schedule"], found["hosts_ns"]
    counts = [(size["ranks"], "rank"), (found["messages"], "message"), (size["calcs"], "computation")]
    parts = ", ".join(f"{number:,} {name}{'' if number == 1 else 's'}" for number, name in counts)
    blocks: list[str | Table] = [f"{schedule.name}: {found['finish_ns']:,} ns; {parts}"]
    ranks = sorted(range(len(hosts)), key=lambda rank: (-hosts[rank], rank))[:_LISTED]
    heading = "Host" if len(hosts) <= _LISTED else f"The last {_LISTED} hosts"
    order = sorted(ranks) if len(hosts) <= _LISTED else ranks
    rows = [(str(rank), f"{hosts[rank]:,}") for rank in order]
    blocks.append(run_report.table(heading, "end, ns", rows=rows))
    path = found["critical_path"]
    whole = max(1, found["finish_ns"])
    spent = [(kind, time) for kind, time in path["by_kind_ns"].items() if time]
    kinds = [(kind, f"{time:,}", f"{100 * time / whole:.1f} %") for kind, time in spent]
    blocks.append(run_report.table("Critical path", "ns", "share", rows=kinds))
    if "steps" in found:
        steps = [
            (step["kind"], str(step["rank"]), f"{step['start_ns']:,}", f"{step['end_ns']:,}", _operation(step))
            for step in found["steps"]
        ]
        blocks.append(run_report.table("Step", "rank", "start, ns", "end, ns", "operation", rows=steps))
    costs = [part for part in found["loggops"].split(",") if "packets" not in found or part[:2] not in ("L=", "G=")]
    blocks.append(f"Model {found['model']}, {','.join(costs)}; digest {found['digest'][:16]}")
    run_report.show(blocks)


def _operation(step: Mapping[str, Any]) -> str:
    place = f"line {step['line']}" if step["line"] else f"operation {step['operation']}"
    return f"rank {step['of_rank']}, {place}"


@command.command("make", short_help="Make the schedule of a pattern.")
@click.argument("pattern")
@click.option("--ranks", metavar="N", type=parameters.Whole(min=1), required=True, help="Number of ranks.")
@click.option(
    "--bytes", "n_bytes", metavar="N", type=parameters.Whole(min=0), default=1, show_default=True,
    help="Size of a message; of an allreduce, of the vector.",
)  # fmt: skip
@click.option(
    "--segment", metavar="N", type=parameters.Whole(min=1), default=1, show_default=True,
    help="Size of a segment in pipelined patterns.",
)  # fmt: skip
@click.option(
    "--ways", metavar="N", type=parameters.Whole(min=1), default=1, show_default=True,
    help="Messages a round in nway-dissemination.",
)  # fmt: skip
@click.option(
    "--seed", metavar="N", type=parameters.Whole(min=0), default=1, show_default=True, help="Seed of random patterns."
)
@click.option(
    "-o", "--output", metavar="FILE", type=click.Path(path_type=Path),
    help="Write a file, binary if it ends with .bin. Default: text on stdout.",
)  # fmt: skip
def make_command(
    pattern: str, ranks: int, n_bytes: int, segment: int, ways: int, seed: int, output: Path | None
) -> None:
    """Make the schedule of a collective operation or another pattern. Rank 0 is the root.

    \b
    Patterns:
      binomial-bcast, binary-bcast    broadcast along a tree
      binomial-reduce                 reduction along a tree
      dissemination                   in round r each rank sends 2^r ranks further
      nway-dissemination              the same with --ways messages a round
      allreduce-ring                  reduce-scatter and allgather in a ring
      allreduce-doubling              recursive halving and doubling; a power of two of ranks
      alltoall, alltoallv             each rank sends to each other one; alltoallv has random sizes
      gather, scatter                 all ranks send to rank 0, or receive from it
      double-ring                     a message goes round in both directions
      pipelined-ring                  segments go from rank to rank
      pipelined-ring-dep              the same, and each rank handles one segment at a time
      linear-barrier                  all ranks wait for rank 0
      random-bisect                   random pairs of ranks; one of each pair sends

    \b
    Examples:
      spinet goal make binomial-bcast --ranks 8 --bytes 4096
      spinet goal make alltoall --ranks 1024 -o alltoall.bin
    """
    from spinet import goal

    schedule = goal.make(pattern, ranks=ranks, bytes=n_bytes, segment=segment, ways=ways, seed=seed)
    if output is None:
        click.echo(schedule.text(), nl=False)
    else:
        schedule.write(output)


@command.command("convert", short_help="Convert between text and binary.")
@_SCHEDULE
@click.argument("output", type=click.Path(path_type=Path))
@click.option("--to", "form", type=click.Choice(["text", "binary"]), help="Form of OUTPUT. Default: binary for .bin.")
def convert_command(schedule: Path, output: Path, form: str | None) -> None:
    """Convert a schedule: text to binary, or binary to text. The form of SCHEDULE is found by its first bytes."""
    from spinet import goal

    goal.read(schedule).write(output, binary=None if form is None else form == "binary")


@command.command("check", short_help="Check a schedule.")
@_SCHEDULE
@parameters.json_option
def check_command(schedule: Path, as_json: bool) -> None:
    """Check a schedule and print its size. An error names the place, and the exit code is then 2.

    The check finds wrong syntax, unknown labels, peers that do not exist, and operations that wait for each other
    within a rank. Only a run finds receives and messages without a partner.
    """
    from spinet import goal

    counts = goal.read(schedule).counts
    if as_json:
        click.echo(json.dumps({"ok": True, **counts}))
        return
    parts = ", ".join(f"{counts[name]:,} {name}" for name in ("ranks", "sends", "recvs", "calcs", "dependencies"))
    click.echo(f"{schedule}: {parts}; {counts['bytes']:,} bytes; all is well")
