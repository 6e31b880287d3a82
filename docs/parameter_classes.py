# SPDX-License-Identifier: Apache-2.0
"""The Python classes of parameters, from the schemas of cards and modules. `docs/generate.py` calls it."""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator, Mapping
from typing import Any

from spinet import _core, wiring

Schema = dict[str, Any]
_WIDTH = 110
_TYPES = {"boolean": "bool", "integer": "int", "number": "float", "string": "str"}
# Names that a file imports if this text is in it.
_IMPORTS = {"ClassVar": "ClassVar[", "Literal": "Literal[", "TypeAlias": ": TypeAlias"}


def handlers() -> str:
    """`python/spinet/nic_parameters.py`."""
    file = _File("Parameters of a PsPIN, typed; docs/generate.py makes this from the Rust types.", "NicParams, Params")
    schema = json.loads(_core.schema("nic"))
    values = tomllib.loads(_core.nic_show("pspin", [], "."))
    file.card(schema["title"], schema, schema["$defs"], values, ["pspin", "pspin-rtl", "pspin-paper", "fpspin"])
    return file.text()


def chains() -> str:
    """`python/spinet/chain_parameters.py`."""
    about = "Parameters of PANIC and its baselines, typed; docs/generate.py makes this from the Rust types."
    file = _File(about, "NicParams, Params")
    schema = json.loads(_core.schema("chain-cards"))
    presets: dict[str, dict[str, Any]] = {}
    for name, _about in _core.nic_list():
        if _core.kind_of_nic(name) == "chains":
            values = tomllib.loads(_core.nic_show(name, [], "."))
            presets.setdefault(values.setdefault("model", "panic"), {})[name] = values
    cards = {}
    for choice in schema["oneOf"]:
        model = choice["properties"]["model"]["const"]
        name = f"{_pascal(model)}Params"
        first = next(iter(presets[model].values()))
        file.card(name, choice, schema["$defs"], first, list(presets[model]))
        cards[model] = name
    entries = "".join(f'    "{model}": {name},\n' for model, name in cards.items())
    return file.text(f"CARDS: Mapping[str, type[NicParams]] = {{\n{entries}}}\n" + '"""Classes by `model`."""\n')


def modules() -> str:
    """`python/spinet/module_parameters.py`."""
    about = "Parameters of the modules of wired cards, typed; docs/generate.py makes this from the Rust types."
    more = "from spinet._wired_parameters import WiredParams as WiredParams\n"
    file = _File(about, "ModuleParams, Params", more)
    entries = ""
    for kind in wiring.modules():
        schema = {**kind.schema, "description": f"`{kind.name}`: {kind.about}"}
        name = "".join(word.capitalize() for word in kind.name.split("-")) + "Params"
        constant = f'    MODULE: ClassVar[str] = "{kind.name}"\n'
        file.table(name, schema, schema.get("$defs", {}), base="ModuleParams", constants=constant)
        entries += f'    "{kind.name}": {name},\n'
    return file.text(f"MODULES: Mapping[str, type[ModuleParams]] = {{\n{entries}}}\n" + '"""Classes by module."""\n')


