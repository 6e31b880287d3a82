# SPDX-License-Identifier: Apache-2.0
"""How figures look: sizes, type, colors that colour-blind readers can distinguish, and marks that repeat them.

Published values are hollow and measured values are filled, in every figure. Labels are beside data, never on them:
legends and the words of vertical lines above a panel, those of horizontal lines right of it.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import cache
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
WORDS = "#555555"
TICK_POINTS = 8.5
PAGE_INCHES = 9.2  # width of a page at full scale, at 96 points an inch
PANEL_INCHES = (4.6, 3.3)
BESIDE_PANEL = 0.75  # approximate width of labels and numbers of the vertical axis, in inches
SMALL = 7.8  # font size of words beside data, in points
WHISKERS = "Whiskers of published values are the tolerance."
_CAPTION_SIZE = 7.5
_LINE_INCHES = 0.165  # height of a line of words beside data
_HANDLE, _GAP = 2.6, 1.6  # handle and gap of a legend, in widths of a letter


def sheet(
    n_panels: int,
    *,
    title: str,
    caption: str,
    columns: int | None = None,
    panel_inches: tuple[float, float] = PANEL_INCHES,
    lines_above: float = 0,
    shared: Sequence[str] = (),
) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side, its title above and its caption below, as wide as a page at most.

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
        Width and height of a panel; narrower where the page is full.
    lines_above
        Number of text lines above each panel.
    shared
        Labels of a legend for the whole figure, which `share_legend` draws.

    Returns
    -------
    The figure and its panels.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    columns = columns or n_panels
    rows = -(-n_panels // columns)
    width = min(PAGE_INCHES, panel_inches[0] * columns)
    lines = textwrap.wrap(caption, int(width * 17))
    below = 0.15 * len(lines) + 0.1
    above = 0.42 + _LINE_INCHES * (legend_lines(shared, width - 0.3) + bool(shared) * 0.6)
    height = (panel_inches[1] + _LINE_INCHES * lines_above) * rows + above + below
    with rc_context({"font.family": "sans-serif"}):
        figure = Figure(figsize=(width, height), facecolor="white")
        rect = (0, below / height, 1, 1 - (below + above) / height)
        layout = ConstrainedLayoutEngine(rect=rect, w_pad=0.08, h_pad=0.08)
        figure.set_layout_engine(layout)
        axes = [figure.add_subplot(rows, columns, i + 1) for i in range(n_panels)]
    figure.text(0.012, 1 - 0.21 / height, title, fontsize=11.5, fontweight="bold", color=INK, va="center")
    figure.text(0.012, 0.06 / height, "\n".join(lines), fontsize=_CAPTION_SIZE, color=WORDS, va="bottom")
    for panel in axes:
        _dress(panel)
    return figure, axes


def _dress(axes: Axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=TICK_POINTS, color=FAINT)
    axes.grid(True, color="#e4e4e4", linewidth=0.7)
    axes.set_axisbelow(True)
    for label in (axes.xaxis.label, axes.yaxis.label):
        label.set_fontsize(9)
        label.set_color(INK)


def plain_ticks(axis: Any) -> None:
    """Numbers as people write them, on logarithmic axes, too. If the axis has less than two powers of 10, it also has
    numbers between them.
    """
    from matplotlib.ticker import FuncFormatter

    def between(value: float, _position: int) -> str:
        low, high = axis.get_view_interval()
        if getattr(axis.get_transform(), "base", 0) != 10 or math.floor(math.log10(high)) > math.ceil(math.log10(low)):
            return ""
        digit = round(value / 10 ** math.floor(math.log10(value) + 1e-9))
        return f"{value:g}" if digit in (2, 5) or high < 4 * low else ""

    axis.set_major_formatter(FuncFormatter(lambda value, _position: f"{value:g}"))
    axis.set_minor_formatter(FuncFormatter(between))
    axis.set_tick_params(which="minor", labelsize=TICK_POINTS, labelcolor=INK)


def levels(axes: Axes, lines: Sequence[tuple[float, str]]) -> None:
    """Horizontal lines, each with its word right of the panel."""
    for value, word in lines:
        axes.axhline(value, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        axes.annotate(
            textwrap.fill(word, 12, break_long_words=False), (1, value), xycoords=("axes fraction", "data"),
            xytext=(3, 0), textcoords="offset points", fontsize=7.3, color=WORDS, va="center", annotation_clip=False,
        )  # fmt: skip


def marks(axes: Axes, lines: Sequence[tuple[float, str]]) -> int:
    """Draw vertical lines, each with its word above the panel; returns the number of lines of words.

    The scale of the axis is the final one already.
    """
    points = (inches_of(axes) - BESIDE_PANEL) * 72
    ends: list[float] = []  # right end of the words on each line
    for value, word in sorted(lines):
        axes.axvline(value, color=FAINT, linewidth=0.9, linestyle=(0, (4, 2)), zorder=1)
        at = (axes.transData + axes.transAxes.inverted()).transform((value, axes.get_ylim()[0]))[0] * points
        line = next((index for index, end in enumerate(ends) if end < at), len(ends))
        ends[line : line + 1] = [at + _points(word) + 8]
        axes.annotate(
            word, (value, 1), xycoords=("data", "axes fraction"), xytext=(-2, 2.5 + line * 72 * _LINE_INCHES),
            textcoords="offset points", fontsize=7.3, color=WORDS, va="bottom", annotation_clip=False,
        )  # fmt: skip
    return len(ends)


def heading(axes: Axes, title: str, *, legend: bool = True, lines_below: int = 0) -> None:
    """Draw the title of a panel, and its legend below the title; both are above the panel, if they are not empty."""
    handles, labels = axes.get_legend_handles_labels() if legend else ([], [])
    lift = lines_below * 72 * _LINE_INCHES + 5
    if not labels:
        axes.set_title(title, loc="left", fontsize=9.5, color=INK, pad=lift + 2)
        return
    from matplotlib.transforms import ScaledTranslation

    over = axes.transAxes + ScaledTranslation(0, lift / 72, axes.figure.dpi_scale_trans)
    inches = inches_of(axes) - BESIDE_PANEL
    _legend(axes, handles, labels, inches, title=title, loc="lower left", bbox_to_anchor=(0, 1), bbox_transform=over)


def inches_of(axes: Axes) -> float:
    """Width of a panel, including the labels beside it."""
    figure, grid = axes.get_figure(root=True), axes.get_gridspec()
    assert figure is not None
    assert grid is not None
    return float(figure.get_size_inches()[0]) / grid.ncols


def share_legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend for all panels, below the title."""
    known: dict[str, Any] = {}
    for place in axes:
        for handle, label in zip(*place.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    width, height = figure.get_size_inches()
    _legend(
        figure, list(known.values()), list(known), width - 0.3, loc="upper left",
        bbox_to_anchor=(0.012, 1 - 0.4 / height), bbox_transform=figure.transFigure,
    )  # fmt: skip


def _legend(where: Axes | Figure, handles: list[Any], labels: list[str], inches: float, **more: Any) -> None:
    columns = _columns(labels, inches)
    # matplotlib fills column by column; people read line by line.
    order = [index for column in range(columns) for index in range(column, len(labels), columns)]
    found = where.legend(
        [handles[i] for i in order], [labels[i] for i in order], ncols=columns, fontsize=SMALL, frameon=False,
        handlelength=_HANDLE, columnspacing=_GAP, borderpad=0, borderaxespad=0, handletextpad=0.6, labelspacing=0.4,
        alignment="left", title_fontsize=9.5, **more,
    )  # fmt: skip
    found.get_title().set_color(INK)


def legend_lines(labels: Sequence[str], inches: float) -> int:
    """How many lines a legend takes in a width."""
    return -(-len(labels) // _columns(labels, inches)) if labels else 0


def _columns(labels: Sequence[str], inches: float) -> int:
    widths = [_points(label) + (_HANDLE + 0.6 + _GAP) * SMALL for label in labels]
    for columns in range(len(labels), 1, -1):
        if sum(max(widths[column::columns]) for column in range(columns)) <= inches * 72:
            return columns
    return 1


@cache
def _points(text: str) -> float:
    """Width of a word beside data."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=SMALL), ismath=False)[0])
