# SPDX-License-Identifier: Apache-2.0
"""Drawings of cards: a checked design in, SVG out. Requesters are left of responders, except in cycles.

A drawing is made in steps, one file each: `boxes` turns a design into a tree of boxes, in which copies are drawn once;
`layers` gives each box a column, and a place in it; `places` gives all of it coordinates; `paint`
writes it. All numbers are integers, so equal designs have equal drawings.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from spinet.drawing import boxes, loads, paint, places

if TYPE_CHECKING:
    from spinet.wiring import Design


def svg(design: Design, *, busy: Mapping[str, float] | None = None) -> str:
    """The drawing of a design, as the text of an SVG file.

    Parameters
    ----------
    busy
        Shares of time, from 0 to 1, for which resources of a run were busy, by the names of the summary. Their parts
        and connections show them. A box that stands for several copies shows the busiest.
    """
    root = boxes.tree(design)
    places.place(root)
    return paint.paint(design, root, loads.of(design, busy or {}))
