# SPDX-License-Identifier: Apache-2.0
"""`spinet net show`: checks, counts and draws a network."""

from __future__ import annotations

import json
from pathlib import Path

import click

from spinet.cli import parameters


@click.group(short_help="Check, count and draw networks.")
def command() -> None:
    """Check a network, count its parts, and draw it.

    \b
    Examples:
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
