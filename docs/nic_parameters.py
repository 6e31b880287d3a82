# SPDX-License-Identifier: Apache-2.0
"""The reference page of a PsPIN's parameters, from the schema of cards. `docs/generate.py` calls it."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from typing import Any

from spinet import _core

Schema = dict[str, Any]


def parameters() -> Iterator[tuple[str, Schema]]:
    """Path and schema of every parameter, in the order of the types."""
    schema = json.loads(_core.schema("nic"))

    def inside(table: Schema, prefix: str) -> Iterator[tuple[str, Schema]]:
        for key, value in table["properties"].items():
            named = schema["$defs"].get(value.get("$ref", "").rpartition("/")[2], {})
            if "properties" in named:
                yield from inside(named, f"{prefix}{key}.")
            else:
                yield f"{prefix}{key}", {**named, **value}

    return inside(schema, "")


# Names of JSON Schema's types for readers.
_KINDS = {"boolean": "true or false", "integer": "integer", "number": "number"}


def choices(schema: Schema) -> list[str]:
    """Allowed texts of a parameter; empty for numbers and booleans."""
    return [str(choice.get("const")) for choice in schema.get("oneOf", [])] or schema.get("enum", [])


def page(note: str) -> str:
    """`docs/reference/nic-parameters.md`."""
    known = (name for name, _about in _core.nic_list())
    names = [name for name in known if _core.kind_of_nic(name) == "handlers"]
    texts = [_core.nic_show(name, [], ".") for name in names]
    values, sources = [_flat(tomllib.loads(text)) for text in texts], _sources(texts[names.index("pspin")])
    rows = [
        "# Parameters of a card\n\n"
        "A file for `--nic` sets these parameters; `--set PATH=VALUE` changes one of them. A file with a\n"
        "`base`, a preset or another file, states only what differs:\n"
        "\n"
        "```toml\n"
        'base = "pspin-rtl"\n'
        "n_clusters = 2\n"
        "\n"
        "[cluster]\n"
        "n_cores = 4\n"
        "```\n"
        "\n"
        "`spinet nic show FILE` prints all values, `spinet schema nic` a JSON schema, and\n"
        "`spinet.parameters_of` gives the values to [Python](python-parameters.md). The allowed values and the\n"
        "sources below are those of `pspin`; source files are those of spcl/pspin a49fec8.\n",
        f"| parameter | type | {' | '.join(f'`{name}`' for name in names)} | allowed | meaning | source |",
        f"|{'---|' * (len(names) + 5)}",
    ]
    for key, schema in parameters():
        shown = " | ".join(_shown(value[key]) for value in values)
        meaning, source = _cell(schema["description"]), _cell(sources[key])
        rows.append(f"| `{key}` | {_kind(schema)} | {shown} | {_allowed(schema)} | {meaning} | {source} |")
    return note + "\n" + "\n".join(rows) + "\n"


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}": value}
    return flat


def _sources(text: str) -> dict[str, str]:
    """The comment behind each value of a preset; `the same` is expanded."""
    found, table, before = {}, "", ""
    for line in text.splitlines():
        if header := re.match(r"\[([\w.]+)\]", line):
            table = header[1] + "."
        elif match := re.match(r"(\w+) = .*?# ((?:source|assumed): .*)", line):
            said = match[2].removeprefix("source: ")
            file = re.split(r"[,:]", before)[0]
            said = said.replace("the same", file) if said.startswith("the same") and file else said
            found[table + match[1]] = said
            before = said
    return found


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"`{value}`"


def _kind(schema: Schema) -> str:
    return "text" if choices(schema) else _KINDS[schema["type"]]


def _allowed(schema: Schema) -> str:
    if of := choices(schema):
        return ", ".join(f"`{choice}`" for choice in of)
    return _cell(schema.get("x-allowed", "")) or ("any" if schema["type"] == "integer" else "")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
