# SPDX-License-Identifier: Apache-2.0
"""Converts a design to boxes within boxes, with the wires between them."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet.wiring import Design


@dataclass(eq=False)
class Pin:
    """A port of a box, or several with one wire."""

    base: str
    order: int
    names: set[str] = field(default_factory=set)
    is_left: bool = False
    y: int = 0
    """Distance from the top of its box, set by `places`."""

    @property
    def label(self) -> str:
        """Its name, for an array with the range of its members: `requesters[4..6]`."""
        numbers = sorted(int(name[len(self.base) + 1 : -1]) for name in self.names if name != self.base)
        if not numbers:
            return self.base
        if len(numbers) == 1:
            return f"{self.base}[{numbers[0]}]"
        gaps = numbers != list(range(numbers[0], numbers[-1] + 1))
        return f"{self.base}[...]" if gaps else f"{self.base}[{numbers[0]}..{numbers[-1] + 1}]"


@dataclass(eq=False)
class Box:
    """A part, an instance of a module with boxes inside, or an edge, where a wire crosses the border around it."""

    path: str
    name: str
    module: str = ""
    clock: str = ""
    copies: int = 0
    """Number of copies, if it is an array."""
    edge: Pin | None = None
    """For a port at an edge: the pin of the surrounding box."""
    inner: list[Box] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    """Wires between the boxes inside."""
    pins: dict[str, Pin] = field(default_factory=dict)
    layer: int = 0
    x: int = 0
    y: int = 0
    width: int = 0
    height: int = 0


@dataclass(eq=False)
class Wire:
    """A connection between two boxes with the same parent, or `count` connections drawn as one."""

    source: Box
    source_pin: Pin
    target: Box
    target_pin: Pin
    protocol: str
    latency: int
    count: int = 0
    is_backward: bool = False
    points: list[tuple[int, int]] = field(default_factory=list)
    """Coordinates in the box around both ends, set by `places`."""


def tree(design: Design) -> Box:
    """The card as one box with all others inside. An array is one box, unless its copies are wired to each other."""
    return _Tree(design).root


def _base(name: str) -> str:
    return re.sub(r"\[\d+\]$", "", name)


def _plain(path: str) -> str:
    """A path without the numbers of its arrays."""
    return re.sub(r"\[\d+\]", "[]", path)


class _Tree:
    def __init__(self, design: Design) -> None:
        self.root = Box("", design.name)
        self.part_of = {f"{part.path}.{port.name}": part.path for part in design.parts for port in part.ports}
        self.order = {f"{part.path}.{port.name}": at for part in design.parts for at, port in enumerate(part.ports)}
        self.shown = {(group.path, inner): name for group in design.groups for name, inner in group.ports.items()}
        self.tangled = self._tangled(design)
        self.boxes: dict[str, Box] = {"": self.root}
        self.instances: dict[str, set[str]] = {"": {""}}
        """Paths of the parts that a box stands for, by the box's own path."""
        for group in design.groups:
            self._box(group.path, group.module, "")
        for part in design.parts:
            self._box(part.path, part.module, part.clock)
        for path, box in self.boxes.items():
            if path.endswith("[]"):
                box.copies = len(self.instances[path]) // len(self.instances[path.rpartition(".")[0]])
        self._sort(design)
        self._wire(design)

    def _tangled(self, design: Design) -> set[str]:
        """Arrays of which one copy is wired to another."""
        found = set()
        for wire in design.connections:
            source, target = (self.part_of[path].split(".") for path in (wire.source, wire.target))
            for depth, (a, b) in enumerate(zip(source, target, strict=False)):
                if a != b:
                    if _plain(a) == _plain(b):
                        found.add(_plain(".".join(source[: depth + 1])))
                    break
        return found

    def _merged(self, path: str) -> str:
        """The path of the box for a part or a group."""
        names: list[str] = []
        for name in path.split("."):
            merged = _plain(name)
            names.append(name if _plain(".".join([*names, merged])) in self.tangled else merged)
        return ".".join(names)

    def _box(self, path: str, module: str, clock: str) -> None:
        merged = self._merged(path)
        self.instances.setdefault(merged, set()).add(path)
        if merged not in self.boxes:
            around, _, name = merged.rpartition(".")
            self.boxes[merged] = Box(merged, name.removesuffix("[]"), module, clock)
            self.boxes[around].inner.append(self.boxes[merged])

    def _sort(self, design: Design) -> None:
        """Boxes inside a box stand in the order of the file."""
        first: dict[str, int] = {}
        for at, part in enumerate(design.parts):
            names = self._merged(part.path).split(".")
            for depth in range(len(names)):
                first.setdefault(".".join(names[: depth + 1]), at)
        for box in self.boxes.values():
            box.inner.sort(key=lambda inner: first.get(inner.path, len(design.parts)))

    def _wire(self, design: Design) -> None:
        """Lead every connection through the borders of the boxes around its ends."""
        bundles: dict[tuple[int, int, str, int], Wire] = {}
        for wire in design.connections:
            a, b = self.part_of[wire.source], self.part_of[wire.target]
            up = self._chain(a, wire.source, b, wire.target)
            down = self._chain(b, wire.target, a, wire.source)
            hops = [(around, end, self._edge(around, outer)) for end, (around, outer) in itertools.pairwise(up)]
            middle = self.boxes[up[-1][0].path.rpartition(".")[0]]
            hops.append((middle, up[-1], down[-1]))
            hops += [(around, self._edge(around, outer), end) for end, (around, outer) in itertools.pairwise(down)]
            for around, (source, source_pin), (target, target_pin) in hops:
                key = (id(source_pin), id(target_pin), wire.protocol, wire.latency)
                if key not in bundles:
                    bundles[key] = Wire(source, source_pin, target, target_pin, wire.protocol, wire.latency)
                    around.wires.append(bundles[key])
                bundles[key].count += 1
        for box in self.boxes.values():
            for bundle in box.wires:
                bundle.count //= len(self.instances[box.path])

    def _chain(self, part: str, port: str, other: str, peer: str) -> list[tuple[Box, Pin]]:
        """The boxes around a port, up to the one with the same parent as the other end, each with its pin."""
        names, others = part.split("."), other.split(".")
        shared = 0
        while shared < min(len(names), len(others)) - 1 and names[shared] == others[shared]:
            shared += 1
        towards = f"{self._merged(other)}.{_base(peer[len(other) + 1 :])}"
        found = []
        for depth in range(len(names), shared, -1):
            path = ".".join(names[:depth])
            name = port[len(part) + 1 :] if depth == len(names) else self.shown[path, port]
            box = self.boxes[self._merged(path)]
            pin = box.pins.setdefault(f"{_base(name)} {towards}", Pin(_base(name), self.order[port]))
            pin.names.add(name)
            found.append((box, pin))
        return found

    def _edge(self, around: Box, pin: Pin) -> tuple[Box, Pin]:
        """Where a wire inside a box goes to its border."""
        for inner in around.inner:
            if inner.edge is pin:
                return inner, inner.pins[""]
        edge = Box(f"{around.path}. {pin.base}", "", edge=pin, pins={"": Pin("", pin.order)})
        around.inner.append(edge)
        return edge, edge.pins[""]
