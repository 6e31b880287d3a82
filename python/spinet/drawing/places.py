# SPDX-License-Identifier: Apache-2.0
"""Coordinates: sizes of boxes, rows of columns, and the tracks of wires between them."""

from __future__ import annotations

import itertools

from spinet.drawing import layers
from spinet.drawing.boxes import Box
from spinet.drawing.layers import Columns, Route, Slot, Stop

HEAD = 44
"""Height of a title, with the name and the module."""
PIN = 17
"""Distance from one pin to the next."""
TRACK = 11
"""Distance from one wire to the next."""
_GAP = 26
_BEND = 18
_PAD = 18
_SWEEPS = 24


def text_width(text: str, size: int) -> int:
    """Width of a text in Helvetica or a similar font, estimated on the large side."""
    narrow, wide = set("iljtfrI.,:;[]()/ "), set("mwMW_")
    thousandths = sum(310 if char in narrow else 860 if char in wide else 590 for char in text)
    return thousandths * size // 1000 + 1


def place(box: Box) -> None:
    """Give everything inside a box its place, and the box its size."""
    found = layers.columns(box)
    for inner in box.inner:
        if inner.inner:
            place(inner)
        else:
            _size(inner)
    for column in found.slots:
        for slot in column:
            slot.height = slot.box.height if slot.box else TRACK
    _rows(found)
    _draw(box, found)


def _size(box: Box) -> None:
    if box.edge is not None:
        box.width, box.height = text_width(box.edge.label, 10) + 14, PIN
        box.pins[""].y = PIN // 2
        return
    sides = [[pin for pin in box.pins.values() if pin.is_left is is_left] for is_left in (True, False)]
    for pins in sides:
        pins.sort(key=lambda pin: pin.order)
        for rank, pin in enumerate(pins):
            pin.y = HEAD + PIN // 2 + rank * PIN
    left, right = (max((text_width(pin.label, 10) for pin in pins), default=0) for pins in sides)
    title = max(
        text_width(box.name, 14) + (text_width(f" x {box.copies}", 14) if box.copies else 0), text_width(box.module, 11)
    )
    box.width = (max(title + 24, left + right + 40, 96) + 9) // 10 * 10
    rows = max(len(pins) for pins in sides)
    box.height = HEAD + (rows * PIN + 8 if rows else 0)


def _offset(slot: Slot, stop: Stop) -> int:
    return stop.pin.y if slot.box is not None and stop.pin is not None else TRACK // 2