class _File:
    """The classes of one file."""

    def __init__(self, about: str, bases: str, more: str = "") -> None:
        self.head = (
            f'# SPDX-License-Identifier: Apache-2.0\n"""{about}"""\n\nfrom __future__ import annotations\n\n'
            f"import dataclasses\nfrom collections.abc import Mapping\nfrom typing import {', '.join(_IMPORTS)}\n\n"
            f"from spinet._parameters import {bases}\n{more}"
        )
        self.classes: dict[str, str] = {}
        self.aliases: dict[str, str] = {}
        self.schemas: dict[str, str] = {}
        # Values of tables that each card has once: the defaults of their classes.
        self.usual: dict[str, dict[str, Any]] = {}

    def text(self, tail: str = "") -> str:
        """The file, in the form of `ruff format`."""
        body = "\n\n".join([*self.classes.values(), "\n".join(self.aliases.values()), tail])
        whole = f"{self.head}\n\n{body}"
        if "Mapping[" not in body:
            whole = whole.replace("from collections.abc import Mapping\n", "")
        used = [name for name, use in _IMPORTS.items() if use in body]
        whole = whole.replace(f"import {', '.join(_IMPORTS)}\n", f"import {', '.join(used)}\n", 1)
        command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", "python/spinet/generated.py", "-"]
        return subprocess.run(command, input=whole, check=True, capture_output=True, text=True).stdout

    def card(self, name: str, schema: Schema, named: Schema, values: Mapping[str, Any], presets: list[str]) -> None:
        """Write the class of a card; `values` are the defaults."""
        self._keep(name, schema, named, values)
        listed = ", ".join(json.dumps(preset) for preset in presets) + "," * (len(presets) == 1)
        constant = f"    _PRESETS: ClassVar[tuple[str, ...]] = ({listed})\n"
        self.table(name, schema, named, base="NicParams", constants=constant)

    def _keep(self, name: str, schema: Schema, named: Schema, values: Mapping[str, Any]) -> None:
        self.usual.setdefault(name, dict(values))
        for key, value in schema["properties"].items():
            table = named.get(_target(value), {})
            if "properties" in table and isinstance(values.get(key), dict):
                self._keep(_target(value), table, named, values[key])

    def table(self, name: str, schema: Schema, named: Schema, *, base: str = "Params", constants: str = "") -> str:
        """The class of a table; returns its name, which has a number if another table has the same name."""
        told = json.dumps(schema, sort_keys=True) + _reached(schema, named)
        taken = 2
        while self.schemas.setdefault(name, told) != told:
            name, taken = f"{name.rstrip('0123456789')}{taken}", taken + 1
        if name in self.classes:
            return name
        self.classes[name] = ""  # keeps its place before those that it uses
        usual = self.usual.get(name, {})
        parts = ["@dataclasses.dataclass(frozen=True, kw_only=True)", f"class {name}({base}):"]
        parts += [*_docstring(str(schema.get("description", "Parameters."))), "", constants]
        for key, value in schema.get("properties", {}).items():
            parts += self._field(name, key, value, schema, named, usual)
        self.classes[name] = "\n".join(parts)
        return name

    def _field(
        self, owner: str, key: str, value: Schema, schema: Schema, named: Schema, usual: Mapping[str, Any]
    ) -> Iterator[str]:
        whole = {**named.get(_target(value), {}), **value}
        attribute = f"{key}_" if keyword.iskeyword(key) else key
        assert attribute.isidentifier(), f"{owner}.{key}"
        if "const" in value:
            yield f"    {attribute}: Literal[{json.dumps(value['const'])}] = {json.dumps(value['const'])}"
            yield '    """The name of this variant."""'
            return
        hint = self._hint(value, named, f"{owner.removesuffix('Params')}{_pascal(key)}")
        default = ""
        if key in usual or ("default" in value and value["default"] is not None):
            given = usual[key] if key in usual else value["default"]
            shown = self._shown(given, value, named)
            is_plain = isinstance(given, bool | int | float | str) or shown == "()"
            default = f" = {shown}" if is_plain else f" = dataclasses.field(default_factory=lambda: {shown})"
        elif key not in schema.get("required", []):
            hint = hint if "None" in hint else f"{hint} | None"
            default = " = None"
        yield f"    {attribute}: {hint}{default}"
        allowed = f" Allowed: {whole['x-allowed']}." if "x-allowed" in whole else ""
        if about := str(whole.get("description", "")) + allowed:
            yield from _docstring(about)

    def _hint(self, schema: Schema, named: Schema, name: str) -> str:
        """The Python type of a value; a type without a name gets `name`."""
        if "$ref" in schema:
            return self._hint(named[_target(schema)], named, _target(schema))
        choices = schema.get("oneOf", schema.get("anyOf"))
        if choices is not None:
            return self._choice(choices, named, name)
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(word) for word in schema['enum'] if word is not None)}]"
        if "const" in schema:
            return f"Literal[{json.dumps(schema['const'])}]"
        kinds = schema.get("type", "object")
        if isinstance(kinds, list):
            inner = [self._hint({**schema, "type": kind}, named, name) for kind in kinds if kind != "null"]
            return " | ".join([*inner, *["None"] * ("null" in kinds)])
        if kinds == "array":
            return f"tuple[{self._hint(schema.get('items', {}), named, name)}, ...]"
        if kinds == "object" and "properties" in schema:
            return self.table(name, schema, named)
        if kinds == "object":
            return f"Mapping[str, {self._hint(schema.get('additionalProperties') or {'type': 'string'}, named, name)}]"
        return _TYPES[kinds]

    def _choice(self, choices: list[Schema], named: Schema, name: str) -> str:
        words = [choice["const"] for choice in choices if "const" in choice]
        hints = [f"Literal[{', '.join(json.dumps(word) for word in words)}]"] if words else []
        tables = []
        for choice in choices:
            table = _merged(choice, named)
            if "const" in choice or choice.get("type") == "null":
                continue
            if "properties" not in table or ("$ref" in choice and "properties" not in choice):
                hints.append(self._hint(choice, named, name))
                continue
            tag = next((inner["const"] for inner in table["properties"].values() if "const" in inner), None)
            tables.append(self.table(f"{name}{_pascal(tag or next(iter(table['properties'])))}", table, named))
        if tables:
            self.aliases[name] = f"{name}: TypeAlias = {' | '.join(dict.fromkeys([*hints, *tables]))}"
            hints = [name]
        hints = [*dict.fromkeys(hints), *["None"] * any(choice.get("type") == "null" for choice in choices)]
        return " | ".join(hints)

    def _shown(self, value: Any, schema: Schema, named: Schema) -> str:
        """A value as Python text."""
        whole = named.get(_target(schema), schema)
        if value is None or isinstance(value, bool | int | float):
            return repr(value)
        if isinstance(value, str):
            return json.dumps(value)
        if isinstance(value, list):
            shown = [self._shown(item, whole.get("items", {}), named) for item in value]
            return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"
        for choice in whole.get("oneOf", whole.get("anyOf", [])):
            table = _merged(choice, named)
            tags = {key: inner["const"] for key, inner in table.get("properties", {}).items() if "const" in inner}
            if tags and all(value.get(key) == tag for key, tag in tags.items()):
                name = f"{_target(schema)}{_pascal(next(iter(tags.values())))}"
                return self._call(name, {k: v for k, v in value.items() if k not in tags}, table, named)
            if not tags and "properties" in table and value.keys() <= table["properties"].keys():
                name = _target(choice) if "$ref" in choice else f"{_target(schema)}{_pascal(next(iter(value)))}"
                return self._call(name, value, table, named)
        assert "properties" in whole, f"{value}: {schema}"
        return self._call(_target(schema), value, whole, named)

    def _call(self, name: str, value: Mapping[str, Any], table: Schema, named: Schema) -> str:
        usual = self.usual.get(name, {})
        given = {key: item for key, item in value.items() if key not in usual or usual[key] != item}
        shown = (f"{key}={self._shown(item, table['properties'][key], named)}" for key, item in given.items())
        return f"{name}({', '.join(shown)})"


