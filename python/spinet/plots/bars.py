# SPDX-License-Identifier: Apache-2.0
"""Stacked horizontal bars, and grouped vertical bars. Every bar is labelled with its value; published ones are
hollow.
"""

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
    """Bars of one label side by side, a value for each series; `None` where there is none.

    `slack` is the tolerance of the measured value; 0 draws no tolerance.
    """

    label: str
    values: Mapping[str, float | None]
    slack: float = 0


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

    @property
    def names(self) -> list[str]:
        """Names of its series."""
        return list(dict.fromkeys(name for group in self.groups for name in group.values))


def stacks(
    bars: Sequence[Stack],
    *,
    x_label: str,
    title: str,
    caption: str,
    more: Sequence[tuple[Sequence[Stack], str]] = (),
    levels: Sequence[tuple[float, str]] = (),
) -> Figure:
    """Draw horizontal bars, the first on top, with a legend of their parts, values of larger parts, and the sum behind.

    Parameters
    ----------
    bars, x_label
        Bars and axis label of the first panel.
    title
        What the figure shows.
    caption
        Source of the published values, and how the others were measured.
    more
        Further panels, each with the label of its axis; their parts are those of the first.
    levels
        Vertical lines with a word, in the first panel.
    """
    panels = [(bars, x_label), *more]
    names = list(dict.fromkeys(name for bar in bars for name in bar.parts))
    lines = max(bar.label.count("\n") + 1 for bar in bars)
    inches = (style.PAGE_INCHES, 0.7 + (0.2 + 0.16 * lines) * len(bars))
    figure, axes = style.sheet(len(panels), title=title, caption=caption, panel_inches=inches, shared=names)
    for (rows, label), place in zip(panels, axes, strict=True):
        _draw_stacks(rows, names, place, inches=style.PAGE_INCHES / len(panels))
        place.set_xlabel(label)
    if levels:
        axes[0].set_xlim(right=max(axes[0].get_xlim()[1], *(1.2 * value for value, _ in levels)))
    style.heading(axes[0], "", legend=False, lines_below=style.marks(axes[0], levels))
    style.share_legend(figure, axes)
    return figure


def _draw_stacks(bars: Sequence[Stack], names: Sequence[str], axes: Axes, *, inches: float) -> None:
    sums = [sum(bar.parts.values()) for bar in bars]
    is_share = max(sums) - min(sums) < 0.04 * max(sums)  # then the sum has no meaning
    shown = max(range(len(bars)), key=lambda row: (not bars[row].published, row))  # this bar is in the legend
    left = [0.0] * len(bars)
    for index, name in enumerate(names):
        color = style.COLORS[index % len(style.COLORS)]
        for row, bar in enumerate(bars):
            value = bar.parts.get(name, 0)
            axes.barh(
                row, value, left=left[row], height=0.66, color="white" if bar.published else color,
                edgecolor=color if bar.published else "white", hatch=style.HATCHES[index % len(style.HATCHES)],
                linewidth=0.6 + 0.4 * bar.published, label=name if row == shown else "_",
            )  # fmt: skip
            if value / max(sums) * inches > 0.55:
                axes.annotate(
                    f"{value:.3g}", (left[row] + value / 2, row), ha="center", va="center", fontsize=7, color=style.INK,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
                )  # fmt: skip
            left[row] += value
    if not is_share:
        for row, total in enumerate(left):
            axes.annotate(
                f"{total:.4g}", (total, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
            )
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.grid(False, axis="y")
    axes.set_xlim(0, max(left) * (1.02 if is_share else 1.12))


def bars(
    panels: Sequence[BarPanel],
    *,
    title: str,
    caption: str,
    columns: int | None = None,
    panel_inches: tuple[float, float] = style.PANEL_INCHES,
) -> Figure:
    """Draw panels of standing bars."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.names))
    shared = names if len(names) > 1 else ()
    above = max(bool(panel.title) for panel in panels)
    if any(group.slack for panel in panels for group in panel.groups):
        caption = f"{caption} {style.WHISKERS}"
    figure, axes = style.sheet(
        len(panels), title=title, caption=caption, columns=columns, panel_inches=panel_inches, lines_above=above,
        shared=shared,
    )  # fmt: skip
    for panel, place in zip(panels, axes, strict=True):
        draw(panel, place)
    if shared:
        style.share_legend(figure, axes)
    return figure


def draw(panel: BarPanel, axes: Axes) -> None:
    """Draw one panel."""
    names = panel.names
    measured = [name for name in names if name not in panel.published]
    width = 0.8 / len(names)
    inches = style.inches_of(axes) - style.BESIDE_PANEL
    texts = [
        _text(value, panel.digits) for group in panel.groups for value in group.values.values() if value is not None
    ]
    is_narrow = max(map(len, texts)) * 0.065 > width * inches / len(panel.groups)  # then values stand upright
    if panel.log:
        axes.set_yscale("log")
        style.plain_ticks(axes.yaxis)
    for name in names:
        places, heights, slacks = [], [], []
        for position, group in enumerate(panel.groups):
            there = [other for other in names if group.values.get(other) is not None]
            if (value := group.values.get(name)) is not None:
                places.append(position + (there.index(name) - (len(there) - 1) / 2) * width)
                heights.append(value)
                slacks.append(group.slack)
        hollow = name in panel.published
        # Of several published series all but the first are hatched; the measured ones begin with a plain bar.
        index = panel.published.index(name) if hollow else measured.index(name)
        color = style.INK if hollow else style.COLORS[index % len(style.COLORS)]
        axes.bar(
            places, heights, width=width * 0.9, label=name, color="white" if hollow else color,
            edgecolor=color if hollow else "white", linewidth=0.9, zorder=2,
            hatch=style.HATCHES[index % len(style.HATCHES)],
        )  # fmt: skip
        if hollow and any(slacks):
            axes.errorbar(places, heights, yerr=slacks, linestyle="none", color=color, elinewidth=1, capsize=2.5)
        for place, height, slack in zip(places, heights, slacks, strict=True):
            axes.annotate(
                _text(height, panel.digits), (place, height + slack * hollow), xytext=(0, 2),
                textcoords="offset points", ha="center", fontsize=7, rotation=90 * is_narrow,
            )  # fmt: skip
    style.levels(axes, panel.levels)
    axes.set_xticks(range(len(panel.groups)), [group.label for group in panel.groups])
    axes.grid(False, axis="x")
    axes.margins(y=0.1)
    axes.set_ylabel(panel.y_label)
    style.heading(axes, panel.title, legend=False)


def _text(value: float, digits: int) -> str:
    return f"{value:.{digits}g}" if value < 10**digits else f"{value:.0f}"
