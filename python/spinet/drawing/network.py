# SPDX-License-Identifier: Apache-2.0
"""Drawings of networks: nodes, switches and links, with their load after a run. All coordinates are integers.

A torus is drawn as a grid, a dragonfly as a circle of groups, and any other network as rows of switches above their
nodes. If there are many nodes, they are in columns under their switch, beside a line that branches to each of them.
"""

from __future__ import annotations

import html
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from spinet.drawing.loads import heat
from spinet.drawing.paint import text_element
from spinet.drawing.places import text_width

_INK, _FAINT = "#20262e", "#5c6670"
# Fill and border of nodes by kind of card, and of switches. Fills are light enough for black text.
_KINDS = {
    "plain": ("#f1f3f5", "#8b95a0"),
    "handlers": ("#dbe9f8", "#4a7fb5"),
    "chains": ("#dff0dd", "#4f9153"),
    "modules": ("#fdebd0", "#c8852b"),
}
_OTHER = ("#f3dff0", "#9a5a92")
_SWITCH = ("#ffffff", "#20262e")
# Colours of links: the most frequent properties first; the last colour is for all others.
_LINKS = ("#7b8794", "#1f6fb4", "#c0561f", "#3b8c4a", "#8e4fa0", "#8a7420")
_MARGIN, _GAP, _CHIP, _PITCH, _SWITCH_HEIGHT, _ROW = 24, 18, 22, 26, 26, 110
_MOST_IN_ROW = 17  # most nodes that are drawn side by side
_MOST_LABELS = 12
_MOST_IN_COLUMN = 16


@dataclass
class _Spot:
    """A node or switch on the page."""

    name: str
    about: str
    fill: str
    border: str
    width: int
    height: int
    x: int = 0
    y: int = 0
    badge: str = ""
    faint: bool = False

    @property
    def middle(self) -> tuple[int, int]:
        return self.x + self.width // 2, self.y + self.height // 2


@dataclass
class _Edge:
    """A link; `load` is the share of time for which its busier direction was busy."""

    ends: tuple[str, str]
    ink: str
    about: str
    load: float | None = None
    label: str = ""


@dataclass
class _Page:
    spots: dict[str, _Spot] = field(default_factory=dict)
    edges: list[_Edge] = field(default_factory=list)
    # Nodes in columns under their switch, by switch.
    hosts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    groups: list[tuple[int, int, int, int, str]] = field(default_factory=list)
    is_loaded: bool = False


def svg(overview: Mapping[str, Any], *, title: str, summary: Mapping[str, Any] | None = None) -> str:
    """The drawing of a network, as the text of an SVG file.

    Parameters
    ----------
    overview
        The values that `spinet net show --json` prints.
    title
        Title above the drawing.
    summary
        The summary of a run, whose loads, drops and pauses the drawing shows.
    """
    page = _page(overview, summary)
    if overview["topology"] == "torus":
        _grid(page, overview["switches"])
    elif overview["topology"] == "dragonfly":
        _circle(page, overview["switches"])
    else:
        _rows(page, overview)
    return _paint(page, overview, title)


def rate(bps: int | None) -> str:
    """A rate as text.

    >>> rate(400_000_000_000), rate(2_500_000), rate(None)
    ('400 Gbit/s', '2.5 Mbit/s', 'no rate')
    """
    if bps is None:
        return "no rate"
    for size, unit in ((10**12, "Tbit/s"), (10**9, "Gbit/s"), (10**6, "Mbit/s"), (10**3, "kbit/s")):
        if bps >= size:
            return f"{bps / size:g} {unit}"
    return f"{bps} bit/s"


def time(ns: float) -> str:
    """A time as text.

    >>> time(500.0), time(2500.0)
    ('500 ns', '2.5 us')
    """
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{ns / size:g} {unit}"
    return f"{ns:g} ns"


def _class_of(link: Mapping[str, Any]) -> str:
    there, back = rate(link["rate_bps"]), rate(link["rate_back_bps"])
    return f"{there if there == back else f'{there} and {back} back'}, {time(link['delay_ns'])}"


