# SPDX-License-Identifier: Apache-2.0
"""`spinet nic list` and `spinet nic show`."""

from __future__ import annotations

import json

import click

from spinet.cli import parameters


@click.group(short_help="List and show cards.")
def command() -> None:
    """List the cards that spinet knows, or show all parameters of one.

    \b
    Examples:
      spinet nic list
      spinet nic show pspin > my_card.toml
      spinet nic show pspin --set cluster.n_cores=4
    """


@command.command("list", short_help="Names of the cards.")
@parameters.json_option
def list_command(as_json: bool) -> None:
    """List the cards that spinet knows by name."""
    from spinet import _core

    nics = _core.nic_list()
    if as_json:
        click.echo(json.dumps([{"name": name, "about": about} for name, about in nics], indent=2))
        return
    width = max(len(name) for name, _about in nics)
    for name, about in nics:
        click.echo(f"{name:{width}}  {about}")


@command.command("show", short_help="Every parameter of a card, with its source.")
@click.argument("nic", metavar="NAME|FILE", shell_complete=parameters.complete_nics)
@click.option("--set", "sets", metavar="PATH=VALUE", multiple=True, help="Change a parameter; may be repeated.")
def show_command(nic: str, sets: tuple[str, ...]) -> None:
    """Print every parameter of a card as TOML, with the source of each number.

    The output is a file that --nic accepts.
    """
    from spinet import _core

    click.echo(_core.nic_show(nic, list(sets), "."), nl=False)
