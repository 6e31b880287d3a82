# SPDX-License-Identifier: Apache-2.0
"""`spinet completion`: completion scripts for shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command(short_help="Completion for your shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a completion script for spinet's commands, options, files and cards.

    \b
    Examples:
      echo 'eval "$(spinet completion bash)"' >> ~/.bashrc
      echo 'eval "$(spinet completion zsh)"'  >> ~/.zshrc
      spinet completion fish > ~/.config/fish/completions/spinet.fish
    """
    from spinet.cli import cli, completion

    completion.register()
    kind = get_completion_class(shell)
    assert kind is not None, f"click knows no {shell}"
    click.echo(kind(cli, {}, "spinet", "_SPINET_COMPLETE").source())
