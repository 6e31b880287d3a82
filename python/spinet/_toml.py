# SPDX-License-Identifier: Apache-2.0
"""Tables as TOML text. Python reads TOML but does not write it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

_WIDTH = 110
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def dumps(table: Mapping[str, Any], *, order: Sequence[str] = ()) -> str:
    """Text that `tomllib` reads as `table`; keys in `order` come first, the rest as they are.

    TOML has no None, so keys with this value are left out.
    """
    table = _without_none(table)
    keys = [key for key in order if key in table] + [key for key in table if key not in order]
    plain = [f"{_key(key)} = {_long(table[key])}\n" for key in keys if not isinstance(table[key], Mapping)]
    tables = [_section(table[key], _key(key)) for key in keys if isinstance(table[key], Mapping)]
    return "".join(plain) + "".join(tables)


def _without_none(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    return [_without_none(one) for one in value] if isinstance(value, list) else value


def _section(table: Mapping[str, Any], path: str) -> str:
    """A table under its header; tables that would make too long a line get headers of their own."""
    lines, inner = [], []
    for key, value in table.items():
        line = f"{_key(key)} = {_long(value)}"
        if isinstance(value, Mapping) and len(line) > _WIDTH:
            inner.append(_section(value, f"{path}.{_key(key)}"))
        else:
            lines.append(line + "\n")
    return f"\n[{path}]\n" + "".join(lines) + "".join(inner)


def _long(value: Any) -> str:
    """A value; a list that does not fit a line has one for each element."""
    text = inline(value)
    if isinstance(value, list) and len(text) > _WIDTH // 2:
        return "[\n" + "".join(f"  {inline(item)},\n" for item in value) + "]"
    return text


def inline(value: Any) -> str:
    """A value as text behind `key =`, on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(key)} = {inline(item)}" for key, item in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, Sequence):
        return f"[{', '.join(inline(item) for item in value)}]"
    raise TypeError(f"{value!r} cannot be written as TOML")


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    # JSON's escapes are valid in TOML, except surrogate pairs, which are not written, and DEL.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
