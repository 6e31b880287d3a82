# SPDX-License-Identifier: Apache-2.0
"""Figures: functions that take data and return a matplotlib figure.

Axes have units, captions have sources. No color carries meaning alone: series differ in marker, line style or hatch,
too.
matplotlib comes with the extra `plot`: ``pip install 'spinet[plot]'``.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _files
from spinet._core import UsageError
from spinet.plots.bars import BarPanel, Group, Stack, bars, stacks
from spinet.plots.boxes import BoxPanel, Spread, boxes
from spinet.plots.columns import columns
from spinet.plots.curves import Curve, Panel, curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "BarPanel",
    "BoxPanel",
    "Curve",
    "Group",
    "Panel",
    "Spread",
    "Stack",
    "bars",
    "boxes",
    "columns",
    "curves",
    "require",
    "save",
    "save_as",
    "stacks",
]

_DPI = 160


def require(*, hint: str = "pip install 'spinet[plot]', or --no-plot") -> None:
    """Complain if matplotlib is missing.

    Raises
    ------
    UsageError
        The hint says what to install.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise UsageError("figures need matplotlib, which is not installed", hint=hint)


def save(figure: Figure, base: Path, *, png: bool = True) -> None:
    """Write a figure as `base`.svg and `base`.png; equal figures give equal files."""
    for suffix in (".svg", ".png") if png else (".svg",):
        save_as(figure, base.with_suffix(suffix))


# Files contain no date and no name of the program that made them.
_METADATA: dict[str, dict[str, Any]] = {
    ".svg": {"Date": None, "Creator": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def save_as(figure: Figure, path: Path) -> None:
    """Write a figure as .svg, .png or .pdf; equal figures give equal files."""
    _files.write(path, _drawn(figure, path.suffix))


def svg(figure: Figure) -> str:
    """Return a figure as the text of an SVG file; equal figures give equal texts."""
    return _drawn(figure, ".svg").decode()


def _drawn(figure: Figure, suffix: str) -> bytes:
    import matplotlib as mpl

    drawn = io.BytesIO()
    # Text stays text: small files, and readers can search it.
    with (
        mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "spinet", "hatch.linewidth": 0.5}),
        _laid_out(figure) if suffix == ".svg" else contextlib.nullcontext(),
    ):
        figure.savefig(drawn, format=suffix[1:], dpi=_DPI, metadata=_METADATA[suffix])
    return _numbered(drawn.getvalue()) if suffix == ".svg" else drawn.getvalue()


@contextlib.contextmanager
def _laid_out(figure: Figure) -> Iterator[None]:
    """Lay a figure out for an SVG file. With a layout engine, `savefig` would draw twice to find the layout."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    engine, canvas, dpi = figure.get_layout_engine(), figure.canvas, figure.dpi
    if engine is None:
        yield
        return
    FigureCanvasSVG(figure)
    figure.dpi = FigureCanvasSVG.fixed_dpi
    engine.execute(figure)
    figure.set_layout_engine(None)
    try:
        yield
    finally:
        figure.set_layout_engine(engine)
        figure.dpi = dpi
        figure.set_canvas(canvas)


def _numbered(svg: bytes) -> bytes:
    """The same picture with identities that depend only on its content.

    Matplotlib hashes all digits of coordinates, and the last digit of a layout differs from run to run. Identities of
    different pictures differ, because a page can contain several.
    """
    hashes = dict.fromkeys(re.findall(rb'id="([a-z][0-9a-f]{10})"', svg))
    numbers = {name: b"%c%d" % (name[0], number) for number, name in enumerate(hashes, 1)}

    def renamed(suffix: bytes) -> bytes:
        return _HASH.sub(lambda found: numbers[found[0]] + suffix if found[0] in numbers else found[0], svg)

    return renamed(b"-" + hashlib.sha256(renamed(b"")).hexdigest()[:8].encode())


_HASH = re.compile(rb"\b[a-z][0-9a-f]{10}\b")
