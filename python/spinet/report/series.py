# SPDX-License-Identifier: Apache-2.0
"""Numbers over time and over packets, from the tables of a run: rates, latencies, occupancy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet._timing import Level, Timing

Times = npt.NDArray[np.float64]  # nanoseconds; NaN where the table has null

BINS = 120
PERCENTILES = (0, 1, 5, 25, 50, 75, 90, 95, 99, 99.9, 99.99, 100)
_NAMES: dict[float, str] = {0: "min", 1: "1st percentile", 50: "median", 100: "max"}


@dataclass(frozen=True)
class Line:
    """A named line of a chart."""

    name: str
    values: Times  # one for each bin; NaN without a value


def of(table: pa.Table, column: str) -> Times:
    """A column as numbers; NaN where it is null."""
    values: Times = table[column].to_numpy().astype(np.float64)
    return values


def times(table: pa.Table, column: str) -> Times:
    """A column of picoseconds in nanoseconds."""
    return of(table, column) / 1000


class Packets:
    """The packets of a run over its time, which is cut into `BINS` equal parts.

    Raises
    ------
    KeyError
        If a table lacks a column.
    """

    def __init__(self, table: pa.Table, more: Mapping[str, pa.Table], timing: Timing) -> None:
        self.table, self.more, self.timing = table, more, timing

    @cached_property
    def edges(self) -> Times:
        """Borders of the bins, in nanoseconds since reset."""
        begin, end = times(self.table, self.timing.came), times(self.table, self.timing.done)
        known = np.concatenate([begin, end, times(self.table, self.timing.left)])
        known = known[~np.isnan(known)]
        first, last = (0.0, 1.0) if known.size == 0 else (float(known.min()), float(known.max()))
        return np.linspace(first, max(last, first + 1), BINS + 1)

    @property
    def middles(self) -> Times:
        """Middles of the bins."""
        middles: Times = (self.edges[1:] + self.edges[:-1]) / 2
        return middles

    @cached_property
    def ways(self) -> dict[str, pa.Table]:
        """Packets by direction; one without a name if the card does not separate them."""
        import pyarrow.compute as pc

        if not self.timing.way:
            return {"": self.table}
        column = self.table[self.timing.way].cast("string")
        return {name: self.table.filter(pc.equal(column, name)) for name in sorted(set(column.to_pylist()))}

    def rates(self) -> list[Line]:
        """Gbit/s into the card and out of it."""
        lines = []
        for way, table in self.ways.items():
            for word, at, size in (
                ("in", self.timing.came, self.timing.bytes),
                ("out", self.timing.left, self.timing.left_bytes),
            ):
                when, bits = times(table, at), 8 * np.nan_to_num(of(table, size))
                there = ~np.isnan(when)
                summed, _ = np.histogram(when[there], self.edges, weights=bits[there])
                lines.append(Line(f"{way} {word}".strip(), summed / np.diff(self.edges)))
        return lines

    @cached_property
    def latencies(self) -> dict[str, tuple[Times, Times]]:
        """By direction: when each finished packet was done, and its time in the card in nanoseconds."""
        found = {}
        for way, table in self.ways.items():
            begin, end = (times(table, column) for column in self.timing.latency)
            there = ~np.isnan(begin) & ~np.isnan(end)
            found[way] = (end[there], (end - begin)[there])
        return found

    def latency_over_time(self) -> list[Line]:
        """Median, 99th percentile and maximum of the packets that were done in each bin."""
        lines = []
        for way, (done, latency) in self.latencies.items():
            order = np.argsort(done, kind="stable")
            cuts = np.searchsorted(done[order], self.edges[1:-1])
            bins = np.split(latency[order], cuts)
            for name, q in (("median", 50.0), ("99th percentile", 99.0), ("max", 100.0)):
                values = np.array([np.percentile(one, q) if one.size else np.nan for one in bins])
                lines.append(Line(f"{way} {name}".strip(), values))
        return lines

    def histogram(self) -> tuple[Times, list[Line], bool]:
        """Borders of the bars, packets in each by direction, and true if the scale of time is logarithmic."""
        everything = np.concatenate([latency for _, latency in self.latencies.values()])
        least, most = (1.0, 2.0) if everything.size == 0 else (float(everything.min()), float(everything.max()))
        is_log = 0 < 10 * least < most
        if is_log:
            edges = np.geomspace(least, most, 61)
            edges[0], edges[-1] = least, most  # rounding may leave some out
        else:
            edges = np.linspace(least, most if most > least else least + 1, 61)
        lines = [
            Line(way, np.histogram(latency, edges)[0].astype(np.float64))
            for way, (_, latency) in self.latencies.items()
        ]
        return edges, lines, is_log

    def percentiles(self) -> list[tuple[str, list[float]]]:
        """Names of percentiles, each with its latency by direction."""
        columns = [latency for _, latency in self.latencies.values() if latency.size]
        rows = []
        for q in PERCENTILES:
            name = _NAMES.get(q, f"{q:g}th percentile")
            rows.append((name, [float(np.percentile(latency, q)) for latency in columns]))
        return rows if columns else []

    def level(self, level: Level) -> list[Line]:
        """The mean number that is occupied in each bin, by group."""
        table = self.more[level.table] if level.table else self.table
        weight = of(table, level.weight) if level.weight else np.ones(table.num_rows)
        sums: dict[str, Times] = {}
        for at, (begin, end) in enumerate(level.spans):
            from_, to = times(table, begin), times(table, end)
            there = ~np.isnan(from_) & ~np.isnan(to)
            where = of(table, level.groups[at]) if level.groups else np.zeros(table.num_rows)
            for one in np.unique(where[there & ~np.isnan(where)]):
                chosen = there & (where == one)
                name = f"{level.group} {int(one)}" if level.groups else ""
                mean = self._mean(from_[chosen], to[chosen], weight[chosen])
                sums[name] = sums.get(name, np.zeros(BINS)) + mean
        return [Line(name, sums[name]) for name in sorted(sums, key=_natural)]

    def _mean(self, begin: Times, end: Times, weight: Times) -> Times:
        """The mean sum of weights in each bin; a row counts from its begin to its end."""
        until = self._until(begin, weight) - self._until(end, weight)
        mean: Times = np.diff(until) / np.diff(self.edges)
        return mean

    def _until(self, at: Times, weight: Times) -> Times:
        """At each border of a bin: the sum over rows of weight and time since `at`, for rows that have begun."""
        order = np.argsort(at, kind="stable")
        # Relative to the first border, so that sums over many rows keep their digits.
        at, weight = at[order] - self.edges[0], weight[order]
        edges = self.edges - self.edges[0]
        weights, moments = np.cumsum(weight), np.cumsum(weight * at)
        begun = np.searchsorted(at, edges, side="right")
        have = begun > 0
        until = np.zeros(edges.size)
        until[have] = weights[begun[have] - 1] * edges[have] - moments[begun[have] - 1]
        return until

    def drops(self, column: str = "reason") -> list[Line]:
        """Packets that were dropped in each bin, by reason, at the time at which they came."""
        if column not in self.table.column_names:
            return []
        reasons = np.asarray(self.table[column].cast("string").to_pylist(), dtype=object)
        came = times(self.table, self.timing.came)
        lines = []
        for reason in sorted({str(reason) for reason in reasons if reason}):
            chosen = (reasons == reason) & ~np.isnan(came)
            lines.append(Line(reason, np.histogram(came[chosen], self.edges)[0].astype(np.float64)))
        return lines


def _natural(name: str) -> tuple[str, int]:
    word, _, number = name.rpartition(" ")
    return (word, int(number)) if number.isdigit() else (name, 0)


def unit(span_ns: float) -> tuple[str, float]:
    """The unit for times of this size, and its nanoseconds."""
    for name, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if span_ns >= 2 * size:
            return name, size
    return "ns", 1.0


def rounded(values: Any) -> list[float | None]:
    """Numbers for JSON, with six digits; None for NaN."""
    return [None if np.isnan(value) else float(f"{value:.6g}") for value in np.asarray(values, dtype=np.float64)]
