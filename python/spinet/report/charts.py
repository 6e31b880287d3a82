# SPDX-License-Identifier: Apache-2.0
"""Charts of a report, as Vega-Lite specifications without size and colours, which the page adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spinet.report.series import Line, Times, rounded, unit

Spec = dict[str, Any]

_BAR = 22  # pixels of a row with a horizontal bar


def over_time(
    middles: Times, lines: Sequence[Line], *, title: str, is_stacked: bool = False, most: float | None = None
) -> Spec:
    """Lines over simulated time, or areas on top of each other; `most` is drawn as a limit."""
    name, size = unit(float(middles[-1]))
    values = [
        {"t": time, "v": value, "c": line.name or title}
        for line in lines
        for time, value in zip(rounded(middles / size), rounded(line.values), strict=True)
    ]
    order = [line.name or title for line in lines]
    x = {
        "field": "t",
        "type": "quantitative",
        "title": f"simulated time [{name}]",
        "scale": {"zero": False, "nice": False},
    }
    y = {"field": "v", "type": "quantitative", "title": title, "stack": "zero" if is_stacked else None}
    color = {"field": "c", "type": "nominal", "title": None, "sort": order, "legend": _legend(order)}
    tooltip = [
        {"field": "t", "title": f"time [{name}]", "format": ",.4~g"},
        {"field": "c", "title": "line"},
        {"field": "v", "title": title, "format": ",.4~g"},
    ]
    mark: Spec = (
        {"type": "area", "line": {"strokeWidth": 1}, "fillOpacity": 0.75}
        if is_stacked
        else {"type": "line", "strokeWidth": 1.8}
    )
    hover = {"select": {"type": "point", "nearest": True, "on": "pointerover", "clear": "pointerout"}, "name": "hover"}
    layers: list[Spec] = [{"mark": mark, "encoding": {"x": x, "y": y, "color": color}}]
    if most is not None:
        layers.append({"mark": {"type": "rule", "strokeDash": [5, 4]}, "encoding": {"y": {"datum": most}}})
    layers.append(
        {
            "params": [hover],
            "mark": {"type": "point", "filled": True, "size": 60},
            "encoding": {
                "x": x,
                "y": y,
                "color": color,
                "opacity": {"condition": {"param": "hover", "empty": False, "value": 1}, "value": 0},
                "tooltip": tooltip,
            },
        }
    )
    return {"height": 200, "data": {"values": values}, "layer": layers}


def histogram(edges: Times, lines: Sequence[Line], *, is_log: bool, noun: str) -> Spec:
    """Bars between edges; several directions on top of each other."""
    name, size = unit(float(edges[-1]))
    borders = rounded(edges / size)
    values = [
        {"a": borders[at], "b": borders[at + 1], "n": int(count), "c": line.name or noun}
        for line in lines
        for at, count in enumerate(line.values)
        if count
    ]
    order = [line.name or noun for line in lines]
    scale = {"type": "log", "nice": False} if is_log else {"zero": False, "nice": False}
    return {
        "height": 200,
        "data": {"values": values},
        "mark": {"type": "bar", "binSpacing": 0.5},
        "encoding": {
            "x": {
                "field": "a",
                "type": "quantitative",
                "bin": {"binned": True},
                "title": f"time in the card [{name}]",
                "scale": scale,
            },
            "x2": {"field": "b"},
            "y": {"field": "n", "type": "quantitative", "title": noun},
            "color": {"field": "c", "type": "nominal", "title": None, "sort": order, "legend": _legend(order)},
            "tooltip": [
                {"field": "a", "title": f"from [{name}]", "format": ",.4~g"},
                {"field": "b", "title": f"to [{name}]", "format": ",.4~g"},
                {"field": "n", "title": noun, "format": ","},
            ],
        },
    }


def bars(
    rows: Sequence[Mapping[str, Any]], *, title: str, format: str, most: float | None = None, mark: str = ""
) -> Spec:
    """A horizontal bar for each row with `name`, `value` and `about`; bars named `mark` stand out."""
    values = [{**row, "marked": row["name"] == mark} for row in rows]
    scale = {} if most is None else {"scale": {"domain": [0, most]}}
    y = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"labelLimit": 260, "ticks": False, "domain": False},
    }
    x = {
        "field": "value",
        "type": "quantitative",
        "title": title,
        "axis": {"format": format.replace(".1%", ".0%")},
        **scale,
    }
    tooltip = [
        {"field": "name", "title": "name"},
        {"field": "value", "title": title, "format": format},
        {"field": "about", "title": "meaning"},
    ]
    return {
        "height": _BAR * len(values),
        "data": {"values": values},
        "encoding": {"y": y, "x": x, "tooltip": tooltip},
        "layer": [
            {
                "mark": {"type": "bar", "cornerRadiusEnd": 2},
                "encoding": {
                    "color": {
                        "field": "marked",
                        "type": "nominal",
                        "legend": None,
                        "scale": {"domain": [False, True], "range": "category"},
                    }
                },
            },
            {
                "mark": {"type": "text", "align": "left", "dx": 4},
                "encoding": {"text": {"field": "value", "type": "quantitative", "format": format}},
            },
        ],
    }


def stacks(rows: Sequence[Mapping[str, Any]], *, title: str, order: Sequence[str]) -> Spec:
    """For each `name` a horizontal bar of parts: rows with `name`, `part`, `value`, `place` and `at`, its position."""
    return {
        "height": (_BAR + 4) * len({row["name"] for row in rows}),
        "data": {"values": list(rows)},
        "mark": {"type": "bar"},
        "encoding": {
            "y": {
                "field": "name",
                "type": "nominal",
                "sort": None,
                "title": None,
                "axis": {"ticks": False, "domain": False},
            },
            "x": {"field": "value", "type": "quantitative", "title": title, "stack": "zero"},
            "color": {
                "field": "part",
                "type": "nominal",
                "title": None,
                "sort": list(order),
                "legend": {"orient": "bottom", "columns": 4, "labelLimit": 160},
            },
            "order": {"field": "at", "type": "quantitative"},
            "tooltip": [
                {"field": "part", "title": "cause"},
                {"field": "place", "title": "place"},
                {"field": "value", "title": title, "format": ",.4~g"},
            ],
        },
    }


def _legend(names: Sequence[str]) -> Spec | None:
    return {"orient": "bottom", "columns": 4} if len(names) > 1 else None
