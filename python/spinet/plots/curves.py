# SPDX-License-Identifier: Apache-2.0
"""Curves: measured ones as lines with marks, published points as hollow marks, formulas as thin gray lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

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
        For the legend; empty for none.
    x, y
        Its points, by rising `x`.
    kind
        ``measured``, ``published`` or ``formula``.
    look
        Number of its color, marker and dashes: curves that belong together have the same.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    kind: Kind = "measured"
    look: int = 0


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
        Where it is, in matplotlib's words; `None` for none.
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
    legend: dict[str, Any] | None = field(default_factory=dict)


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
    n = len(panels)
    figure, axes = style.sheet(n, title=title, caption=caption, columns=columns, panel_inches=panel_inches)
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place)
    return figure


def draw(panel: Panel, axes: Axes) -> None:
    """Draw one panel."""
    for value, word in panel.levels:
        axes.axhline(value, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            word, (0, value), xycoords=("axes fraction", "data"), xytext=(3, 2.5), textcoords="offset points",
            fontsize=7.3, color="#666666",
        )  # fmt: skip
    for value, word in panel.marks:
        axes.axvline(value, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            word, (value, 0), xycoords=("data", "axes fraction"), xytext=(2.5, 4), textcoords="offset points",
            fontsize=7.3, color="#666666", rotation=90, va="bottom",
        )  # fmt: skip
    for curve in panel.curves:
        _draw_curve(curve, axes)
    _scale(panel, axes)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.set_title(panel.title, loc="left", fontsize=9.5, color=style.INK)
    if panel.legend is not None:
        style.legend(axes, **panel.legend)


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
        axes.plot(
            curve.x, curve.y, label=label, linestyle="none", marker=marker, markersize=8.5, markerfacecolor="none",
            markeredgecolor=color, markeredgewidth=1.3, zorder=4,
        )  # fmt: skip
    else:
        axes.plot(curve.x, curve.y, label=label, color="#777777", linewidth=0.9, linestyle=(0, (1, 1.4)), zorder=2)


def _scale(panel: Panel, axes: Axes) -> None:
    from matplotlib.ticker import FuncFormatter, NullLocator

    plain = FuncFormatter(lambda value, _position: f"{value:g}")
    if panel.x_base:
        values = [x for curve in panel.curves for x in curve.x]
        if min(values) > 0:
            axes.set_xscale("log", base=panel.x_base)
        else:  # a logarithmic axis that has a zero, as far from the first value as that from the second
            least = min(x for x in values if x > 0)
            axes.set_xscale("symlog", base=panel.x_base, linthresh=least, linscale=1)
        axes.xaxis.set_major_formatter(plain)
    if panel.y_base:
        axes.set_yscale("log", base=panel.y_base)
        axes.yaxis.set_major_formatter(plain)
    else:
        axes.set_ylim(bottom=0)
    if panel.x_ticks:
        axes.set_xticks(list(panel.x_ticks))
        axes.xaxis.set_minor_locator(NullLocator())
    if panel.y_min:
        axes.set_ylim(bottom=panel.y_min)
    if panel.y_max:
        axes.set_ylim(top=panel.y_max)
