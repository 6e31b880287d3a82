# SPDX-License-Identifier: Apache-2.0
"""Drawings of cards: a checked design in, SVG out. Requesters are left of responders, except in cycles.

A drawing is made in steps, one file each: `boxes` makes of a design a tree of boxes, in which copies are drawn once;
`layers` says which box stands in which column, and in which order; `places` gives all of it coordinates; `paint`
writes it. All numbers are whole, so a design has one drawing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from spinet.drawing import boxes, paint, places

if TYPE_CHECKING:
    from spinet.wiring import Design


def svg(design: Design) -> str:
    """The drawing of a design, as the text of an SVG file."""
    root = boxes.tree(design)
    places.place(root)
    return paint.paint(design, root)
