# SPDX-License-Identifier: Apache-2.0
"""Figures can be read: no wider than a page, nothing cut off, no words on each other, no legend on data."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from spinet import plots, reproduce
from spinet.plots import style
from spinet.reproduce.results import read_csv

ROOT = Path(__file__).resolve().parent.parent.parent


def faults(figure: Figure) -> list[str]:
    """Defects that a reader would notice, in a figure that was saved, so all its parts have their places."""
    figure.set_layout_engine("none")
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    found = []
    if figure.get_size_inches()[0] > style.PAGE_INCHES + 0.01:
        found.append(f"{figure.get_size_inches()[0]:.1f} inches wide")
    unseen = {label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in beyond(axis)}
    words = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    words = [text for text in words if text not in unseen]
    places = [(text.get_text(), text.get_window_extent()) for text in words]
    sheet = figure.bbox.padded(2)
    found += [f"cut off: {word}" for word, box in places if not inside(box, sheet)]
    found += [f"{a} on {b}" for (a, one), (b, two) in combinations(places, 2) if overlap(one, two)]
    panels = [axes.patch.get_window_extent() for axes in figure.axes]
    legends = [legend for legend in figure.findobj(Legend) if legend.get_visible()]
    found += [
        f"legend on data: {[text.get_text() for text in legend.get_texts()]}"
        for legend in legends
        if any(overlap(legend.get_window_extent(), panel) for panel in panels)
    ]
    return found


def beyond(axis: Axis) -> list[Text]:
    """Labels of ticks outside the axis, which matplotlib keeps but does not draw."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [tick.label1 for tick in ticks if not low - room <= tick.get_loc() <= high + room]


def inside(box: Bbox, sheet: Bbox) -> bool:
    return bool(box.x0 >= sheet.x0 and box.x1 <= sheet.x1 and box.y0 >= sheet.y0 and box.y1 <= sheet.y1)


def overlap(one: Bbox, two: Bbox) -> bool:
    """True if the boxes overlap by more than the margin around a letter."""
    width = min(one.x1, two.x1) - max(one.x0, two.x0)
    height = min(one.y1, two.y1) - max(one.y0, two.y0)
    return bool(width > 1.5 and height > 3)


@pytest.mark.parametrize("name", reproduce.find())
def test_a_figure_is_that_of_its_results_and_can_be_read(name: str) -> None:
    experiment = reproduce.load(name)
    data = ROOT / "docs" / "experiments" / f"{name}.csv"
    figure = experiment.plot(read_csv(data, experiment))
    assert plots.svg(figure) == data.with_suffix(".svg").read_text(), "the figure is old: run `make docs`"
    assert not faults(figure)


def test_words_on_each_other_are_found() -> None:
    curve = plots.Curve(label="a", x=[1, 2], y=[1, 2])
    levels = [(1.0, "one"), (1.01, "beside one")]
    figure = plots.curves(
        [plots.Panel(x_label="x", y_label="y", curves=[curve], levels=levels)], title="t", caption="c"
    )
    plots.svg(figure)
    assert faults(figure) == ["one on beside one"]


@pytest.mark.parametrize(("least", "greatest"), [(16, 31), (60, 350), (3, 40), (0.6, 30), (1, 5000)])
def test_a_logarithmic_axis_has_at_least_two_numbers(least: float, greatest: float) -> None:
    curve = plots.Curve(label="one", x=[1, 2], y=[least, greatest])
    figure = plots.curves(
        [plots.Panel(y_label="time", x_label="size", curves=[curve], y_base=10)], title="t", caption="c"
    )
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    axis = figure.axes[0].yaxis
    low, high = axis.get_view_interval()
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    assert sum(low <= tick.get_loc() <= high and bool(tick.label1.get_text()) for tick in ticks) >= 2
