# SPDX-License-Identifier: Apache-2.0
"""Flame graphs: a box for each function, as wide as its cycles, on the box of its caller."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

WIDTH = 1200  # pixels
_ROW = 18
_LETTER = 6.6  # pixels of a letter, about
_LEAST = 0.5  # narrower boxes are left out

# Executing is green; lost cycles are red to yellow; functions are blue.
_COLORS = {"executing": "#009E73"}
_LOST, _FUNCTION = "#E69F00", "#8fbfdc"


@dataclass
class _Box:
    cycles: int = 0
    inside: dict[str, _Box] = field(default_factory=dict)


def svg(stacks: Mapping[str, int] | Iterable[tuple[str, int]], *, title: str) -> str:
    """A picture of stacks, each ``outer;inner;[cause]``, with their cycles. Boxes that are pointed at show shares."""
    root = _Box()
    for stack, cycles in dict(stacks).items():
        root.cycles += cycles
        box = root
        for name in stack.split(";"):
            box = box.inside.setdefault(name, _Box())
            box.cycles += cycles
    depth = _depth(root)
    height = (depth + 2) * _ROW
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        f'font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="4" y="13">{html.escape(title)}</text>',
    ]
    scale = WIDTH / max(root.cycles, 1)
    drawn += _draw(root, left=0.0, level=0, depth=depth, scale=scale, total=root.cycles)
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _depth(box: _Box) -> int:
    return 1 + max(map(_depth, box.inside.values()), default=-1)


def _draw(box: _Box, *, left: float, level: int, depth: int, scale: float, total: int) -> list[str]:
    drawn: list[str] = []
    for name, inner in sorted(box.inside.items(), key=lambda one: (-one[1].cycles, one[0])):
        width = inner.cycles * scale
        if width < _LEAST:
            continue
        top = (depth - level) * _ROW
        cause = name[1:-1] if name.startswith("[") else None
        color = _FUNCTION if cause is None else _COLORS.get(cause, _LOST)
        room = int((width - 4) / _LETTER)
        label = name if len(name) <= room else f"{name[: max(room - 2, 0)]}.." if room > 3 else ""
        tip = html.escape(f"{name}: {inner.cycles:,} cycles, {inner.cycles / max(total, 1):.1%}")
        drawn.append(
            f'<g><title>{tip}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 1}" '
            f'fill="{color}" stroke="#ffffff" stroke-width="0.5"/>'
            f'<text x="{left + 3:.1f}" y="{top + 13}">{html.escape(label)}</text></g>'
        )
        drawn += _draw(inner, left=left, level=level + 1, depth=depth, scale=scale, total=total)
        left += width
    return drawn
