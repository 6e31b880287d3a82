# SPDX-License-Identifier: Apache-2.0
"""Pages made from the schemas of chain experiments and of PANIC cards. `docs/generate.py` calls it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spinet import _core

Schema = dict[str, Any]


def page(note: str) -> str:
    """`docs/reference/chains.md`."""
    tables = _core.table_columns()["chains"]
    packets, hops = tables["packets"], tables["hops"]
    parts = [
        note,
        "# Experiments with chains of offloads\n",
        "The keys of a file for `spinet run` with a card such as `panic`. `spinet schema chains` prints a JSON",
        "schema, and [the guide](../guides/offload-chains.md) has a complete example. Many tables can also be",
        "written as texts, in the form of `--chain`, `--service`, `--tenant` and `--traffic`. The keys of the card",
        "itself are the [parameters of PANIC](panic-parameters.md).\n",
        "At the end are the columns of [packets.parquet](#packetsparquet) and [hops.parquet](#hopsparquet).\n",
        *_tables(json.loads(_core.schema("chains")), "The file"),
        "## packets.parquet\n",
        "One row per packet, in the order in which packets left or were dropped; packets inside at the end come last.",
        "Null means that the event did not happen.\n",
        *_columns(packets),
        "## hops.parquet\n",
        "One row per visit to a service.\n",
        *_columns(hops),
    ]
    return "\n".join(parts)


def card_page(note: str) -> str:
    """`docs/reference/panic-parameters.md`."""
    parts = [
        note,
        "# Parameters of PANIC and its baselines\n",
        "The keys of a card's file. `spinet nic show panic` prints a card with the source of each value, and",
        "`spinet schema panic` prints a JSON schema. `--set PATH=VALUE` changes a value. Services are named in",
        "the path: `service.aes.units=4`. In [Python](python-parameters.md), the values have types.\n",
        *_tables(json.loads(_core.schema("panic")), "The file"),
    ]
    return "\n".join(parts)


def _tables(schema: Schema, title: str) -> Iterator[str]:
    """A table of keys for the schema, then one for each schema that it names."""
    named = schema.get("$defs", {})
    yield from _keys(title, schema, named)
    for name, inner in named.items():
        if "properties" in inner and not name.startswith("TextOr"):
            yield from _keys(name, inner, named)
        elif "oneOf" in inner:
            yield from _choices(name, inner)


def _keys(title: str, schema: Schema, named: Schema) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| key | type | default | meaning |"
    yield "|---|---|---|---|"
    required = schema.get("required", [])
    for key, value in schema["properties"].items():
        default = "" if key in required else json.dumps(value.get("default")) if "default" in value else "none"
        yield f"| `{key}` | {_cell(_kind(value, named))} | {_cell(default)} | {_cell(value.get('description', ''))} |"
    yield ""


def _choices(title: str, schema: Schema) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| one of | its keys | meaning |"
    yield "|---|---|---|"
    for choice in schema["oneOf"]:
        properties = choice.get("properties", {})
        tag = next((value["const"] for value in properties.values() if "const" in value), None)
        name = choice.get("const") or tag or next(iter(properties), choice.get("type", ""))
        keys = ", ".join(f"`{key}`" for key, value in properties.items() if "const" not in value)
        yield f"| `{name}` | {keys} | {_cell(choice.get('description', ''))} |"
    yield ""


def _kind(value: Schema, named: Schema) -> str:
    if "$ref" in value:
        name = str(value["$ref"].rpartition("/")[2])
        # Types that only allow a text instead of a table have no name for readers.
        is_either = name.rstrip("0123456789") in ("Entry", "OneOrMany", "OneOrManySchema", "TextOr")
        return _kind({"anyOf": named[name]["anyOf"]}, named) if is_either else name
    kinds = value.get("type", value.get("anyOf", ""))
    if isinstance(kinds, list):
        told = [kind if isinstance(kind, str) else _kind(kind, named) for kind in kinds]
        return " or ".join(dict.fromkeys(kind for kind in told if kind != "null"))
    if kinds == "array":
        return f"list of ({_kind(value.get('items', {}), named)})"
    return str(kinds)


def _columns(columns: list[tuple[str, str, str, list[str]]]) -> Iterator[str]:
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for name, dtype, meaning, categories in columns:
        kind = "text" if categories else {"u": "unsigned ", "i": "signed "}[dtype[1]] + f"{8 * int(dtype[2:])} bits"
        choices = f": {', '.join(f'`{choice}`' for choice in categories if choice)}" if categories else ""
        yield f"| `{name}` | {kind} | {meaning}{choices} |"
    yield ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
