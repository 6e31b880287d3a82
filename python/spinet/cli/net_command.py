# SPDX-License-Identifier: Apache-2.0
"""`spinet net`: checks, counts and draws a network; makes networks for collective operations."""

from __future__ import annotations

import json
from pathlib import Path

import click

from spinet.cli import parameters


@click.group(cls=parameters.Subcommands, short_help="Check, count and draw networks; make networks for collectives.")
def command() -> None:
    """Check a network, count its parts, and draw it; make networks that do a collective operation.

    \b
    Examples:
      spinet net make broadcast --ranks 16 --bytes 8 -o broadcast
      spinet net show network.toml
      spinet net show network.toml -o network.svg
      spinet run network.toml -o result; spinet net show result -o load.html
    """


@command.command("show", cls=parameters.NamingCommand, short_help="Check, count and draw a network.")
@click.argument("network", metavar="NETWORK.toml|DIR", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg|FILE.html",
    help="Draw the network.",
)
@parameters.json_option
def show_command(network: Path, output: Path | None, as_json: bool) -> None:
    """Check an experiment with a network without running it, and print its size.

    All programs are compiled and all cards built, so a network that is accepted here also runs. The bisection is the
    minimum cut between the first and the second half of the nodes. The window is the simulated time that nodes run
    before they exchange frames: the least delay of a link.

    For a folder that `spinet run -o` wrote, the output also has the load of links, drops and pauses.
    """
    from spinet import _files, network_overview

    if output is not None and output.suffix not in (".svg", ".html"):
        raise click.UsageError(f"the name of {output} must end in .svg or .html")
    read = network_overview.Overview.of_folder if network.is_dir() else network_overview.built
    overview = read(network)
    if output is not None:
        _files.write(output, overview.svg() if output.suffix == ".svg" else overview.html())
    click.echo(json.dumps(overview.json(), indent=2) if as_json else "\n".join(overview.lines()))


@command.command("make", cls=parameters.NamingCommand, short_help="Make networks that do a collective operation.")
@click.argument("operation", type=click.Choice(["broadcast", "allreduce", "barrier", "alltoall"]))
@click.option("--ranks", metavar="N", type=parameters.Whole(min=2, max=1022), required=True, help="Number of ranks.")
@click.option(
    "--bytes",
    "n_bytes",
    metavar="N",
    type=parameters.Whole(min=0),
    default=0,
    help="Size of the vector; for alltoall, of the part for one rank. A barrier has none. An allreduce sums int32.",
)
@click.option(
    "--leaves",
    metavar="N",
    type=parameters.Whole(min=1),
    default=1,
    show_default=True,
    help="Number of leaf switches below a root switch, each with an equal number of ranks. 1: one switch.",
)
@click.option("--rate", metavar="RATE", default="100G", show_default=True, help="Rate of all links.")
@click.option("--delay", metavar="TIME", default="300 ns", show_default=True, help="Delay of all links.")
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="DIR", required=True, help="The folder to make."
)
def make_command(operation: str, ranks: int, n_bytes: int, leaves: int, rate: str, delay: str, output: Path) -> None:
    """Make networks that do the same operation, for `spinet compare --network`.

    The folder gets hosts.toml (hosts with plain NICs), cards.toml (PsPINs on the nodes) and switch.toml (a PsPIN in
    each switch), and the programs and data that they need. All ranks are around one switch, or on the switches of a
    tree with --leaves. On hosts and cards, an allreduce goes round a ring. A switch cannot help with an all-to-all.

    \b
    Example:
      spinet net make allreduce --ranks 16 --bytes 65536 --rate 10G -o allreduce
      spinet compare --network allreduce/*.toml
      spinet net make barrier --ranks 64 --leaves 8 -o barrier
    """
    from spinet.collectives import Group

    is_allreduce = operation == "allreduce"
    if n_bytes == 0 and operation != "barrier":
        raise click.UsageError("--bytes is 0, must be 1 or more")
    if n_bytes and operation == "barrier":
        raise click.UsageError(f"--bytes is {n_bytes}, but a barrier has no data")
    if is_allreduce and n_bytes % 4:
        raise click.UsageError(f"--bytes is {n_bytes}, must be a multiple of 4, the size of int32")
    group = Group(
        operation="ring" if is_allreduce else operation,
        size=ranks,
        n_bytes=n_bytes,
        dtype="int32" if is_allreduce else "int8",
    )
    for path in group.save(output, leaves=leaves, link={"rate": rate, "delay": delay}):
        click.echo(path)
