# SPDX-License-Identifier: Apache-2.0
"""`spinet schema`: JSON schemas of spinet's files, for editors."""

from __future__ import annotations

import json

import click


@click.command(short_help="Print the JSON schema of a kind of file.")
@click.argument("kind", type=click.Choice(["nic", "experiment", "panic", "chains", "modules"]))
def command(kind: str) -> None:
    """Print the JSON schema of a card's file or an experiment: the meaning and the allowed values of every key.

    `nic` and `experiment` are those of PsPIN; `panic` is the card and `chains` the experiment of chains of offloads.
    `modules` is the experiment of wired cards such as tigon2.

    Editors check and complete TOML by it: begin a file with '#:schema nic.schema.json'.

    \b
    Examples:
      spinet schema nic > nic.schema.json
      spinet schema experiment > experiment.schema.json
    """
    from spinet import _core

    click.echo(json.dumps(json.loads(_core.schema(kind)), indent=2, ensure_ascii=False))
