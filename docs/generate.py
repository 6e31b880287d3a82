# SPDX-License-Identifier: Apache-2.0
"""Write the pages of docs/reference that are made from the code: `make docs`. A test compares them."""

from __future__ import annotations

from pathlib import Path

import click
from spinet import _core
from spinet.cli import cli

ROOT = Path(__file__).resolve().parent.parent
_NOTE = "<!-- Made by docs/generate.py; change the code instead and run `make docs`. -->\n"


def pages() -> dict[Path, str]:
    """Path, from the root of the repository, and text of every page."""
    return {
        Path("docs/reference/cli.md"): _command_line(),
        Path("docs/reference/packets.md"): _packet_table(),
    }


def _command_line() -> str:
    parts = [_NOTE, "# The command line\n"]
    for path, command in _commands(cli, "spinet"):
        # A page of fixed width, whatever the terminal of whoever makes it.
        context = click.Context(command, info_name=path, terminal_width=100, max_content_width=100)
        parts.append(f"## {path}\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(command: click.Command, path: str) -> list[tuple[str, click.Command]]:
    found = [(path, command)]
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found += _commands(inner, f"{path} {name}")
    return found


def _packet_table() -> str:
    lines = [
        _NOTE,
        "# packets.parquet",
        "",
        "One row a packet, in the order in which packets were finished. Times are picoseconds since reset; a time is",
        "null if the packet never came there.",
        "",
        "| column | type | meaning |",
        "|---|---|---|",
    ]
    for name, dtype, meaning, categories in _core.packet_columns():
        kind = "text" if categories else {"u": "unsigned ", "i": "signed "}[dtype[1]] + f"{8 * int(dtype[2:])} bits"
        choices = f": {', '.join(f'`{choice}`' for choice in categories)}" if categories else ""
        lines.append(f"| `{name}` | {kind} | {meaning}{choices} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write every page that is not up to date."""
    for path, text in pages().items():
        target = ROOT / path
        if not target.is_file() or target.read_text() != text:
            target.write_text(text)
            print(f"  wrote {path}")


if __name__ == "__main__":
    main()
