# SPDX-License-Identifier: Apache-2.0
"""Any two columns of a table: lines through means where values of x repeat or are few, else a dot for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinet._core import UsageError
from spinet.plots import style

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_GROUPS = 12
_MOST_ON_A_LINE = 200  # values of x
_MOST_NAMES = 40  # texts on an axis


def columns(
    table: pa.Table,
    x: str,
    y: str,
    *,
    by: str | None = None,
    title: str = "",
    log_x: bool = False,
    log_y: bool = False,
) -> Figure:
    """Draw a column over another one.

    Rows with equal `x` are one point, their mean; the band around a line goes from the least to the greatest of them.

    Parameters
    ----------
    table
        A table with these columns; rows without a value of one of them are left out.
    x, y
        Names of columns. `y` has numbers.
    by
        A column whose values get a line each, at most 12.
    title
        Title of the figure.
    log_x, log_y
        Logarithmic axes.

    Raises
    ------
    UsageError
        If a column does not exist, `y` has no numbers, or `by` has too many values.
    """
    from spinet.sweeps import rows

    for name in (x, y, *([by] if by else [])):
        rows.check_column(name, table.column_names)
    chosen = table.select(list(dict.fromkeys([x, y, *([by] if by else [])])))
    found = [row for row in chosen.to_pylist() if row[x] is not None and row[y] is not None]
    if not found:
        raise UsageError(f"no row has both `{x}` and `{y}`")
    if any(not isinstance(row[y], int | float) for row in found):
        raise UsageError(f"`{y}` has texts, must have numbers", hint="draw it as X, or with --by")
    names = None if all(isinstance(row[x], int | float) for row in found) else _names(x, [row[x] for row in found])
    groups: dict[Any, list[tuple[float, float]]] = {}
    for row in found:
        at = row[x] if names is None else names.index(str(row[x]))
        groups.setdefault(row[by] if by else None, []).append((at, row[y]))
    if len(groups) > MOST_GROUPS:
        raise UsageError(
            f"`{by}` has {len(groups)} values, must have at most {MOST_GROUPS}", hint="take fewer: --where"
        )
    labels = [] if by is None else [f"{by} = {value}" for value in groups]
    lines = style.legend_lines(labels, style.PAGE_INCHES - style.BESIDE_PANEL) if by else 0
    figure, (axes,) = style.sheet(
        1, title=title or f"{y} over {x}", caption="", panel_inches=(7.2, 4.4), lines_above=lines
    )
    is_band = False
    for look, (value, points) in enumerate(_ordered(groups)):
        is_band |= _draw(axes, points, look, f"{by} = {value}" if by else "", names is not None)
    axes.set_xlabel(x)
    axes.set_ylabel(y if not is_band else f"{y} (mean; band: least to greatest)")
    _scale(axes, found, x, y, names, log_x=log_x, log_y=log_y)
    style.heading(axes, "", legend=by is not None, lines_below=0)
    return figure


def _draw(axes: Axes, points: Sequence[tuple[float, float]], look: int, label: str, is_named: bool) -> bool:
    """Draw a group; returns true if it has a band."""
    at: dict[float, list[float]] = {}
    for x, y in points:
        at.setdefault(x, []).append(y)
    color, marker = style.COLORS[look % len(style.COLORS)], style.MARKERS[look % len(style.MARKERS)]
    if len(at) > _MOST_ON_A_LINE:
        axes.plot(
            [x for x, _ in points], [y for _, y in points], linestyle="none", marker=".", markersize=2, color=color,
            label=label or "_", rasterized=True, zorder=3,
        )  # fmt: skip
        return False
    xs = sorted(at)
    means = [sum(at[x]) / len(at[x]) for x in xs]
    axes.plot(
        xs, means, label=label or "_", color=color, linewidth=1.6, marker=marker, markersize=4.2, markeredgewidth=0,
        linestyle="none" if is_named else style.DASHES[look % len(style.DASHES)], zorder=3,
    )  # fmt: skip
    is_band = any(len(ys) > 1 and min(ys) < max(ys) for ys in at.values())
    if is_band and is_named:
        axes.vlines(xs, [min(at[x]) for x in xs], [max(at[x]) for x in xs], color=color, linewidth=1, zorder=2)
    elif is_band:
        low, high = [min(at[x]) for x in xs], [max(at[x]) for x in xs]
        axes.fill_between(xs, low, high, color=color, alpha=0.18, linewidth=0, zorder=2)
    return is_band


def _ordered(groups: Mapping[Any, list[tuple[float, float]]]) -> list[tuple[Any, list[tuple[float, float]]]]:
    try:
        return sorted(groups.items())
    except TypeError:  # texts and numbers
        return list(groups.items())


def _names(column: str, values: Sequence[Any]) -> list[str]:
    names = list(dict.fromkeys(map(str, values)))
    if len(names) > _MOST_NAMES:
        raise UsageError(f"`{column}` has {len(names)} texts, at most {_MOST_NAMES} fit on an axis")
    return names


def _scale(
    axes: Axes,
    found: Sequence[Mapping[str, Any]],
    x: str,
    y: str,
    names: Sequence[str] | None,
    *,
    log_x: bool,
    log_y: bool,
) -> None:
    for name, is_log, axis in ((x, log_x, "x"), (y, log_y, "y")):
        if is_log and (axis == "y" or names is None):
            if min(row[name] for row in found) <= 0:
                raise UsageError(f"`{name}` has values of 0 or less, which a logarithmic axis does not have")
            getattr(axes, f"set_{axis}scale")("log", base=2 if axis == "x" else 10)
            style.plain_ticks(getattr(axes, f"{axis}axis"))
    if names is not None:
        turned = 30 if sum(map(len, names)) > 60 else 0
        axes.set_xticks(range(len(names)), names, rotation=turned, ha="right" if turned else "center")
    if not log_y and min(row[y] for row in found) >= 0:
        axes.set_ylim(bottom=0)
