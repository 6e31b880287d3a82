# SPDX-License-Identifier: Apache-2.0
"""Curves: measured ones as lines with marks, formulas as thin gray lines, published points as hollow marks.

A bar through a published point is its tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from spinet.plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Kind = Literal["measured", "published", "formula"]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One series of a panel.

    Attributes
    ----------
    label
        Text in the legend; empty for none.
    x, y
        Its points, by rising `x`.
    kind
        ``measured``, ``published`` or ``formula``.
    look
        Number of its color, marker and dashes: curves that belong together have the same.
    slack
        For published points: tolerance of the measured value at each point. No bar is drawn if it is empty or 0.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "measured"
    look: int = 0
    slack: Sequence[float] = ()


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One pair of axes with its curves.

    Attributes
    ----------
    x_label, y_label
        Quantity and unit.
    x_base, y_base
        Base of a logarithmic axis; 0 for a linear one.
    levels
        Horizontal lines with a word, such as the line rate.
    marks
        Vertical lines with a word.
    y_min, y_max
        Ends of the vertical axis; chosen if 0.
    legend
        True if the panel has a legend.
    """

    title: str = ""
    x_label: str
    y_label: str
    curves: Sequence[Curve]
    x_base: int = 0
    y_base: int = 0
    levels: Sequence[tuple[float, str]] = ()
    marks: Sequence[tuple[float, str]] = ()
    x_ticks: Sequence[float] = ()
    y_min: float = 0
    y_max: float = 0
    legend: bool = True

    @property
    def labels(self) -> list[str]:
        """Labels of the legend: first measured curves, then published ones, then formulas."""
        return [curve.label for curve in self.ordered if curve.label] if self.legend else []

    @property
    def ordered(self) -> list[Curve]:
        """The curves in the order of the legend."""
        return sorted(self.curves, key=lambda curve: ("measured", "published", "formula").index(curve.kind))


def curves(
    panels: Sequence[Panel],
    *,
    title: str,
    caption: str,
    columns: int | None = None,
    panel_inches: tuple[float, float] = style.PANEL_INCHES,
) -> Figure:
    """Draw panels of curves.

    Parameters
    ----------
    panels
        From left to right.
    title
        What the figure shows.
    caption
        Source of the published values, and how the others were measured.
    columns
        Panels in a row; all in one if not given.
    panel_inches
        Width and height of a panel.
    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.labels))
    is_shared = len(panels) > 1 and any(set(panel.labels) == set(names) for panel in panels)
    inches = min(panel_inches[0], style.PAGE_INCHES / (columns or len(panels))) - style.BESIDE_PANEL
    above = [
        bool(panel.title) + bool(panel.marks) + (0 if is_shared else style.legend_lines(panel.labels, inches))
        for panel in panels
    ]
    if any(any(curve.slack) for panel in panels for curve in panel.curves):
        caption = f"{caption} {style.WHISKERS}"
    figure, axes = style.sheet(
        len(panels), title=title, caption=caption, columns=columns, panel_inches=panel_inches, lines_above=max(above),
        shared=names if is_shared else (),
    )  # fmt: skip
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place, legend=panel.legend and not is_shared)
    if is_shared:
        style.share_legend(figure, axes)
    return figure


def draw(panel: Panel, axes: Axes, *, legend: bool = True) -> None:
    """Draw one panel."""
    style.levels(axes, panel.levels)
    for curve in panel.ordered:
        _draw_curve(curve, axes)
    _scale(panel, axes)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    style.heading(axes, panel.title, legend=legend, lines_below=style.marks(axes, panel.marks))


def _draw_curve(curve: Curve, axes: Axes) -> None:
    color = style.COLORS[curve.look % len(style.COLORS)]
    marker = style.MARKERS[curve.look % len(style.MARKERS)]
    dashes = style.DASHES[curve.look % len(style.DASHES)]
    label = curve.label or "_"
    if curve.kind == "measured":
        axes.plot(
            curve.x, curve.y, label=label, color=color, linestyle=dashes, linewidth=1.6, marker=marker, markersize=4.2,
            markeredgewidth=0, zorder=3,
        )  # fmt: skip
    elif curve.kind == "published":
        if any(curve.slack):
            axes.errorbar(
                curve.x, curve.y, yerr=curve.slack, linestyle="none", color=color, elinewidth=1, capsize=3, zorder=2
            )
        axes.plot(
            curve.x, curve.y, label=label, linestyle="none", marker=marker, markersize=8.5, markerfacecolor="none",
            markeredgecolor=color, markeredgewidth=1.3, zorder=4,
        )  # fmt: skip
    else:
        axes.plot(curve.x, curve.y, label=label, color="#777777", linewidth=0.9, linestyle=(0, (1, 1.4)), zorder=2)


def _scale(panel: Panel, axes: Axes) -> None:
    from matplotlib.ticker import NullLocator

    if panel.x_base:
        values = [x for curve in panel.curves for x in curve.x]
        if min(values) > 0:
            axes.set_xscale("log", base=panel.x_base)
        else:  # a logarithmic axis with a zero, as far from the first value as the first is from the second
            least = min(x for x in values if x > 0)
            axes.set_xscale("symlog", base=panel.x_base, linthresh=least, linscale=1)
        style.plain_ticks(axes.xaxis)
    if panel.y_base:
        axes.set_yscale("log", base=panel.y_base)
        style.plain_ticks(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)
    if panel.x_ticks:
        axes.set_xticks(list(panel.x_ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.y_min:
        axes.set_ylim(bottom=panel.y_min)
    if panel.y_max:
        axes.set_ylim(top=panel.y_max)
