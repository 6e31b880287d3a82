# SPDX-License-Identifier: Apache-2.0
"""`spinet new`: begins a project."""

from __future__ import annotations

from pathlib import Path

import click

from spinet.cli import parameters


@click.command(short_help="Begin a project: a program, its test, its experiment.")
@click.argument("folder", metavar="NAME", type=click.Path(path_type=Path))
@click.option(
    "--nic",
    metavar="CARD",
    default="pspin",
    show_default=True,
    shell_complete=parameters.complete_nics,
    help="The card, which decides the kind of program: handlers, a program for PANIC's cores, or firmware.",
)
def command(folder: Path, nic: str) -> None:
    """Make a folder with a program that answers packets, and everything to work on it.

    NAME is the folder, and the name of the program: letters, digits, _ and -. The folder gets a test that pytest runs,
    an experiment, a workflow for GitHub Actions, compile_commands.json for editors, and a launch file for VS Code's
    debugger. Nothing is overwritten.

    \b
    Examples:
      spinet new filter
      spinet new work/nat --nic panic
      spinet new my_nic --nic tigon2

    \b
    Then:
      cd filter
      pytest
      spinet run experiment.toml
    """
    from spinet import _new

    for path in _new.make(folder, nic=nic):
        click.echo(folder / path)
