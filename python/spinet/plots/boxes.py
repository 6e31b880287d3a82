# SPDX-License-Identifier: Apache-2.0
"""Boxes: spreads, side by side. A box from the first to the third quartile, a bar at the median, whiskers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from spinet.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A distribution in five numbers."""

    low: float
    q1: float
    median: float
    q3: float
    high: float


@dataclass(frozen=True, kw_only=True)
class BoxPanel:
    """One pair of axes, with a box for each name, and beside them a hollow mark for each published value."""

    title: str = ""
    y_label: str
    boxes: Mapping[str, Spread]
    published: Mapping[str, float] = field(default_factory=dict)


def boxes(panels: Sequence[BoxPanel], *, title: str, caption: str, columns: int | None = None) -> Figure:
    """Draw panels of boxes; each panel has a vertical axis of its own, from zero."""
    n = len(panels)
    figure, axes = style.sheet(n, title=title, caption=caption, columns=columns, panel_inches=(3.3, 2.7), lines_above=1)
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place)
    return figure


def draw(panel: BoxPanel, axes: Axes) -> None:
    """Draw one panel; a box's name is below it."""
    for position, (_name, spread) in enumerate(panel.boxes.items()):
        color, hatch = style.COLORS[position % len(style.COLORS)], style.HATCHES[position % len(style.HATCHES)]
        whiskers = {"whislo": spread.low, "whishi": spread.high}
        stats = [{**whiskers, "q1": spread.q1, "med": spread.median, "q3": spread.q3}]
        axes.bxp(
            stats, positions=[position], widths=0.5, showfliers=False, patch_artist=True, manage_ticks=False,
            boxprops={"facecolor": "white", "hatch": hatch, "edgecolor": color},
            medianprops={"color": color, "linewidth": 2.4}, whiskerprops={"color": color}, capprops={"color": color},
        )  # fmt: skip
        axes.annotate(
            f"{spread.median:.0f}", (position + 0.27, spread.median), xytext=(2, 0), textcoords="offset points",
            fontsize=7.5, va="center",
        )  # fmt: skip
    for position, value in enumerate(panel.published.values(), len(panel.boxes)):
        axes.plot(
            [position], [value], linestyle="none", marker="D", markersize=8.5, markerfacecolor="none",
            markeredgecolor=style.INK, markeredgewidth=1.3, zorder=4, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            f"{value:.0f}", (position + 0.27, value), xytext=(2, 0), textcoords="offset points", fontsize=7.5,
            va="center",
        )  # fmt: skip
    names = [*panel.boxes, *panel.published]
    axes.set_xticks(range(len(names)), names)
    axes.set_xlim(-0.5, len(names) - 0.3)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(panel.y_label)
    style.heading(axes, panel.title, legend=False)
    axes.grid(False, axis="x")
