# SPDX-License-Identifier: Apache-2.0
"""`spinet nic list` and `spinet nic show`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from spinet.api import Part


@click.group(short_help="List and show cards.")
def command() -> None:
    """List the cards that spinet knows, or show all parameters of one.

    \b
    Examples:
      spinet nic list
      spinet nic show pspin > my_card.toml
      spinet nic show pspin --set cluster.n_cores=4
      spinet nic show pspin --set n_clusters=8 --area
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
@click.option("--area", is_flag=True, help="Print area and power of its parts instead, scaled from the published ones.")
def show_command(nic: str, sets: tuple[str, ...], area: bool) -> None:
    """Print every parameter of a card as TOML, with the source of each number.

    The output is a file that --nic accepts. With --area: mm² in 22 nm and W at the card's clock with every cell
    toggling, of each part with its parts below it, and by what they scale from the published synthesis.
    """
    from spinet import _core, api

    if area:
        _print_area(api.nic_cost(nic, set=sets))
        return
    click.echo(_core.nic_show(nic, list(sets), "."), nl=False)


def _print_area(parts: list[Part]) -> None:
    rows = [("part", "mm2", "W", "scales with")]
    for part in parts:
        name = "  " * part.depth + part.name + (f" (x{part.count})" if part.count > 1 else "")
        rows.append((name, f"{part.area_mm2:.2f}", f"{part.power_w:.2f}", part.rule))
    width = max(len(row[0]) for row in rows)
    for name, area, power, rule in rows:
        click.echo(f"{name:{width}}  {area:>7}  {power:>6}  {rule}")
