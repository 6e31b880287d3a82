# SPDX-License-Identifier: Apache-2.0
"""Columns of a card's tables with the times of packets: arrival, waiting, processing and departure."""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """A resource that is occupied for spans of time, such as cores by handlers."""

    title: str
    spans: tuple[tuple[str, str], ...]  # columns: begin, end
    groups: tuple[str, ...] = ()  # columns that say where, one for each span; empty: one line for all
    group: str = ""  # the noun of a group
    weight: str = ""  # column with the amount that a row occupies; empty: each row counts as one
    table: str = ""  # empty: the table of packets
    resource: str = ""  # pattern of the resources whose number of units is the maximum occupancy


class Timing(NamedTuple):
    """Columns of the table of packets, with times in picoseconds."""

    came: str
    bytes: str
    done: str
    left: str
    left_bytes: str
    latency: tuple[str, str]  # begin, end
    way: str = ""  # column that separates directions
    levels: tuple[Level, ...] = ()
