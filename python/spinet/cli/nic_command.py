# SPDX-License-Identifier: Apache-2.0
"""`spinet nic list`, `show`, `check`, `services` and `modules`."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spinet.cli import parameters

if TYPE_CHECKING:
    from spinet.presets import Part
    from spinet.wiring import Design, Kind


@click.group(cls=parameters.Subcommands, short_help="List and show cards.")
def command() -> None:
    """List the known cards, show one, or check your own.

    \b
    Examples:
      spinet nic list
      spinet nic show pspin > my_card.toml
      spinet nic show pspin --set cluster.n_cores=4
      spinet nic show pspin --set n_clusters=8 --area
      spinet nic check my_card.toml
      spinet nic show my_card.toml --svg my_card.svg
      spinet nic show panic --set service.aes.units=4 --svg panic.svg
      spinet nic modules memory-controller
    """


_SETS = parameters.option("set", dest="sets")


@command.command("list", short_help="Names of the cards.")
@parameters.json_option
def list_command(as_json: bool) -> None:
    """List the names of the known cards."""
    from spinet import _core

    nics = _core.nic_list()
    if as_json:
        click.echo(json.dumps([{"name": name, "about": about} for name, about in nics], indent=2))
        return
    width = max(len(name) for name, _about in nics)
    for name, about in nics:
        click.echo(f"{name:{width}}  {about}")


@command.command("show", cls=parameters.NamingCommand, short_help="Print or draw a card.")
@click.argument("nic", metavar="NAME|FILE", shell_complete=parameters.complete_nics)
@_SETS
@click.option("--area", is_flag=True, help="Print area and power of its parts, scaled from the published ones.")
@click.option("--tree", is_flag=True, help="Print the parts of a wired card and the connection of each port.")
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), metavar="OUT", help="Draw the card; - is stdout."
)
@parameters.json_option
def show_command(nic: str, sets: tuple[str, ...], area: bool, tree: bool, svg: Path | None, as_json: bool) -> None:
    """Print a card's file, which --nic accepts.

    For PsPIN: every parameter with its source. --area prints mm² in 22 nm, W at the card's clock with every cell
    toggling, and the scaling rule from the published synthesis, for each part and its subparts. --svg draws the parts
    and connections that follow from the parameters, also of cards with chains of offloads.

    For a wired card: its file. --tree, --json and --svg show the checked card, with all parameters, modules and
    repetitions resolved. With --set alone: a card that derives from it with these values.
    """
    from spinet import _core, presets
    from spinet.drawing import sketch

    if _core.kind_of_nic(nic) != "modules":
        if tree:
            raise click.UsageError("--tree is for cards that are wired from modules; --svg draws any")
        if svg is not None:
            _write(svg, sketch.design(nic, set=sets).svg())
        if area:
            if _core.kind_of_nic(nic) == "chains":
                raise click.UsageError("--area is known of PsPIN only")
            _print_area(presets.nic_cost(nic, set=sets))
        elif as_json:
            click.echo(json.dumps(tomllib.loads(_core.nic_show(nic, list(sets), ".")), indent=2))
        elif svg is None:
            click.echo(_core.nic_show(nic, list(sets), "."), nl=False)
        return
    from spinet import wiring

    if area:
        raise click.UsageError("--area is known of PsPIN only")
    design = wiring.design(nic, set=sets)
    if svg is not None:
        _write(svg, design.svg())
    if tree:
        click.echo(_tree(design), nl=False)
    if as_json:
        click.echo(json.dumps(design.json, indent=2))
    if svg is None and not tree and not as_json:
        click.echo(wiring.variation(nic, sets).to_toml() if sets else _core.card_text(nic), nl=False)


def _write(svg: Path, text: str) -> None:
    from spinet import _files

    if str(svg) == "-":
        click.echo(text, nl=False)
    else:
        _files.write(svg, text)


def _tree(design: Design) -> str:
    clocks = ", ".join(f"{name} {frequency}" for name, frequency in design.clocks.items())
    lines = [f"{design.name}  {clocks}"]
    modules = {group.path: f"{group.module}" for group in design.groups}
    modules |= {part.path: f"{part.module}  {part.clock}" for part in design.parts}
    peers: dict[str, list[str]] = {}
    for wire in design.connections:
        more = "".join(
            f"  {name} {value}"
            for name, value, usual in (("room", wire.room, 2), ("latency", wire.latency, 1))
            if value != usual
        )
        peers.setdefault(wire.source, []).append(f"-> {wire.target}{more}")
        peers.setdefault(wire.target, []).append(f"<- {wire.source}{more}")
    printed: set[str] = set()
    for part in design.parts:
        names = part.path.split(".")
        for depth in range(1, len(names) + 1):
            path = ".".join(names[:depth])
            if path not in printed:
                printed.add(path)
                lines.append(f"{'  ' * depth}{names[depth - 1]}  {modules[path]}")
        width = max((len(port.name) for port in part.ports), default=0)
        for port in part.ports:
            for peer in peers.get(f"{part.path}.{port.name}", ["(not connected)"]):
                lines.append(f"{'  ' * (len(names) + 1)}{port.name:{width}}  {peer}")
    return "\n".join(lines) + "\n"


@command.command("check", cls=parameters.NamingCommand, short_help="Check a card and list all errors.")
@click.argument("nic", metavar="NAME|FILE", shell_complete=parameters.complete_nics)
@_SETS
@parameters.json_option
def check_command(nic: str, sets: tuple[str, ...], as_json: bool) -> None:
    """Check a card: names, parameters, ports, protocols, and that every port is connected.

    All errors are reported at once, each with line, found value and allowed values. The exit code is then 2.
    """
    from spinet import _core

    if _core.kind_of_nic(nic) != "modules":
        _core.nic_show(nic, list(sets), ".")
        click.echo(json.dumps({"ok": True}) if as_json else f"{nic}: its parameters are valid")
        return
    from spinet import wiring

    design = wiring.design(nic, set=sets)
    counts = {"parts": len(design.parts), "connections": len(design.connections), "clocks": len(design.clocks)}
    if as_json:
        click.echo(json.dumps({"ok": True, "name": design.name, **counts}))
        return
    parts = ", ".join(f"{count} {name if count != 1 else name[:-1]}" for name, count in counts.items())
    click.echo(f"{design.name}: {parts}; all is well")


@command.command("services", short_help="Services for chains of offloads.")
@click.argument("nic", metavar="[NAME|FILE]", required=False, shell_complete=parameters.complete_nics)
@parameters.json_option
def services_command(nic: str | None, as_json: bool) -> None:
    """List the services that come with spinet, or those of a card.

    \b
    Each is named after its engine, and --service makes services of it:
      spinet nic services
      spinet run --service 'work: delay, cycles=40, units=2' --chain 'all: work' --traffic udp:count=1000
    """
    from spinet import _core

    services = json.loads(_core.chain_services(nic))
    if as_json:
        click.echo(json.dumps(services, indent=2))
        return
    width = max((len(service["name"]) for service in services), default=0)
    for service in services:
        units = f"{service['units']} unit{'s' if service['units'] != 1 else ''}"
        engine = ", ".join(f"{path}={value}" for path, value in _engine(service["engine"]))
        click.echo(f"{service['name']:{width}}  {units}, {service['credits']} credits; {engine}")


def _engine(table: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Numbers and texts of an engine by path, without lists."""
    found: list[tuple[str, str]] = []
    for key, value in table.items():
        if isinstance(value, dict):
            found += _engine(value, f"{prefix}{key}.")
        elif not isinstance(value, list):
            found.append((f"{prefix}{key}", json.dumps(value).strip('"')))
    return found


