# SPDX-License-Identifier: Apache-2.0
"""The Python types of summaries, from their Rust types. `docs/generate.py` calls it."""

from __future__ import annotations

import json
import keyword
import subprocess
import sys
import textwrap
from typing import Any

from spinet import _core

Schema = dict[str, Any]
_TYPES = {"boolean": "bool", "integer": "int", "number": "float", "string": "str", "null": "None"}
_CARDS = {
    "handlers": "cards that run handlers",
    "chains": "cards that run chains of offloads",
    "modules": "wired cards",
    "network": "networks of cards",
}
_PREFIXES = {"network": "Networks"}  # prefix of class names; other kinds use their own name
_HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""Types of summaries, for type checkers; docs/generate.py makes this from the Rust types.

`spinet.Result.summary_as` gives a summary one of these types.
"""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict

'''


def module() -> str:
    """`python/spinet/summaries.py`."""
    schemas = json.loads(_core.schema("summary"))
    common = schemas.pop("common")
    made: dict[str, str] = {}
    _tables(made, common)
    _table(made, "Summary", common, "The parts of a summary that all cards have.")
    for kind, schema in schemas.items():
        packets, section = schema["packets"], schema["section"]
        name = _PREFIXES.get(kind, kind.capitalize())
        all_packets = common["$defs"][_ref(common["properties"]["packets"])]
        for part in (packets, section):
            _tables(made, part)
        about = f"The summary of {_CARDS.get(kind, kind)}."
        own = {"$ref": f"#/$defs/{name}Packets", "description": common["properties"]["packets"].get("description", "")}
        _table(made, f"{name}Packets", _joined(all_packets, packets), f"Packets of {_CARDS.get(kind, kind)}.")
        whole = _joined(common, section)
        whole["properties"] = {**whole["properties"], "packets": own}
        _table(made, f"{name}Summary", whole, about)
    whole_text = _HEAD + "\n\n".join(made.values())
    command = [sys.executable, "-m", "ruff", "format", "-", "--stdin-filename", "python/spinet/summaries.py"]
    return subprocess.run(command, input=whole_text, capture_output=True, text=True, check=True).stdout


def _joined(one: Schema, other: Schema) -> Schema:
    properties = {**one.get("properties", {}), **other.get("properties", {})}
    return {"properties": properties, "required": [*one.get("required", ()), *other.get("required", ())]}


def _tables(made: dict[str, str], schema: Schema) -> None:
    for name, inner in schema.get("$defs", {}).items():
        if inner.get("type") == "object" and "properties" in inner:
            _table(made, name, inner, inner.get("description", ""))
        elif inner.get("type") in _TYPES:
            made[name] = f"{name} = {_type(inner)}\n" + f'"""{inner.get("description", "")}"""\n'
        else:
            raise AssertionError(f"{name} is neither a table nor a number or text: {inner}")


def _table(made: dict[str, str], name: str, schema: Schema, about: str) -> None:
    """Write a class. A key that is a keyword of Python needs the other form of a TypedDict."""
    required = schema.get("required", ())
    keys = {key: _type(inner) for key, inner in schema.get("properties", {}).items()}
    keys = {key: kind if key in required else f"NotRequired[{kind}]" for key, kind in keys.items()}
    if any(keyword.iskeyword(key) or not key.isidentifier() for key in keys):
        entries = "".join(f'"{key}": "{kind}",\n' for key, kind in keys.items())
        text = f'{name} = TypedDict("{name}", {{{entries}}})\n'
    else:
        lines = [f"class {name}(TypedDict):", _docstring(about or f"A `{name}`.")]
        for key, kind in keys.items():
            lines.append(f"    {key}: {kind}")
            words = schema["properties"][key].get("description", "")
            lines += [_docstring(words)] if words else []
        text = "\n".join(lines) + "\n"
    assert made.get(name, text) == text, f"two types are called {name}"
    made[name] = text


def _docstring(words: str) -> str:
    text = words.replace("\\", "\\\\").strip()
    if len(text) > 105:
        text = textwrap.fill(text, 110, break_long_words=False, break_on_hyphens=False) + "\n"
    return textwrap.indent(f'"""{text}"""', "    ")


def _ref(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(schema: Schema | bool) -> str:
    """The Python type of a value in JSON."""
    if isinstance(schema, bool):
        return "Any"
    if "$ref" in schema:
        return _ref(schema)
    if "anyOf" in schema:
        return " | ".join(_type(one) for one in schema["anyOf"])
    if "type" not in schema:
        return "Any"
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(_one(kind, schema) for kind in kinds)


def _one(kind: str, schema: Schema) -> str:
    if kind == "array":
        items = [schema["items"]] if "items" in schema else schema["prefixItems"]
        return f"list[{' | '.join(dict.fromkeys(_type(item) for item in items))}]"
    if kind == "object":
        values = schema.get("additionalProperties", True)
        return f"dict[str, {_type(values)}]"
    return _TYPES[kind]
