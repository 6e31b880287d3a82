# SPDX-License-Identifier: Apache-2.0
"""Boxes and wires with coordinates, as SVG."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from spinet.drawing.boxes import Box, Wire
from spinet.drawing.loads import Loads, heat, plain
from spinet.drawing.places import text_width

if TYPE_CHECKING:
    from spinet.wiring import Design

_MARGIN = 24
_INK = "#20262e"
_FAINT = "#5c6670"
# Fill and border of a clock's parts, by the position of the clock: light enough for black text.
_CLOCKS = (
    ("#dbe9f8", "#4a7fb5"), ("#fdebd0", "#c8852b"), ("#dff0dd", "#4f9153"), ("#f3dff0", "#9a5a92"),
    ("#fbdcd8", "#bf5549"), ("#e4e3f6", "#6762ad"), ("#d9f0ee", "#3d8f88"), ("#efe9d8", "#8d7a3c"),
)  # fmt: skip
_WIRES = (
    "#20262e", "#1f6fb4", "#c0561f", "#3b8c4a", "#8e4fa0", "#8a7420", "#b03052", "#1f8a8a", "#6a5a4a", "#4b58c4",
    "#7a9a1a", "#c07aa0",
)  # fmt: skip


def paint(design: Design, root: Box, loads: Loads) -> str:
    """The text of an SVG file."""
    protocols = list(dict.fromkeys(connection.protocol for connection in design.connections))
    protocols.sort(key=lambda protocol: (protocol != "memory", protocol))
    brush = _Brush(design, protocols, loads)
    brush.inside(root, _MARGIN - 18, _MARGIN)
    reach, bottom = brush.legend(_MARGIN, root.height + 2 * _MARGIN, max(root.width, 640) + _MARGIN)
    width = max(root.width + _MARGIN, reach, text_width(design.about, 12) + _MARGIN) + _MARGIN
    height = bottom + _MARGIN
    title = [
        text_element(_MARGIN, _MARGIN + 4, design.name, 18, weight="bold"),
        text_element(_MARGIN, _MARGIN + 22, design.about, 12, fill=_FAINT),
    ]
    markers = "".join(
        f'<marker id="to-{at}" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="8" markerHeight="8" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path d="M0,0.8 L8,4 L0,7.2 Z" fill="{_wire_ink(at)}"/></marker>\n'
        for at in range(len(protocols))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f"font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n<title>{html.escape(design.name)}</title>\n"
        f'<defs>\n{markers}</defs>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
        + "".join(title + brush.lines)
        + "</svg>\n"
    )


def _length(ends: tuple[tuple[int, int], tuple[int, int]]) -> int:
    (ax, ay), (bx, by) = ends
    return abs(ax - bx) + abs(ay - by)


def _wire_ink(at: int) -> str:
    return _WIRES[at % len(_WIRES)]


def text_element(
    x: int, y: int, text: str, size: int, *, anchor: str = "start", fill: str = _INK, weight: str = ""
) -> str:
    """A text element of an SVG file, or an empty string if there is no text."""
    if not text:
        return ""
    more = f' text-anchor="{anchor}"' if anchor != "start" else ""
    more += f' font-weight="{weight}"' if weight else ""
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}"{more}>{html.escape(text)}</text>\n'


class _Brush:
    def __init__(self, design: Design, protocols: list[str], loads: Loads) -> None:
        self.loads = loads
        self.lines: list[str] = []
        self.clocks = {name: _CLOCKS[at % len(_CLOCKS)] for at, name in enumerate(sorted(design.clocks))}
        self.frequencies = design.clocks
        self.protocols = protocols

    def inside(self, box: Box, x: int, y: int) -> None:
        """Everything inside a box whose corner is at (x, y): boxes first, then the wires over them."""
        for inner in box.inner:
            if inner.edge is None:
                self.box(inner, x + inner.x, y + inner.y)
        for wire in box.wires:
            self.wire(wire, x, y)
        for wire in box.wires:
            self.notes(wire, x, y)
        for inner in box.inner:
            if inner.edge is None:
                self.pins(inner, x + inner.x, y + inner.y)

    def box(self, box: Box, x: int, y: int) -> None:
        """Draw a box with its title and contents."""
        fill, border = self.clocks.get(box.clock, ("#f6f7f8", "#8b95a0"))
        load = self.loads.parts.get(plain(box.path))
        if load is not None and not box.inner:
            fill = heat(load)
        dashes = ' stroke-dasharray="5 3"' if box.inner else ""
        for behind in (8, 4, 0) if box.copies > 1 else (0,):
            self.lines.append(
                f'<rect x="{x + behind}" y="{y - behind}" width="{box.width}" height="{box.height}" rx="5" '
                f'fill="{fill}" stroke="{border}" stroke-width="1.2"{dashes}/>\n'
            )
        middle = x + box.width // 2
        name = f"{box.name} × {box.copies}" if box.copies else box.name  # noqa: RUF001  a times sign is meant
        self.lines.append(text_element(middle, y + 19, name, 14, anchor="middle", weight="bold"))
        self.lines.append(text_element(middle, y + 34, box.module, 11, anchor="middle", fill=_FAINT))
        if load is not None:
            self.percent(load, x + box.width - 4, y)
        if box.inner:
            self.inside(box, x, y)

    def pins(self, box: Box, x: int, y: int) -> None:
        """Draw the ports of a box: a dot on its border and a name beside it, within the box."""
        for pin in box.pins.values():
            at = x if pin.is_left else x + box.width
            self.lines.append(f'<circle cx="{at}" cy="{y + pin.y}" r="2.6" fill="#ffffff" stroke="{_INK}"/>\n')
            beside, anchor = (at + 7, "start") if pin.is_left else (at - 7, "end")
            lift = -4 if box.inner else 4  # within a group the wire continues, and the name is above it
            self.lines.append(text_element(beside, y + pin.y + lift, pin.label, 10, anchor=anchor))

    def wire(self, wire: Wire, x: int, y: int) -> None:
        """Draw a wire with an arrow at the responder or receiver. Its white border separates crossing wires."""
        at = self.protocols.index(wire.protocol)
        points = " ".join(f"{x + px},{y + py}" for px, py in wire.points)
        width = 2 if wire.count > 1 else 1.2
        self.lines.append(f'<polyline points="{points}" fill="none" stroke="#ffffff" stroke-width="4.5"/>\n')
        marker = f' marker-end="url(#to-{at})"' if wire.target.edge is None else ""
        load = self.loads.of_wire(wire)
        if load is not None:
            self.lines.append(f'<polyline points="{points}" fill="none" stroke="{heat(load)}" stroke-width="7"/>\n')
        self.lines.append(
            f'<polyline points="{points}" fill="none" stroke="{_wire_ink(at)}" stroke-width="{width}"{marker}/>\n'
        )
        if load is not None:
            (ax, ay), (bx, by) = max(zip(wire.points, wire.points[1:], strict=False), key=_length)
            self.percent(load, x + (ax + bx) // 2 + 20, y + (ay + by) // 2)

    def percent(self, load: float, right: int, middle: int) -> None:
        """Draw a label with a share of time."""
        text = f"{100 * load:.0f} %"
        width = text_width(text, 10) + 8
        self.lines.append(
            f'<rect x="{right - width}" y="{middle - 8}" width="{width}" height="16" rx="8" fill="{heat(load)}" '
            f'stroke="{_INK}" stroke-width="0.8"/>\n'
        )
        self.lines.append(text_element(right - width // 2, middle + 4, text, 10, anchor="middle"))

    def notes(self, wire: Wire, x: int, y: int) -> None:
        """At the start of a wire: the number of wires that it stands for, and its latency if it is not one cycle."""
        notes = [f"{wire.count}"] if wire.count > 1 else []
        notes += [f"{wire.latency} cycles"] if wire.latency != 1 else []
        if not notes or wire.source.edge is not None:
            return
        ink = _wire_ink(self.protocols.index(wire.protocol))
        (ax, ay), (bx, _) = wire.points[0], wire.points[1]
        towards = 1 if bx > ax else -1
        if wire.count > 1:
            stroke = x + ax + 10 * towards
            path = f"M{stroke - 3},{y + ay + 5} L{stroke + 3},{y + ay - 5}"
            self.lines.append(f'<path d="{path}" stroke="{ink}" stroke-width="1.2"/>\n')
        beside, anchor = x + ax + 13 * towards, "start" if towards > 0 else "end"
        self.lines.append(text_element(beside, y + ay - 4, ", ".join(notes), 9, anchor=anchor, fill=ink))

    def legend(self, left: int, y: int, right: int) -> tuple[int, int]:
        """Clocks and protocols with their colours, in rows that end at `right`; returns the right and lower ends."""
        x = reach = left

        def room(width: int) -> int:
            """X coordinate of the next item of this width."""
            nonlocal x, y, reach
            if x > left and x + width > right:
                x, y = left, y + 20
            begin, x = x, x + width + 18
            reach = max(reach, begin + width)
            return begin

        for name, (fill, border) in self.clocks.items():
            label = f"{name}, {self.frequencies[name]}"
            at = room(24 + text_width(label, 11))
            self.lines.append(
                f'<rect x="{at}" y="{y}" width="18" height="12" rx="2" fill="{fill}" stroke="{border}" '
                'stroke-width="1.2"/>\n'
            )
            self.lines.append(text_element(at + 24, y + 10, label, 11))
        if self.protocols and self.clocks:
            x = right  # a row of their own
        for number, protocol in enumerate(self.protocols):
            at = room(32 + text_width(protocol, 11))
            self.lines.append(
                f'<polyline points="{at},{y + 6} {at + 26},{y + 6}" stroke="{_wire_ink(number)}" stroke-width="1.4" '
                f'marker-end="url(#to-{number})"/>\n'
            )
            self.lines.append(text_element(at + 32, y + 10, protocol, 11))
        if self.loads.parts or self.loads.ports:
            note = "Yellow to red, with percentages: share of time for which the part or the connection was busy."
            at, y = left, y + 22
            self.lines.append(text_element(at, y + 10, note, 11))
            reach = max(reach, at + text_width(note, 11))
        return reach, y + 12
