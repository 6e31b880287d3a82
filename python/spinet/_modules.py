# SPDX-License-Identifier: Apache-2.0
"""Modules that cards are wired from, as their Rust types describe them: ports, and parameters from a JSON schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, kw_only=True)
class PortOf:
    """A port of a part: `side` is ``"from"`` if the port is written left of an arrow, ``"to"`` if right."""

    name: str
    protocol: str
    side: str
    is_optional: bool
    about: str = ""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter of a module: path of its key, kind of value, meaning, and default if it has one."""

    path: str
    kind: str
    about: str
    default: Any = None


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A module of the library. `schema` is the JSON schema of its parameters, `example` a set of them as TOML.

    `ports` are its ports with these parameters.
    """

    name: str
    about: str
    ports: tuple[PortOf, ...]
    example: str
    schema: Mapping[str, Any]

    def gathered_ports(self) -> list[PortOf]:
        """The ports, an array of ports as one: ``requesters[0..4]``."""
        found: dict[str, list[PortOf]] = {}
        for port in self.ports:
            found.setdefault(port.name.partition("[")[0], []).append(port)
        numbered = {base: "" if ports[0].name == base else f"[0..{len(ports)}]" for base, ports in found.items()}
        return [replace(ports[0], name=base + numbered[base]) for base, ports in found.items()]

    def parameters(self) -> list[Parameter]:
        """All parameters with their paths. Those of a table come after the table."""
        return list(_parameters(self.schema, self.schema.get("$defs", {}), ""))


def _parameters(table: Mapping[str, Any], named: Mapping[str, Any], prefix: str) -> Iterator[Parameter]:
    for key, found in table.get("properties", {}).items():
        value = {**named.get(str(found.get("$ref", "")).rpartition("/")[2], {}), **found}
        about = str(value.get("description", "")).replace("\n", " ")
        path = f"{prefix}{key}"
        choices = value.get("oneOf", [])
        tagged = [choice for choice in choices if "properties" in choice]
        if tagged:
            yield from _choices(path, about, value, named)
        elif "properties" in value:
            yield Parameter(path=path, kind="table", about=about, default=value.get("default"))
            yield from _parameters(value, named, f"{path}.")
        else:
            yield Parameter(path=path, kind=_word(value), about=about, default=value.get("default"))


def _choices(path: str, about: str, value: Mapping[str, Any], named: Mapping[str, Any]) -> Iterator[Parameter]:
    """A value of one of several types: the type follows from a tag, or from the name of its only key."""
    tables = [choice for choice in value["oneOf"] if "properties" in choice]
    tags = [key for key, inner in tables[0]["properties"].items() if "const" in inner]
    words = [_word(choice) for choice in value["oneOf"] if tags or "properties" not in choice]
    words += [] if tags else [f"{{ {key} = ... }}" for table in tables for key in table["properties"]]
    where = f"{path}.{tags[0]}" if tags else path
    yield Parameter(path=where, kind=" or ".join(words), about=about, default=value.get("default"))
    for table in tables:
        reference = named.get(str(table.get("$ref", "")).rpartition("/")[2], {})
        inner = {**reference.get("properties", {}), **table["properties"]}
        own = {key: {"description": table.get("description", ""), **found} for key, found in inner.items()}
        own = {key: found for key, found in own.items() if "const" not in found}
        yield from _parameters({"properties": own}, named, f"{path}.")


def _word(schema: Mapping[str, Any]) -> str:
    """Short name of the kind of value that a schema allows."""
    if "const" in schema:
        return f'"{schema["const"]}"'
    if "enum" in schema:
        return " or ".join(f'"{word}"' for word in schema["enum"])
    for inner in schema.get("properties", {}).values():
        if "const" in inner:
            return f'"{inner["const"]}"'
    if "oneOf" in schema or "anyOf" in schema:
        choices = [_word(choice) for choice in schema.get("oneOf", schema.get("anyOf", []))]
        return " or ".join(choice for choice in choices if choice != "null")
    kind = schema.get("type", "table")
    kind = next((each for each in kind if each != "null"), "") if isinstance(kind, list) else kind
    if kind == "array":
        return f"list of {_word(schema.get('items', {}))}"
    words = {
        "integer": "whole number",
        "number": "number",
        "string": "text",
        "boolean": "true or false",
        "object": "table",
    }
    return words.get(kind, str(kind))