def _rows(found: Columns) -> None:
    """Give each slot its row: near its neighbours, in the order of its column."""
    slot_of = {id(stop): slot for column in found.slots for slot in column for stop in slot.stops}
    near: dict[int, list[tuple[Stop, Stop]]] = {}
    for route in found.routes:
        for left, right in itertools.pairwise(route.stops):
            if left.layer != right.layer:
                near.setdefault(id(slot_of[id(left)]), []).append((left, right))
                near.setdefault(id(slot_of[id(right)]), []).append((right, left))
    for column in found.slots:
        top = 0
        for slot, after in itertools.zip_longest(column, column[1:]):
            slot.y = top
            top += slot.height + (_space(slot, after) if after else 0)

    def goals(slot: Slot, pairs: list[tuple[Stop, Stop]]) -> list[int]:
        """Rows of a slot in which one of these wires would be straight."""
        others = [(own, other, slot_of[id(other)]) for own, other in pairs]
        return sorted(at.y + _offset(at, other) - _offset(slot, own) for own, other, at in others)

    for sweep in range(_SWEEPS):
        forwards, both = sweep % 2 == 0, sweep >= _SWEEPS - 8
        for column in found.slots if forwards else found.slots[::-1]:
            wishes = []
            for slot in column:
                pairs = near.get(id(slot), [])
                rows = goals(slot, [pair for pair in pairs if both or (pair[1].layer < pair[0].layer) is forwards])
                # First the mean, for a rough position; then the median, so that at least one wire is straight.
                wish = (rows[len(rows) // 2] if both else sum(rows) // len(rows)) if rows else slot.y
                wishes.append((wish, len(rows) * (4 if slot.box is None else 1)))
            _settle(column, wishes)
    for column in 4 * [*found.slots, *found.slots[::-1]]:
        for above, slot, below in zip([None, *column], column, [*column[1:], None], strict=False):
            _straighten(slot, goals(slot, near.get(id(slot), [])), above, below)
    top = min((slot.y for column in found.slots for slot in column), default=0)
    for column in found.slots:
        for slot in column:
            slot.y -= top


def _straighten(slot: Slot, rows: list[int], above: Slot | None, below: Slot | None) -> None:
    """Move a slot within its free space, so that more of its wires are straight."""
    least = above.y + above.height + _space(above, slot) if above else slot.y - 10 * _GAP
    most = below.y - slot.height - _space(slot, below) if below else slot.y + 10 * _GAP
    free = [row for row in rows if least <= row <= most]
    best = max(free, key=lambda row: (rows.count(row), -abs(row - slot.y)), default=slot.y)
    if rows.count(best) > rows.count(slot.y):
        slot.y = best


def _space(above: Slot, below: Slot) -> int:
    """Least space between two slots of a column."""
    thin = [slot.box is None or slot.box.edge is not None for slot in (above, below)]
    return 0 if all(thin) else _GAP // 2 if any(thin) else _GAP


def _settle(column: list[Slot], wishes: list[tuple[int, int]]) -> None:
    """Move slots to the rows closest to the desired ones (least squares) that keep order and spaces.

    The algorithm is pool adjacent violators.
    """
    tops = [0]
    for above, below in itertools.pairwise(column):
        tops.append(tops[-1] + above.height + _space(above, below))
    pools: list[list[int]] = []  # sum of weighted wishes, weight, how many slots
    for (wish, weight), top in zip(wishes, tops, strict=True):
        heavy = weight * 100 + 1  # a slot without a desired row moves for all others
        pools.append([(wish - top) * heavy, heavy, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    at = 0
    for total, weight, count in pools:
        for slot, top in zip(column[at : at + count], tops[at : at + count], strict=True):
            slot.y = total // weight + top
        at += count


def _draw(box: Box, found: Columns) -> None:
    """Columns from left to right with channels between them, in which wires change their row."""
    has_edges = [any(slot.box and slot.box.edge for slot in column) for column in found.slots]
    x = 0 if has_edges and has_edges[0] else _PAD
    slot_of = {id(stop): slot for column in found.slots for slot in column for stop in slot.stops}
    height = max((slot.y + slot.height for column in found.slots for slot in column), default=0)
    tracks = [_tracks(found.routes, layer, slot_of) for layer in range(len(found.slots))]
    columns: list[tuple[int, int]] = []
    for layer, column in enumerate(found.slots):
        width = max((slot.box.width for slot in column if slot.box), default=0)
        columns.append((x, width))
        for slot in column:
            if slot.box is not None:
                edge = slot.box.edge
                spare = width - slot.box.width
                slot.box.x = x + (spare // 2 if edge is None else 0 if edge.is_left else spare)
                slot.box.y = slot.y + HEAD
        n = max(tracks[layer].values(), default=-1) + 1
        is_last = layer == len(found.slots) - 1
        x += width + (n * TRACK + (2 * _BEND if n else 0) if is_last else max(n, 1) * TRACK + 2 * _BEND)
    box.width = x if has_edges and has_edges[-1] else x + _PAD
    box.height = HEAD + height + _PAD
    title = max(text_width(box.name, 14), text_width(box.module, 11)) + 60
    if title > box.width and box.path:
        _widen(box, title - box.width, columns)
    for route in found.routes:
        _lead(route, columns, tracks, slot_of)
    for inner in box.inner:
        if inner.edge is not None:
            inner.edge.y = inner.y + PIN // 2


def _widen(box: Box, by: int, columns: list[tuple[int, int]]) -> None:
    """Make a box wider for its title: its contents move to the middle, edges stay at their borders."""
    box.width += by
    for inner in box.inner:
        if inner.edge is None:
            inner.x += by // 2
        elif not inner.edge.is_left:
            inner.x += by
    for layer, (x, width) in enumerate(columns):
        members = [inner for inner in box.inner if inner.layer == layer]
        edges = bool(members) and all(inner.edge is not None for inner in members)
        move = by // 2 if not edges else 0 if layer == 0 else by
        columns[layer] = (x + move, width)


def _tracks(routes: list[Route], layer: int, slot_of: dict[int, Slot]) -> dict[int, int]:
    """The track on which each wire changes its row right of a column; wires that overlap there have different ones."""
    runs = []
    for route in routes:
        for left, right in itertools.pairwise(route.stops):
            if left.layer == layer:
                a, b = (slot_of[id(stop)].y + _offset(slot_of[id(stop)], stop) for stop in (left, right))
                if a != b or right.layer == layer:
                    runs.append((a, b, route))
    # Wires that go down change rows in order from the lowest, those that go up from the highest, so they do not cross.
    down = sorted((run for run in runs if run[1] > run[0]), key=lambda run: -run[0])
    up = sorted((run for run in runs if run[1] <= run[0]), key=lambda run: run[0])
    found: dict[int, int] = {}
    taken: list[tuple[int, int, int]] = []
    for a, b, route in down + up:
        low, high = min(a, b) - 4, max(a, b) + 4
        track = max((at + 1 for at, first, last in taken if first <= high and low <= last), default=0)
        found[id(route)] = track
        taken.append((track, low, high))
    return found


def _lead(route: Route, columns: list[tuple[int, int]], tracks: list[dict[int, int]], slot_of: dict[int, Slot]) -> None:
    points = []
    for at, stop in enumerate(route.stops):
        slot = slot_of[id(stop)]
        y = slot.y + _offset(slot, stop) + HEAD
        x, width = columns[stop.layer]
        if stop.box is not None:
            is_loop = at > 0 and route.stops[at - 1].layer == stop.layer
            is_at_left = at > 0 and not is_loop
            if stop.box.edge is not None:
                is_at_left = not is_at_left  # a wire goes through to the border
            points.append((stop.box.x if is_at_left else stop.box.x + stop.box.width, y))
        else:
            points.append((x, y))
        if at + 1 < len(route.stops):
            after = route.stops[at + 1]
            turn = slot_of[id(after)].y + _offset(slot_of[id(after)], after) + HEAD
            if id(route) in tracks[stop.layer] and (turn != y or after.layer == stop.layer):
                track = x + width + _BEND + tracks[stop.layer][id(route)] * TRACK
                points += [(track, y), (track, turn)]
    route.wire.points = points[::-1] if route.wire.is_backward else points
