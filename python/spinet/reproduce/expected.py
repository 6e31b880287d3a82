# SPDX-License-Identifier: Apache-2.0
"""Expected values, and whether a measured one agrees."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from spinet._core import UsageError

COLUMNS = ("point", "quantity", "unit", "relation", "value", "tolerance", "reference", "source", "miss")
RELATIONS = ("=", ">=", "<=")

HIT, MISS, KNOWN, STALE, OPEN = "hit", "miss", "known miss", "hits now", "not judged"


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """A row of an expected file.

    Attributes
    ----------
    point, quantity
        What it is about.
    unit
        As people write it: ``ns``, ``Gbit/s``.
    relation
        ``=`` within the tolerance, or a bound: ``>=`` or ``<=``, which the tolerance softens.
    value
        The published value.
    tolerance
        ``10 %`` of the value, or an absolute amount such as ``2``.
    reference
        Who says so: ``paper``, ``RTL``, ``talk``.
    source
        Where: section, table, figure, or the formula that the text states.
    miss
        Why the point misses, if it is known to; empty if it should not.
    """

    point: str
    quantity: str
    unit: str
    relation: str
    value: float
    tolerance: str
    reference: str
    source: str
    miss: str

    @property
    def slack(self) -> float:
        """The tolerance in the unit of the value."""
        if self.tolerance.endswith("%"):
            return abs(self.value) * float(self.tolerance.rstrip("% ")) / 100
        return float(self.tolerance or 0)

    def agrees(self, measured: float) -> bool:
        """Whether a measured value is what was expected; the bounds of the tolerance are part of it."""
        too_low = measured < self.value - self.slack - 1e-9
        too_high = measured > self.value + self.slack + 1e-9
        return not (too_low and self.relation != "<=") and not (too_high and self.relation != ">=")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What became of an expectation or a statement.

    Attributes
    ----------
    status
        ``hit``, ``miss``, ``known miss``, ``hits now`` (though listed as a miss), ``not judged``.
    """

    status: str

    @property
    def is_failure(self) -> bool:
        """Whether somebody has to look: an unexplained miss, or an explanation that has become wrong."""
        return self.status in (MISS, STALE)


def judge(*, agrees: bool | None, miss: str) -> Verdict:
    """From whether a value agrees (`None` if nobody can tell) and the reason given for a miss."""
    if agrees is None:
        return Verdict(status=OPEN)
    if agrees:
        return Verdict(status=STALE if miss else HIT)
    return Verdict(status=KNOWN if miss else MISS)


def read(path: Path) -> list[Expectation]:
    """Rows of an expected file.

    Raises
    ------
    UsageError
        If the file lacks a column or says what cannot be.
    """
    with path.open(newline="") as text:
        rows = csv.DictReader(text)
        if tuple(rows.fieldnames or ()) != COLUMNS:
            raise UsageError(f"{path}: the columns are {rows.fieldnames}, must be {', '.join(COLUMNS)}")
        return [_row(path, rows.line_num, row) for row in rows]


def _row(path: Path, line: int, row: dict[str, str]) -> Expectation:
    where = f"{path}:{line}"
    if any(value is None for value in row.values()) or None in row:
        raise UsageError(f"{where}: not {len(COLUMNS)} columns")
    if row["relation"] not in RELATIONS:
        raise UsageError(f"{where}: relation is `{row['relation']}`, must be one of {', '.join(RELATIONS)}")
    if not row["source"] or not row["reference"]:
        raise UsageError(f"{where}: an expected value needs a reference and a source")
    try:
        found = Expectation(**{**row, "value": float(row["value"])})  # type: ignore[arg-type]
        found.slack  # noqa: B018
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    return found
