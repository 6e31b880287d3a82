# SPDX-License-Identifier: Apache-2.0
"""Which columns of a card's tables say when packets came, waited, were worked on and left."""

from __future__ import annotations

from typing import NamedTuple


class Level(NamedTuple):
    """Something that is occupied from one time to another, such as cores by handlers."""

    title: str
    spans: tuple[tuple[str, str], ...]  # columns: begin, end
    groups: tuple[str, ...] = ()  # columns that say where, one for each span; empty: one line for all
    group: str = ""  # the noun of a group
    weight: str = ""  # column of what a row occupies; empty: each row counts as one
    table: str = ""  # empty: the table of packets
    resource: str = ""  # pattern of the resources whose units are the most that can be occupied


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
