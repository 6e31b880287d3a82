# SPDX-License-Identifier: Apache-2.0
"""Assigns boxes to columns, and orders them within a column: Sugiyama's method, for a few dozen boxes.

Source: Sugiyama, Tagawa, Toda: Methods for visual understanding of hierarchical system structures, 1981.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spinet.drawing.boxes import Box, Pin, Wire

_SWEEPS = 12


@dataclass(eq=False)
class Stop:
    """Where a wire passes a column: at a pin of a box, or, without a box, between boxes."""

    box: Box | None
    pin: Pin | None
    layer: int
    y: int = 0
    """Set by `places`."""


@dataclass(eq=False)
class Slot:
    """An item of a column: a box, or a passing wire."""

    box: Box | None
    stops: list[Stop] = field(default_factory=list)
    """One stop for a passing wire."""
    y: int = 0
    height: int = 0


@dataclass(eq=False)
class Route:
    """A wire, from left to right: its stops in column after column. A loop begins and ends at the right of one box."""

    wire: Wire
    stops: list[Stop]


@dataclass(eq=False)
class Columns:
    """Columns of slots from above to below, and the wires between them."""

    slots: list[list[Slot]]
    routes: list[Route]


def columns(box: Box) -> Columns:
    """Arrange the contents of a box."""
    _number(box)
    slots: list[list[Slot]] = [[] for _ in range(max((inner.layer for inner in box.inner), default=0) + 1)]
    slot_of: dict[int, Slot] = {}
    for inner in box.inner:
        slot_of[id(inner)] = Slot(inner)
        slots[inner.layer].append(slot_of[id(inner)])
    routes = []
    for wire in box.wires:
        ends = [(wire.source, wire.source_pin), (wire.target, wire.target_pin)]
        wire.is_backward = wire.source.layer > wire.target.layer
        (left, left_pin), (right, right_pin) = reversed(ends) if wire.is_backward else ends
        left_pin.is_left, right_pin.is_left = False, left is not right
        stops = [Stop(left, left_pin, left.layer)]
        for layer in range(left.layer + 1, right.layer):
            stop = Stop(None, None, layer)
            slots[layer].append(Slot(None, [stop]))
            stops.append(stop)
        stops.append(Stop(right, right_pin, right.layer))
        for end in (stops[0], stops[-1]):
            assert end.box is not None
            slot_of[id(end.box)].stops.append(end)
        routes.append(Route(wire, stops))
    found = Columns(slots, routes)
    _sort(found)
    return found


def _number(box: Box) -> None:
    """Assign a column to each box: right of its requesters, unless a cycle forbids it; edges at a border."""
    inner = [each for each in box.inner if each.edge is None]
    after: dict[int, list[Box]] = {id(each): [] for each in inner}
    for wire in box.wires:
        if wire.source is not wire.target and wire.source.edge is None and wire.target.edge is None:
            after[id(wire.source)].append(wire.target)
    forward = _without_circles(inner, after)
    before: dict[int, list[Box]] = {id(each): [] for each in inner}
    for each in inner:
        for target in forward[id(each)]:
            before[id(target)].append(each)
    for each in _from_left(inner, forward):
        each.layer = max((source.layer + 1 for source in before[id(each)]), default=0)
    # A box with more wires to the right than to the left moves to the right, as far as possible.
    last = max((each.layer for each in inner), default=0)
    for _ in inner:
        for each in reversed(inner):
            targets = forward[id(each)]
            if len(targets) > len(before[id(each)]):
                each.layer = min((target.layer - 1 for target in targets), default=last)
    for each in box.inner:
        each.layer = each.layer + 1 if each.edge is None else 0 if each.edge.is_left else last + 2
    used = sorted({each.layer for each in box.inner})
    for each in box.inner:
        each.layer = used.index(each.layer)


def _without_circles(boxes: list[Box], after: dict[int, list[Box]]) -> dict[int, list[Box]]:
    """The same arrows; those that close a cycle are reversed."""
    forward: dict[int, list[Box]] = {id(box): [] for box in boxes}
    order = {id(box): at for at, box in enumerate(_by_excess(boxes, after))}
    for box in boxes:
        for target in after[id(box)]:
            if order[id(box)] < order[id(target)]:
                forward[id(box)].append(target)
            else:
                forward[id(target)].append(box)
    return forward


def _by_excess(boxes: list[Box], after: dict[int, list[Box]]) -> list[Box]:
    """An order in which few arrows point back: sinks last, sources first, then boxes with the most arrows out minus in.

    Source: Eades, Lin, Smyth: A fast and effective heuristic for the feedback arc set problem, 1993.
    """
    rest = list(boxes)
    first: list[Box] = []
    last: list[Box] = []
    while rest:
        here = {id(box) for box in rest}
        out = {id(box): sum(id(target) in here for target in after[id(box)]) for box in rest}
        into = {id(box): sum(target is box for other in rest for target in after[id(other)]) for box in rest}
        sinks = [box for box in rest if out[id(box)] == 0]
        sources = [box for box in rest if into[id(box)] == 0]
        if sinks:
            last[:0] = sinks
            taken = sinks
        elif sources:
            first += sources
            taken = sources
        else:
            taken = [max(rest, key=lambda box: out[id(box)] - into[id(box)])]
            first += taken
        rest = [box for box in rest if box not in taken]
    return first + last


def _from_left(boxes: list[Box], forward: dict[int, list[Box]]) -> list[Box]:
    """An order in which all arrows point forward."""
    found: list[Box] = []
    seen: set[int] = set()

    def visit(box: Box) -> None:
        if id(box) not in seen:
            seen.add(id(box))
            for target in forward[id(box)]:
                visit(target)
            found.append(box)

    for box in reversed(boxes):
        visit(box)
    return found[::-1]


def _sort(found: Columns) -> None:
    """Order the columns so that few wires cross: each slot goes to the mean of its neighbours, back and forth."""
    best, fewest = [list(column) for column in found.slots], _crossings(found)
    for sweep in range(_SWEEPS):
        forwards = sweep % 2 == 0
        layers = range(1, len(found.slots)) if forwards else range(len(found.slots) - 2, -1, -1)
        for layer in layers:
            places = _places(found)
            means = {id(slot): _mean(slot, found, places, forwards) for slot in found.slots[layer]}
            order = {id(slot): at for at, slot in enumerate(found.slots[layer])}
            found.slots[layer].sort(
                key=lambda slot: means[id(slot)] if means[id(slot)] >= 0 else order[id(slot)] * 1000
            )
        crossings = _crossings(found)
        if crossings < fewest:
            best, fewest = [list(column) for column in found.slots], crossings
    found.slots = best
    _sort_pins(found)


def _places(found: Columns) -> dict[int, int]:
    """How far down each stop is, in thousandths of a slot."""
    places: dict[int, int] = {}
    for column in found.slots:
        for at, slot in enumerate(column):
            orders = sorted(slot.stops, key=lambda stop: stop.pin.order if stop.pin else 0)
            for rank, stop in enumerate(orders):
                places[id(stop)] = at * 1000 + rank * 900 // len(orders)
    return places


def _neighbours(slot: Slot, found: Columns, leftwards: bool) -> list[Stop]:
    stops = []
    mine = {id(stop) for stop in slot.stops}
    for route in found.routes:
        for left, right in zip(route.stops, route.stops[1:], strict=False):
            if leftwards and id(right) in mine and left.layer != right.layer:
                stops.append(left)
            if not leftwards and id(left) in mine and left.layer != right.layer:
                stops.append(right)
    return stops


def _mean(slot: Slot, found: Columns, places: dict[int, int], leftwards: bool) -> int:
    near = [places[id(stop)] for stop in _neighbours(slot, found, leftwards)]
    return sum(near) // len(near) if near else -1


def _crossings(found: Columns) -> int:
    places = _places(found)
    n = 0
    for layer in range(len(found.slots) - 1):
        pairs = [(places[id(left)], places[id(right)]) for route in found.routes
                 for left, right in zip(route.stops, route.stops[1:], strict=False)
                 if left.layer == layer and right.layer == layer + 1]  # fmt: skip
        n += sum((a - c) * (b - d) < 0 for at, (a, b) in enumerate(pairs) for c, d in pairs[:at])
    return n


def _sort_pins(found: Columns) -> None:
    """Sort the pins of each box in the order of the boxes that they lead to."""
    for _ in range(3):
        places = _places(found)
        for column in found.slots:
            for slot in column:
                if slot.box is None:
                    continue
                goal: dict[int, tuple[int, int]] = {}
                for route in found.routes:
                    for left, right in zip(route.stops, route.stops[1:], strict=False):
                        for stop, other in ((left, right), (right, left)):
                            if stop.box is slot.box and stop.pin is not None:
                                goal[id(stop.pin)] = (places[id(other)], stop.pin.order)
                pins = sorted(slot.box.pins.values(), key=lambda pin: goal.get(id(pin), (0, pin.order)))
                for rank, pin in enumerate(pins):
                    pin.order = rank