def _page(overview: Mapping[str, Any], summary: Mapping[str, Any] | None) -> _Page:
    page = _Page(is_loaded=summary is not None)
    dropped = {one["name"]: one for one in summary["switches"]} if summary else {}
    for node in overview["nodes"]:
        fill, border = _KINDS.get(node["kind"], _OTHER)
        width = max(text_width(node["name"], 11) + 14, 44)
        about = f"{node['name']}: {node['nic']}, {node['ip']}"
        page.spots[node["name"]] = _Spot(node["name"], about, fill, border, width, _CHIP)
    linked = Counter(end for link in overview["links"] for end in (link["from"], link["to"]))
    attached = {end for link in overview["links"] for end in (link["from"], link["to"]) if end in page.spots}
    for name in overview["switches"]:
        found = dropped.get(name)
        badge = f"{found['dropped']:,} dropped" if found and found["dropped"] else ""
        about = f"{name}: switch with {linked[name]} links"
        if found:
            about += (
                f"; {found['dropped']:,} dropped, {found['marked']:,} marked, {found['pauses']:,} pauses, at most "
                f"{found['deepest_queue_bytes']:,} bytes in a queue"
            )
        if found and found["pauses"]:
            badge += f"{', ' if badge else ''}{found['pauses']:,} pauses"
        spot = _Spot(name, about, *_SWITCH, max(text_width(name, 11) + 14, 44), _SWITCH_HEIGHT, badge=badge)
        spot.faint = not linked[name]
        page.spots[name] = spot
    classes = [name for name, _ in Counter(_class_of(link) for link in overview["links"]).most_common()]
    loads: dict[tuple[str, str], dict[str, Any]] = {}
    for one in summary["links"] if summary else ():
        loads[one["name"], one["from"]] = one
    for link in overview["links"]:
        at = classes.index(_class_of(link))
        there, back = loads.get((link["name"], link["from"])), loads.get((link["name"], link["to"]))
        edge = _Edge((link["from"], link["to"]), _LINKS[min(at, len(_LINKS) - 1)], f"{link['name']}: {_class_of(link)}")
        ways = [one for one in (there, back) if one is not None]
        if ways:
            edge.load = max(one["utilisation"] for one in ways)
            for one in ways:
                edge.about += (
                    f"\n{one['from']} to {one['to']}: {100 * one['utilisation']:.1f} % busy, {one['frames']:,} frames"
                    + (f", {one['lost']:,} lost" if one["lost"] else "")
                    + (f", {one['pauses']:,} pauses" if one["pauses"] else "")
                )
        elif at > 0:
            edge.label = _class_of(link).split(",")[0]
        page.edges.append(edge)
    if page.is_loaded:
        busiest = sorted(page.edges, key=lambda edge: -(edge.load or 0))[:_MOST_LABELS]
        for edge in busiest:
            if (edge.load or 0) >= 0.005:
                edge.label = f"{100 * (edge.load or 0):.0f} %"
    # A node is drawn under its switch if it has no other link.
    switches = set(overview["switches"])
    for edge in page.edges:
        for node, switch in (edge.ends, edge.ends[::-1]):
            if node in attached and linked[node] == 1 and switch in switches:
                page.hosts[switch].append(node)
    for hosts in page.hosts.values():
        order = {node["name"]: at for at, node in enumerate(overview["nodes"])}
        hosts.sort(key=order.__getitem__)
    return page


def _panel(page: _Page, switch: str, columns: int) -> tuple[int, int]:
    """Width and height of the columns of nodes under a switch."""
    hosts = page.hosts.get(switch, [])
    if not hosts:
        return 0, 0
    wide = max(page.spots[host].width for host in hosts)
    for host in hosts:
        page.spots[host].width = wide
    room = wide + 12 + (38 if page.is_loaded else 6)
    per_column = math.ceil(len(hosts) / columns)
    return columns * room, per_column * _PITCH


def _columns(n_hosts: int) -> int:
    return max(1, math.ceil(n_hosts / _MOST_IN_COLUMN))


