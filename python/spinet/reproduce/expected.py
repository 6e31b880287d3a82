# SPDX-License-Identifier: Apache-2.0
"""Expected values, and whether a measured one agrees."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from spinet._core import UsageError

REQUIRED = ("point", "quantity", "unit", "relation", "value", "tolerance", "reference", "source", "miss")
COLUMNS = (*REQUIRED, "basis")  # a file without values that are fitted needs no column for it
RELATIONS = ("=", ">=", "<=")
UNJUDGED = "none"  # the tolerance of a value that is not judged

HIT, MISS, KNOWN, STALE, OPEN = "hit", "miss", "known miss", "hits now", "not judged"
FITTED, CONSTRUCTED = "fitted", "by construction"
BASES = (FITTED, CONSTRUCTED)


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """A row of an expected file.

    Attributes
    ----------
    point, quantity
        The point and the quantity that the row is about.
    unit
        As people write it: ``ns``, ``Gbit/s``.
    relation
        ``=`` within the tolerance, or a bound: ``>=`` or ``<=``, which the tolerance softens.
    value
        The published value.
    tolerance
        ``10 %`` of the value, or an absolute amount such as ``2``; ``none`` if the publication allows no judgement.
    reference
        Who says so: ``paper``, ``RTL``, ``talk``, ``test bench``.
    source
        Where: section, table, figure, or the formula that the text states.
    miss
        Why the point misses, if it is known to; empty if it should not.
    basis
        ``fitted: why`` if a parameter was chosen with this value in view, ``by construction: why`` if the model is
        made of the value; empty if agreement is evidence.
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
    basis: str = ""

    @property
    def slack(self) -> float:
        """The tolerance in the unit of the value; 0 if the value is not judged."""
        if self.tolerance == UNJUDGED:
            return 0.0
        if self.tolerance.endswith("%"):
            return abs(self.value) * float(self.tolerance.rstrip("% ")) / 100
        return float(self.tolerance or 0)

    def agrees(self, measured: float | None) -> bool | None:
        """Returns true if a measured value is as expected, including the bounds of the tolerance.

        `None` if the value was not measured or is not judged.
        """
        if measured is None or self.tolerance == UNJUDGED:
            return None
        too_low = measured < self.value - self.slack - 1e-9
        too_high = measured > self.value + self.slack + 1e-9
        return not (too_low and self.relation != "<=") and not (too_high and self.relation != ">=")


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Verdict of an expectation or a statement.

    Attributes
    ----------
    status
        ``hit``, ``fitted`` and ``by construction`` (agreement without evidence), ``miss``, ``known miss``, ``hits now``
        (though listed as a miss), ``not judged``.
    """

    status: str

    @property
    def is_failure(self) -> bool:
        """True if it needs attention: an unexplained miss, or an explanation that is no longer true."""
        return self.status in (MISS, STALE)


def judge(*, agrees: bool | None, miss: str, basis: str = "") -> Verdict:
    """The status, from agreement (`None` if it cannot be judged), the reason given for a miss, and the basis of a
    hit.
    """
    if agrees is None:
        return Verdict(status=OPEN)
    if agrees:
        return Verdict(status=STALE if miss else basis_status(basis) or HIT)
    return Verdict(status=KNOWN if miss else MISS)


def basis_status(basis: str) -> str:
    """The verdict that a basis names; empty for an empty one.

    Raises
    ------
    ValueError
        If the basis is not ``fitted: why`` or ``by construction: why``.
    """
    status, _, why = basis.partition(":")
    if basis and (status not in BASES or not why.strip()):
        raise ValueError(f"basis is `{basis}`, must be `{FITTED}: why` or `{CONSTRUCTED}: why`")
    return status


def read(path: Path) -> list[Expectation]:
    """Rows of an expected file.

    Raises
    ------
    UsageError
        If the file lacks a column or has an impossible value.
    """
    with path.open(newline="") as text:
        rows = csv.DictReader(text)
        columns = tuple(rows.fieldnames or ())
        if columns not in (REQUIRED, COLUMNS):
            raise UsageError(f"{path}: the columns are {rows.fieldnames}, must be {', '.join(COLUMNS)}")
        return [_row(path, rows.line_num, row, n_columns=len(columns)) for row in rows]


def _row(path: Path, line: int, row: dict[str, str], *, n_columns: int) -> Expectation:
    where = f"{path}:{line}"
    if any(value is None for value in row.values()) or None in row:
        raise UsageError(f"{where}: not {n_columns} columns")
    if row["relation"] not in RELATIONS:
        raise UsageError(f"{where}: relation is `{row['relation']}`, must be one of {', '.join(RELATIONS)}")
    if not row["source"] or not row["reference"]:
        raise UsageError(f"{where}: an expected value needs a reference and a source")
    try:
        found = Expectation(**{**row, "value": float(row["value"])})  # type: ignore[arg-type]
        found.slack  # noqa: B018
        basis_status(found.basis)
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error
    if found.miss and found.tolerance == UNJUDGED:
        raise UsageError(f"{where}: a value that is not judged cannot miss")
    return found
