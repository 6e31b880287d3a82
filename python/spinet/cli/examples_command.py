# SPDX-License-Identifier: Apache-2.0
"""`spinet examples`: handlers, captures and networks to begin with."""

from __future__ import annotations

import json
from pathlib import Path

import click

from spinet.cli import parameters


def _complete(_ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    from spinet import examples

    return [one.name for one in examples.examples() if one.name.startswith(begun)]


@click.command(short_help="List handlers, captures and networks to begin with, or copy them.")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=_complete)
@click.option(
    "--copy",
    "folder",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    help="Copy the named examples, or all, into a folder: DIR/sdk/examples/..., DIR/captures/..., DIR/experiments/...",
)
@click.option("--path", "only_path", is_flag=True, help="Print only the paths.")
@parameters.json_option
def command(names: tuple[str, ...], folder: Path | None, only_path: bool, as_json: bool) -> int:
    """List the handlers, captures and networks that come with spinet, print their paths, or copy them.

    After `--copy .`, the commands of README.md and of the guides work in the current folder.

    \b
    Examples:
      spinet examples
      spinet examples --copy .
      spinet examples ping_pong.c --copy my_project
      spinet run $(spinet examples ping_pong.c --path) --traffic $(spinet examples dns.pcap --path)
    """
    from spinet import examples

    if folder is not None:
        for place in examples.copy(folder, names):
            click.echo(place)
        return 0
    chosen = [examples.find(name) for name in names] if names else examples.examples()
    if only_path:
        for one in chosen:
            click.echo(one.path)
    elif as_json:
        rows = [{"name": one.name, "about": one.about, "path": str(one.path)} for one in chosen]
        click.echo(json.dumps(rows, indent=2))
    else:
        width = max(len(one.name) for one in chosen)
        for one in chosen:
            click.echo(f"{one.name:{width}}  {one.about}")
    return 0