@command.command("modules", short_help="Modules of wired cards.")
@click.argument("name", required=False)
@parameters.json_option
def modules_command(name: str | None, as_json: bool) -> None:
    """List the modules for wired cards, or show the ports and parameters of one."""
    from spinet import wiring

    kinds = wiring.modules(name)
    if as_json:
        rows = [
            {"name": kind.name, "about": kind.about, "example": kind.example, "schema": kind.schema} for kind in kinds
        ]
        ports = [[vars(port) for port in kind.ports] for kind in kinds]
        click.echo(json.dumps([{**row, "ports": found} for row, found in zip(rows, ports, strict=True)], indent=2))
        return
    if name is None:
        width = max(len(kind.name) for kind in kinds)
        for kind in kinds:
            click.echo(f"{kind.name:{width}}  {kind.about}")
        return
    for kind in kinds:
        _print_module(kind)


def _print_module(kind: Kind) -> None:
    click.echo(f"{kind.name}: {kind.about}")
    click.echo("\nports (of the example below)")
    arrows = {"from": "asks or sends", "to": "answers or receives"}
    rows = [(port.name, port.protocol, arrows[port.side] + (", optional" if port.is_optional else ""), port.about)
            for port in kind.gathered_ports()]  # fmt: skip
    widths = [max((len(row[at]) for row in rows), default=0) for at in range(3)]
    for row in rows:
        click.echo(
            "  "
            + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False))
            + f"  {row[3]}".rstrip()
        )
    click.echo("\nparameters")
    found = kind.parameters()
    width = max((len(parameter.path) for parameter in found), default=0)
    kinds = max((len(parameter.kind) for parameter in found), default=0)
    for parameter in found:
        default = "" if parameter.default is None else f" (default {json.dumps(parameter.default)})"
        click.echo(f"  {parameter.path:{width}}  {parameter.kind:{kinds}}  {parameter.about}{default}")
    if kind.example:
        click.echo("\nexample\n" + "".join(f"  {line}\n" for line in kind.example.splitlines()), nl=False)


def _print_area(parts: list[Part]) -> None:
    rows = [("part", "mm2", "W", "scales with")]
    for part in parts:
        name = "  " * part.depth + part.name + (f" (x{part.count})" if part.count > 1 else "")
        rows.append((name, f"{part.area_mm2:.2f}", f"{part.power_w:.2f}", part.rule))
    width = max(len(row[0]) for row in rows)
    for name, area, power, rule in rows:
        click.echo(f"{name:{width}}  {area:>7}  {power:>6}  {rule}")