def _target(schema: Schema) -> str:
    """Name of the type that a schema refers to; also of one that may be null."""
    for choice in schema.get("anyOf", []):
        if "$ref" in choice and len(schema["anyOf"]) == 2 and {"type": "null"} in schema["anyOf"]:
            return _target(choice)
    return str(schema.get("$ref", "")).rpartition("/")[2]


def _merged(choice: Schema, named: Schema) -> Schema:
    """A variant with the keys of the table that it refers to."""
    inner = named.get(_target(choice), {})
    if "properties" not in inner and "properties" not in choice:
        return choice
    return {
        **inner,
        **choice,
        "description": choice.get("description", inner.get("description", "Parameters.")),
        "properties": {**choice.get("properties", {}), **inner.get("properties", {})},
        "required": [*choice.get("required", []), *inner.get("required", [])],
    }


def _reached(schema: Any, named: Schema) -> str:
    """The types that a schema refers to, as text."""
    found: dict[str, str] = {}
    todo = [json.dumps(schema)]
    while todo:
        for name in re.findall(r"#/\$defs/(\w+)", todo.pop()):
            if name not in found:
                found[name] = json.dumps(named[name], sort_keys=True)
                todo.append(found[name])
    return json.dumps(found, sort_keys=True)


def _pascal(text: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[-_]", text))


def _docstring(text: str) -> list[str]:
    text = re.sub(r"\n(?!\n)", " ", re.sub(r"\n\n+", "\n\n", text)).strip().replace("\n ", "\n\n")
    first, *rest = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    lines = textwrap.wrap(first, _WIDTH)
    for paragraph in rest:
        lines += ["", *textwrap.wrap(paragraph, _WIDTH)]
    raw = "r" if "\\" in text else ""
    if len(lines) == 1:
        return [f'    {raw}"""{lines[0]}"""']
    body = [f"    {line}".rstrip() for line in lines[1:]]
    return [f'    {raw}"""{lines[0]}', *body, '    """']
