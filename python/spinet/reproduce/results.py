# SPDX-License-Identifier: Apache-2.0
"""The measured values, as a table for plots and claims."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from spinet import _files
from spinet.reproduce.expected import Expectation
from spinet.reproduce.experiment import Experiment, Point, Setting


@dataclass(frozen=True, kw_only=True)
class Row:
    """A point and what was measured there."""

    point: Point
    measured: Mapping[str, float]


class Series(TypedDict):
    """Points of a curve, and how far measured ones may be from them."""

    x: list[float]
    y: list[float]
    slack: list[float]


class Results:
    """Measured points of one experiment, in the order of its points.

    Parameters
    ----------
    experiment
        Whose results these are.
    measured
        Quantities by name of the point; points may be missing.
    """

    def __init__(self, experiment: Experiment, measured: Mapping[str, Mapping[str, float]]) -> None:
        self.experiment = experiment
        self.rows: list[Row] = [
            Row(point=point, measured=measured[point.name]) for point in experiment.points if point.name in measured
        ]
        self._by_name = {row.point.name: row for row in self.rows}

    @property
    def complete(self) -> bool:
        """True if every point was measured."""
        return len(self.rows) == len(self.experiment.points)

    def get(self, point: str, quantity: str) -> float | None:
        """A measured value; `None` if the point was not measured."""
        row = self._by_name.get(point)
        return None if row is None else row.measured[quantity]

    def value(self, point: str, quantity: str) -> float:
        """A measured value of a point that was measured."""
        return self._by_name[point].measured[quantity]

    def select(self, **settings: Setting) -> list[Row]:
        """Rows with these settings."""
        return [row for row in self.rows if all(row.point.settings.get(key) == v for key, v in settings.items())]

    def series(self, x: str, y: str, **settings: Setting) -> tuple[list[float], list[float]]:
        """Setting `x` and quantity `y` of the rows with these settings, sorted by `x`."""
        pairs = sorted((float(row.point.settings[x]), row.measured[y]) for row in self.select(**settings))
        return [pair[0] for pair in pairs], [pair[1] for pair in pairs]

    def published(self, quantity: str, reference: str = "paper") -> list[tuple[Point, Expectation]]:
        """Expected values of a quantity, each with its point."""
        points = {point.name: point for point in self.experiment.points}
        return [
            (points[row.point], row)
            for row in self.experiment.expected
            if row.quantity == quantity and row.reference == reference
        ]

    def published_series(
        self, x: str, quantity: str, *, reference: str = "paper", scale: float = 1, **settings: Setting
    ) -> Series:
        """Expected values of the points with these settings over setting `x`, for a curve of a plot."""
        rows = sorted(
            (float(point.settings[x]), row.value * scale, row.slack * scale)
            for point, row in self.published(quantity, reference)
            if all(point.settings.get(key) == value for key, value in settings.items())
        )
        return {"x": [row[0] for row in rows], "y": [row[1] for row in rows], "slack": [row[2] for row in rows]}


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """One line a point: its name, its settings, what was measured."""
    settings = _names(row.point.settings for row in rows)
    measured = _names(row.measured for row in rows)
    text = io.StringIO(newline="")
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["point", *settings, *measured])
    for row in rows:
        given = [row.point.settings.get(name, "") for name in settings]
        found = [number(row.measured[name]) if name in row.measured else "" for name in measured]
        out.writerow([row.point.name, *given, *found])
    _files.write(path, text.getvalue())


def read_csv(path: Path, experiment: Experiment) -> Results:
    """Results that `write_csv` has written; columns that are settings are left out."""
    known = {name for point in experiment.points for name in point.settings}
    measured = {}
    with path.open(newline="") as text:
        for line in csv.DictReader(text):
            name = line.pop("point")
            measured[name] = {key: float(text) for key, text in line.items() if key not in known and text != ""}
    return Results(experiment, measured)


def number(value: float) -> str:
    """A measured value, rounded to its significant digits."""
    if math.isfinite(value) and float(value).is_integer():
        return str(int(value))
    return f"{value:.6g}"


def _names(tables: Iterable[Mapping[str, object]]) -> list[str]:
    """Keys of all tables, in the order in which they first appear."""
    return list(dict.fromkeys(name for table in tables for name in table))
