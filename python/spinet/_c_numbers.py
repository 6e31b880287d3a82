# SPDX-License-Identifier: Apache-2.0
"""Numbers that C sources define, so that handlers and Python share one definition."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

_DEFINE = re.compile(r"^#define (\w+) (0x[0-9a-fA-F]+|\d+)u?\b", re.MULTILINE)


@cache
def defined(*sources: Path) -> dict[str, int]:
    """Macros of these sources that are plain numbers, decimal or hexadecimal."""
    text = "\n".join(source.read_text() for source in sources)
    return {name: int(value, 0) for name, value in _DEFINE.findall(text)}
