# SPDX-License-Identifier: Apache-2.0
"""Summaries of runs as rows of one table."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spinet._core import UsageError
from spinet.sweeps.workers import Done

if TYPE_CHECKING:
    import pyarrow as pa

# Columns to print if none is named.
USUAL = (
    "packets.dropped",
    "throughput.out_gbps",
    "latency_ns.median",
    "latency_ns.p99",
    "bottleneck",
)


def of(done: Done) -> dict[str, Any]:
    """The row of a run: its number, its settings, its error, and all values of its summary by dotted keys."""
    tag, error = done.job.tag, done.error
    summary = {} if error is not None else dict(flat(done.value))
    settings = {name: _setting(value) for name, value in tag.settings.items()}
    return {
        "run": tag.number,
        **settings,
        "error": None if error is None else str(error),
        **_without(summary, settings),
    }


def _without(summary: dict[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in summary.items() if name not in settings}


def _setting(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def flat(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All numbers, texts and truth values of a summary by dotted keys.

    Entries of a list are known by their `name`; of a list without names, such as `remarks`, the length is given.

    >>> dict(flat({"packets": {"in": 4}, "tenants": [{"name": "gold", "share": 0.5}], "remarks": []}))
    {'packets.in': 4, 'tenants.gold.share': 0.5, 'remarks': 0}
    """
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from flat(inner, f"{name}.")
        elif not isinstance(inner, list):
            yield name, inner
        elif inner and all(isinstance(each, Mapping) and isinstance(each.get("name"), str) for each in inner):
            for each in inner:
                rest = {part: one for part, one in each.items() if part != "name"}
                yield from flat(rest, f"{name}.{each['name']}.")
        else:
            yield name, len(inner)


def table(rows: Sequence[Mapping[str, Any]], varied: Sequence[str]) -> pa.Table:
    """All rows; a value that a run does not have is null."""
    import pyarrow as pa

    names = list(dict.fromkeys(["run", *varied, "error", *(name for row in rows for name in row)]))
    return pa.table({name: _column([row.get(name) for row in rows]) for name in names})


def _column(values: list[Any]) -> pa.Array:
    import pyarrow as pa

    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} and float in kinds:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    if kinds == {int}:
        return pa.array(values, pa.int64() if all(-(1 << 63) <= v < 1 << 63 for v in values if v is not None) else None)
    if kinds == {bool}:
        return pa.array(values, pa.bool_())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def check_column(name: str, known: Sequence[str], *, file: str = "") -> None:
    """Refuse the name of a column that does not exist.

    Raises
    ------
    UsageError
        The text has a similar name.
    """
    if name in known:
        return
    near = difflib.get_close_matches(name, known, n=1) or [one for one in known if one.endswith(f".{name}")][:1]
    where = f"{file}: " if file else ""
    hint = f"did you mean {near[0]}?" if near else "docs/reference/summary.md has all keys of summaries"
    raise UsageError(f"{where}there is no column `{name}`", hint=hint)
