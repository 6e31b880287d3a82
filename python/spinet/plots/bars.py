# SPDX-License-Identifier: Apache-2.0
"""Bars: lying ones in parts, and standing ones in groups. Every bar says its value; published ones are hollow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from spinet.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A bar made of parts."""

    label: str
    parts: Mapping[str, float]
    published: bool = False


@dataclass(frozen=True, kw_only=True)
class Group:
    """Bars of one label side by side, a value for each series; `None` where there is none."""

    label: str
    values: Mapping[str, float | None]


@dataclass(frozen=True, kw_only=True)
class BarPanel:
    """One pair of axes with groups of bars; series whose name is in `published` are hollow."""

    title: str = ""
    y_label: str
    groups: Sequence[Group]
    published: Sequence[str] = ()
    log: bool = False
    digits: int = 3
    levels: Sequence[tuple[float, str]] = ()


def stacks(
    bars: Sequence[Stack],
    *,
    x_label: str,
    title: str,
    caption: str,
    more: Sequence[tuple[Sequence[Stack], str]] = (),
) -> Figure:
    """Draw lying bars, the first on top, with a legend of their parts and the sum behind each.

    Parameters
    ----------
    bars, x_label
        Of the first panel.
    title
        What the figure shows.
    caption
        Source of the published values, and how the others were measured.
    more
        Further panels, each with the label of its axis; their parts are those of the first.
    """
    panels = [(bars, x_label), *more]
    inches = (8.2 if not more else 5.2, 0.9 + 0.36 * len(bars))
    figure, axes = style.sheet(len(panels), title=title, caption=caption, panel_inches=inches)
    names = list(dict.fromkeys(name for bar in bars for name in bar.parts))
    for (rows, label), place in zip(panels, axes, strict=True):
        _draw_stacks(rows, names, place)
        place.set_xlabel(label)
    style.legend(axes[-1], loc="upper left", bbox_to_anchor=(1.01, 1), borderaxespad=0)
    return figure


def _draw_stacks(bars: Sequence[Stack], names: Sequence[str], axes: Axes) -> None:
    left = [0.0] * len(bars)
    for index, name in enumerate(names):
        color = style.COLORS[index % len(style.COLORS)]
        for row, bar in enumerate(bars):
            value = bar.parts.get(name, 0)
            axes.barh(
                row, value, left=left[row], height=0.66, color="white" if bar.published else color,
                edgecolor=color if bar.published else "white", hatch=style.HATCHES[index % len(style.HATCHES)],
                linewidth=0.6 + 0.4 * bar.published, label=name if row == len(bars) - 1 else "_",
            )  # fmt: skip
            left[row] += value
    for row, total in enumerate(left):
        axes.annotate(f"{total:.4g}", (total, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(right=max(left) * 1.12)


def bars(
    panels: Sequence[BarPanel],
    *,
    title: str,
    caption: str,
    columns: int | None = None,
    panel_inches: tuple[float, float] = style.PANEL_INCHES,
) -> Figure:
    """Draw panels of standing bars."""
    n = len(panels)
    figure, axes = style.sheet(n, title=title, caption=caption, columns=columns, panel_inches=panel_inches)
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place)
    return figure


def draw(panel: BarPanel, axes: Axes) -> None:
    """Draw one panel."""
    names = list(dict.fromkeys(name for group in panel.groups for name in group.values))
    width = 0.8 / len(names)
    if panel.log:
        axes.set_yscale("log")
    for index, name in enumerate(names):
        places, heights = [], []
        for position, group in enumerate(panel.groups):
            there = [other for other in names if group.values.get(other) is not None]
            if (value := group.values.get(name)) is not None:
                places.append(position + (there.index(name) - (len(there) - 1) / 2) * width)
                heights.append(value)
        color, hollow = style.COLORS[index % len(style.COLORS)], name in panel.published
        axes.bar(
            places, heights, width=width * 0.9, label=name, color="white" if hollow else color,
            edgecolor=color if hollow else "white", linewidth=1.1, zorder=2,
            hatch=style.HATCHES[index % len(style.HATCHES)],
        )  # fmt: skip
        for place, height in zip(places, heights, strict=True):
            text = f"{height:.{panel.digits}g}" if height < 10**panel.digits else f"{height:.0f}"
            axes.annotate(text, (place, height), xytext=(0, 2), textcoords="offset points", ha="center", fontsize=6.5)
    for value, word in panel.levels:
        axes.axhline(value, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            word, (0, value), xycoords=("axes fraction", "data"), xytext=(3, 2.5), textcoords="offset points",
            fontsize=7.3, color="#666666",
        )  # fmt: skip
    axes.set_xticks(range(len(panel.groups)), [group.label for group in panel.groups])
    axes.grid(False, axis="x")
    axes.margins(y=0.18)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=style.INK)
    if len(names) > 1:
        style.legend(axes)
