# SPDX-License-Identifier: Apache-2.0
"""The page of modules, made from their Rust types. `docs/generate.py` calls it."""

from __future__ import annotations

import json

from spinet import wiring

_SIDES = {"from": "asks or sends", "to": "answers or receives"}

_HEAD = """# Modules

The modules that a card's file can use. `spinet nic modules NAME` prints one of them, and
[Build a NIC](../guides/build-a-nic.md) explains the file.

- A port connects to one port with the same [protocol](../concepts/protocols.md): the port that asks or sends is left of
  the arrow, the port that answers or receives is right of it.
- Ports that are not optional must be connected.
- The ports listed are those of the example; their number can depend on parameters. Ranges such as `[0..4]` do not
  include their end.
- In Python, the parameters of each module have a class in `spinet.module_parameters` ([types](python-parameters.md)).
"""


def page(note: str) -> str:
    """`docs/reference/modules.md`."""
    kinds = wiring.modules()
    index = ["| module | function |", "|---|---|"]
    index += [f"| [`{kind.name}`](#{kind.name}) | {_cell(kind.about)} |" for kind in kinds]
    return "\n".join([note, _HEAD, "\n".join(index) + "\n", *(_module(kind) for kind in kinds)])


def _module(kind: wiring.Kind) -> str:
    rows = [f"## {kind.name}", "", _sentence(kind.about), "", "| port | protocol | side | |", "|---|---|---|---|"]
    for port in kind.gathered_ports():
        optional = ", optional" if port.is_optional else ""
        rows.append(f"| `{port.name}` | {port.protocol} | {_SIDES[port.side]}{optional} | {_cell(port.about)} |")
    found = kind.parameters()
    if found:
        rows += ["", "| parameter | value | meaning |", "|---|---|---|"]
    for parameter in found:
        default = "" if parameter.default is None else f" Default: `{json.dumps(parameter.default)}`."
        rows.append(f"| `{parameter.path}` | {_cell(parameter.kind)} | {_cell(parameter.about)}{default} |")
    if kind.example:
        rows += ["", "```toml", *kind.example.splitlines(), "```"]
    return "\n".join(rows) + "\n"


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