def _put(page: _Page, switch: str, x: int, y: int) -> None:
    """Put the nodes of a switch in columns whose upper left corner is at (x, y)."""
    hosts = page.hosts.get(switch, [])
    columns = _columns(len(hosts))
    width, _ = _panel(page, switch, columns)
    per_column = math.ceil(len(hosts) / columns) if hosts else 1
    for at, host in enumerate(hosts):
        spot = page.spots[host]
        spot.x, spot.y = x + at // per_column * (width // columns) + 12, y + at % per_column * _PITCH


def _rows(page: _Page, overview: Mapping[str, Any]) -> None:
    """Switches in rows by their distance from nodes; nodes below."""
    switches: Sequence[str] = overview["switches"]
    nodes = [node["name"] for node in overview["nodes"]]
    peers: dict[str, list[str]] = defaultdict(list)
    for edge in page.edges:
        peers[edge.ends[0]].append(edge.ends[1])
        peers[edge.ends[1]].append(edge.ends[0])
    level = dict.fromkeys(nodes, 0)
    front = nodes
    while front:
        found = list(dict.fromkeys(peer for one in front for peer in peers[one] if peer not in level))
        for one in found:
            level[one] = level[front[0]] + 1
        front = found
    for name in switches:
        level.setdefault(name, 1)
        if overview["topology"] == "fat-tree":  # switches without nodes have a level, too
            level[name] = _level(name)
    by_level: dict[int, list[str]] = defaultdict(list)
    for name in switches:
        by_level[level[name]].append(name)
    hosted = {host for hosts in page.hosts.values() for host in hosts}
    free = [name for name in nodes if name not in hosted]
    in_row = len(nodes) <= _MOST_IN_ROW
    if in_row:
        page.hosts.clear()
        free = nodes
    # Place the rows, the lowest first.
    widths = {name: _width(page, name) for name in switches}
    top = max(by_level, default=0)
    bottom_width = _GAP * max(len(free) - 1, 0) + sum(page.spots[name].width for name in free)
    spans = [sum(widths[name] + _GAP for name in names) for names in by_level.values()]
    total = max([bottom_width, *spans, 320])
    base = _MARGIN + 64 + top * _ROW
    panels = max((_panel(page, name, _columns(len(page.hosts.get(name, []))))[1] for name in switches), default=0)
    _spread(page, free, _MARGIN, total, base + (panels + 30 if panels else 0), dict.fromkeys(free, 0))
    for height in range(1, top + 1):
        names = by_level[height]
        if height > 1 or in_row:
            centers = {name: _center(page, peers[name], level, height) for name in names}
            names = sorted(names, key=centers.__getitem__)
        _spread(page, names, _MARGIN, total, base - height * _ROW, widths)
        for name in names:
            spot = page.spots[name]
            width, _ = _panel(page, name, _columns(len(page.hosts.get(name, []))))
            _put(page, name, spot.middle[0] - width // 2, spot.y + _SWITCH_HEIGHT + 22)


def _level(name: str) -> int:
    """The level of a switch of a fat tree."""
    return 1 if name.startswith("leaf") else 2 if name.startswith("spine") else int(name[1:].partition(".")[0])


def _center(page: _Page, peers: Sequence[str], level: Mapping[str, int], own: int) -> float:
    below = [page.spots[peer].middle[0] for peer in peers if level[peer] < own]
    return sum(below) / len(below) if below else 0.0


def _width(page: _Page, switch: str) -> int:
    width, _ = _panel(page, switch, _columns(len(page.hosts.get(switch, []))))
    badge = text_width(page.spots[switch].badge, 10) if page.spots[switch].badge else 0
    return max(width, page.spots[switch].width, badge)


def _spread(page: _Page, names: Sequence[str], left: int, total: int, y: int, widths: Mapping[str, int]) -> None:
    """Spread spots over a row, each in the middle of its share."""
    needed = [max(widths[name], page.spots[name].width) for name in names]
    gap = (total - sum(needed)) / max(len(names), 1)
    x = left + gap / 2
    for name, width in zip(names, needed, strict=True):
        spot = page.spots[name]
        spot.x, spot.y = round(x + (width - spot.width) / 2), y
        x += width + gap


def _grid(page: _Page, switches: Sequence[str]) -> None:
    """Place a torus: the first dimension goes right, the second goes down, others are blocks side by side."""
    places = {name: [int(one) for one in name[1:].split(".")] for name in switches}
    sizes = [max(place[at] for place in places.values()) + 1 for at in range(len(places[switches[0]]))]
    panels = [_panel(page, name, _columns(len(page.hosts.get(name, [])))) for name in switches]
    wide = max(max(width for width, _ in panels), max(page.spots[name].width for name in switches)) + 54
    high = _SWITCH_HEIGHT + max(height for _, height in panels) + 66
    for name, place in places.items():
        block = 0
        for at in range(len(sizes) - 1, 1, -1):
            block = block * sizes[at] + place[at]
        column, row = place[0] + block * sizes[0], place[1] if len(place) > 1 else 0
        spot = page.spots[name]
        spot.x, spot.y = _MARGIN + 40 + column * wide + block * 40, _MARGIN + 84 + row * high
        _put(page, name, spot.x + spot.width // 2 - 4, spot.y + _SWITCH_HEIGHT + 10)


def _circle(page: _Page, switches: Sequence[str]) -> None:
    """Place a dragonfly: groups are on an ellipse, the switches of a group side by side."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in switches:
        groups[name.split(".")[0]].append(name)
    wide = max(_width(page, name) for name in switches) + 14
    high = max(_panel(page, name, _columns(len(page.hosts.get(name, []))))[1] for name in switches)
    width, height = wide * max(map(len, groups.values())) + 16, _SWITCH_HEIGHT + high + 84
    n = len(groups)
    # Neighbours on the ellipse must not touch.
    across = max(width * 1.1, n * (width + 40) / (2 * math.pi)) if n > 2 else width * 0.75
    down = max(height * 1.5, n * (height + 90) / (2 * math.pi)) if n > 2 else 0
    for at, (group, names) in enumerate(groups.items()):
        angle = 2 * math.pi * at / n - math.pi / 2 if n > 2 else math.pi * (1 - at)
        x = round(_MARGIN + across + across * math.cos(angle))
        y = round(_MARGIN + 60 + down + down * math.sin(angle))
        page.groups.append((x, y, width, height, group))
        for number, name in enumerate(names):
            spot = page.spots[name]
            left = x + 8 + number * wide
            spot.x, spot.y = left + (wide - spot.width) // 2, y + 54
            panel, _ = _panel(page, name, _columns(len(page.hosts.get(name, []))))
            _put(page, name, left + (wide - panel) // 2, spot.y + _SWITCH_HEIGHT + 14)


def _paint(page: _Page, overview: Mapping[str, Any], title: str) -> str:
    lines: list[str] = []
    for x, y, width, height, name in page.groups:
        lines.append(
            f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="#fafbfc" stroke="#c3cad1" '
            'stroke-dasharray="5 3"/>\n'
        )
        lines.append(text_element(x + 8, y + 16, name, 11, fill=_FAINT))
    hosted = {host: switch for switch, hosts in page.hosts.items() for host in hosts}
    straight = [edge for edge in page.edges if not any(end in hosted for end in edge.ends)]
    between = sorted(straight, key=lambda edge: edge.load or 0)
    for edge in between:
        lines += _line(edge, _way(page, edge, by_place=_by_place(page)), page.is_loaded)
    for edge in page.edges:
        node = next((end for end in edge.ends if end in hosted), None)
        if node is not None:
            lines += _branch(page, edge, page.spots[node], page.spots[hosted[node]])
    for spot in page.spots.values():
        lines += _spot(spot, is_node=spot.height == _CHIP)
    right = max([spot.x + spot.width for spot in page.spots.values()] + [x + w for x, _, w, _, _ in page.groups])
    bottom = max([spot.y + spot.height for spot in page.spots.values()] + [y + h for _, y, _, h, _ in page.groups])
    right += 44 if page.is_loaded else 0
    left = min(spot.x for spot in page.spots.values())
    legend, reach, down = _legend(page, overview, _MARGIN, bottom + 28, max(right, 640))
    width, height = max(right, reach, text_width(title, 18) + _MARGIN) + _MARGIN + max(0, _MARGIN - left), down + 12
    head = [
        text_element(_MARGIN, _MARGIN + 4, title, 18, weight="bold"),
        text_element(_MARGIN, _MARGIN + 22, _size(overview), 12),
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f"font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\">\n<title>{html.escape(title)}</title>\n"
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>\n' + "".join(head + lines + legend) + "</svg>\n"
    )


def _size(overview: Mapping[str, Any]) -> str:
    counts = ((len(overview["nodes"]), "node"), (len(overview["switches"]), "switch"), (len(overview["links"]), "link"))
    plural = {"switch": "switches"}
    return ", ".join(f"{n:,} {one if n == 1 else plural.get(one, f'{one}s')}" for n, one in counts)


def _by_place(page: _Page) -> dict[int, list[_Spot]]:
    rows: dict[int, list[_Spot]] = defaultdict(list)
    for spot in page.spots.values():
        rows[spot.y].append(spot)
    return rows


def _way(page: _Page, edge: _Edge, *, by_place: Mapping[int, list[_Spot]]) -> tuple[str, tuple[int, int]]:
    """The path of a link, and the place of its label. The path is a straight line, or an arc around other spots."""
    a, b = (page.spots[end] for end in edge.ends)
    (ax, ay), (bx, by) = a.middle, b.middle
    if a.y == b.y:
        low, high = sorted((ax, bx))
        if any(low < spot.middle[0] < high for spot in by_place[a.y] if spot not in (a, b)):
            rise = min(24 + abs(bx - ax) // 10, 46)
            top = a.y
            return f"M{ax},{top} Q{(ax + bx) // 2},{top - 2 * rise + 8} {bx},{top}", ((ax + bx) // 2, top - rise + 4)
        return f"M{ax},{ay} L{bx},{by}", ((ax + bx) // 2, ay)
    if (
        ax == bx
        and abs(by - ay) > 1
        and any(
            min(ay, by) < spot.middle[1] < max(ay, by)
            for spot in page.spots.values()
            if spot.middle[0] == ax and spot.height == _SWITCH_HEIGHT and spot not in (a, b)
        )
    ):
        side = a.x - 30
        return f"M{a.x},{ay} C{side},{ay} {side},{by} {b.x},{by}", (side + 8, (ay + by) // 2)
    # The label is nearer to the lower end, where lines are farther apart.
    low_x, low_y, high_x, high_y = (ax, ay, bx, by) if ay > by else (bx, by, ax, ay)
    at = (round(low_x + (high_x - low_x) * 0.4), round(low_y + (high_y - low_y) * 0.4))
    return f"M{ax},{ay} L{bx},{by}", at


def _line(edge: _Edge, way: tuple[str, tuple[int, int]], is_loaded: bool) -> list[str]:
    path, (x, y) = way
    load = edge.load
    ink = heat(load) if load else "#d5dade" if is_loaded else edge.ink
    width = 1.2 if not load else round(1.6 + 4 * load, 1)
    lines = [
        f'<path d="{path}" fill="none" stroke="{ink}" stroke-width="{width}"><title>{html.escape(edge.about)}</title>'
        "</path>\n"
    ]
    return [*lines, *_label(edge, x, y)]


def _label(edge: _Edge, x: int, y: int) -> Iterator[str]:
    if not edge.label:
        return
    width = text_width(edge.label, 10) + 10
    fill = heat(edge.load) if edge.load else "#ffffff"
    yield f'<rect x="{x - width // 2}" y="{y - 8}" width="{width}" height="15" rx="7" fill="{fill}"/>\n'
    yield text_element(x, y + 3, edge.label, 10, anchor="middle")


def _branch(page: _Page, edge: _Edge, node: _Spot, switch: _Spot) -> list[str]:
    """The link of a node in a column under its switch."""
    x, y = node.x - 8, node.middle[1]
    down = f"M{switch.middle[0]},{switch.y + switch.height} L{x},{switch.y + switch.height + 8} L{x},{y}"
    ink = "#c3cad1" if page.is_loaded else edge.ink
    lines = [f'<path d="{down}" fill="none" stroke="{ink}" stroke-width="1"/>\n']
    load = edge.load
    stroke, width = (heat(load), round(2 + 4 * load, 1)) if load else (ink, 1.2)
    lines.append(
        f'<path d="M{x},{y} L{node.x},{y}" stroke="{stroke}" stroke-width="{width}">'
        f"<title>{html.escape(edge.about)}</title></path>\n"
    )
    if page.is_loaded and load and load >= 0.005:
        at = node.x + node.width + 4
        text = f"{100 * load:.0f} %"
        lines.append(
            f'<rect x="{at - 2}" y="{y - 8}" width="{text_width(text, 10) + 8}" height="15" rx="7" '
            f'fill="{heat(load)}"/>\n'
        )
        lines.append(text_element(at, y + 3, text, 10))
    elif edge.label:
        lines.append(text_element(node.x + node.width + 4, y + 3, edge.label, 10, fill=edge.ink))
    return lines


def _spot(spot: _Spot, *, is_node: bool) -> list[str]:
    border = "#c3cad1" if spot.faint else spot.border
    radius = 10 if is_node else 3
    return [
        f'<rect x="{spot.x}" y="{spot.y}" width="{spot.width}" height="{spot.height}" rx="{radius}" '
        f'fill="{spot.fill}" stroke="{border}" stroke-width="1.2"><title>{html.escape(spot.about)}</title></rect>\n',
        text_element(spot.middle[0], spot.middle[1] + 4, spot.name, 11, anchor="middle"),
        text_element(spot.middle[0], spot.y - 5, spot.badge, 10, anchor="middle", fill="#b03030", weight="bold"),
    ]


def _legend(page: _Page, overview: Mapping[str, Any], left: int, y: int, right: int) -> tuple[list[str], int, int]:
    """Kinds of cards and links with their colours; also returns the right and lower ends of the legend."""
    lines: list[str] = []
    x = reach = left
    cards = Counter((node["nic"], node["kind"]) for node in overview["nodes"])
    for (nic, kind), count in cards.most_common():
        label = f"{nic} ({count:,})"
        width = 24 + text_width(label, 11)
        if x > left and x + width > right:
            x, y = left, y + 20
        fill, border = _KINDS.get(kind, _OTHER)
        lines.append(f'<rect x="{x}" y="{y}" width="18" height="12" rx="6" fill="{fill}" stroke="{border}"/>\n')
        lines.append(text_element(x + 24, y + 10, label, 11))
        reach, x = max(reach, x + width), x + width + 18
    x, y = left, y + 22
    classes = Counter(_class_of(link) for link in overview["links"]).most_common()
    for at, (name, count) in enumerate(classes):
        label = f"{name} ({count:,} link{'s' if count != 1 else ''})"
        width = 32 + text_width(label, 11)
        if x > left and x + width > right:
            x, y = left, y + 20
        ink = "#7b8794" if page.is_loaded else _LINKS[min(at, len(_LINKS) - 1)]
        lines.append(f'<path d="M{x},{y + 6} L{x + 26},{y + 6}" stroke="{ink}" stroke-width="1.6"/>\n')
        lines.append(text_element(x + 32, y + 10, label, 11))
        reach, x = max(reach, x + width), x + width + 18
    if page.is_loaded:
        note = "Yellow to red, with percentages: share of time for which the busier direction of a link was busy."
        y += 22
        lines.append(text_element(left, y + 10, note, 11))
        reach = max(reach, left + text_width(note, 11))
    return lines, reach, y + 14
