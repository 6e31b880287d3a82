# SPDX-License-Identifier: Apache-2.0
"""How figures look: sizes, type, colors that people with any eyes tell apart, and the marks that repeat them."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, without its yellow, which is too light for lines.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#555555", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5)), (0, (3, 1.5)), (0, (8, 2)), (0, (2, 3)), "-")
# Lines only: dots and circles make an SVG ten times as large.
HATCHES = ("", "///", "\\\\\\", "xx", "|||", "---", "++", "//")
INK = "#222222"
FAINT = "#8a8a8a"
PANEL_INCHES = (4.6, 3.5)
_CAPTION_SIZE = 7.5


def sheet(
    n_panels: int,
    *,
    title: str,
    caption: str,
    columns: int | None = None,
    panel_inches: tuple[float, float] = PANEL_INCHES,
) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side, its title above and its caption below.

    Parameters
    ----------
    n_panels
        How many panels.
    title
        What the figure shows.
    caption
        What a reader needs to judge it: source of the published values, how the others were measured.
    columns
        Panels in a row; all in one if not given.
    panel_inches
        Width and height of a panel.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = columns or n_panels
    rows = -(-n_panels // columns)
    width, height = panel_inches[0] * columns, panel_inches[1] * rows
    lines = textwrap.wrap(caption, int(width * 17))
    below, above = 0.15 * len(lines) + 0.1, 0.42
    with rc_context({"font.family": "sans-serif"}):
        figure = Figure(figsize=(width, height + below + above), facecolor="white")
        bottom, top = below / (height + below + above), above / (height + below + above)
        layout = ConstrainedLayoutEngine(rect=(0, bottom, 1, 1 - bottom - top), w_pad=0.08, h_pad=0.08)
        figure.set_layout_engine(layout)
        axes = [figure.add_subplot(rows, columns, i + 1) for i in range(n_panels)]
    figure.text(0.012, 1 - 0.5 * top, title, fontsize=11.5, fontweight="bold", color=INK, va="center")
    figure.text(
        0.012, 0.06 / (height + below + above), "\n".join(lines), fontsize=_CAPTION_SIZE, color="#555555", va="bottom"
    )
    for panel in axes:
        _dress(panel)
    return figure, axes


def _dress(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=8.5, color=FAINT)
    axes.grid(True, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(9)
        label.set_color(INK)


def legend(axes: Axes, **more: Any) -> None:
    """A legend that covers as little as it can; none where there is nothing to say."""
    handles, labels = axes.get_legend_handles_labels()
    if labels:
        given = {"fontsize": 7.8, "frameon": True, "framealpha": 0.9, "edgecolor": "none", "handlelength": 2.6}
        axes.legend(handles, labels, **{**given, **more})
