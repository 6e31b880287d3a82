# SPDX-License-Identifier: Apache-2.0
"""The files of a run that a report shows."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _files, _kinds, output, packet_table
from spinet._core import InputError
from spinet.report.series import Packets

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet.paths import Paths
    from spinet.profile import Profile

_HINT = "spinet run -o DIR writes it"
# Keys of the summary of every kind of card that a report needs.
_KEYS = (
    "spinet", "kind", "nic", "seed", "digest", "ended", "remarks", "packets", "throughput", "steady", "latency_ns",
    "time", "resources", "bottleneck", "experiment",
)  # fmt: skip


class Run:
    """The folder of a run.

    Attributes
    ----------
    folder
        Its path.
    summary
        The summary; it has the keys that all kinds have.
    kind
        The kind of the card.

    Raises
    ------
    UsageError
        If it has no summary.
    InputError
        If the summary is damaged.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.summary: dict[str, Any] = output.read(folder / output.SUMMARY, _summary, hint=_HINT)
        self.kind = _kinds.get(self.summary["kind"])

    @cached_property
    def packets(self) -> Packets | None:
        """Packets over time; None if the run kept no table of them.

        Raises
        ------
        InputError
            If a table is damaged or lacks a column.
        """
        timing = self.kind.timing
        if timing is None or not self._has(self.kind.rows):
            return None
        names = {level.table for level in timing.levels if level.table}
        table = self._table(self.kind.rows)
        more = {name: self._table(name) for name in names}
        wanted = [(table, self.kind.rows, [timing.came, timing.bytes, timing.done, timing.left, timing.left_bytes])]
        wanted += [(table, self.kind.rows, [*timing.latency, *([timing.way] if timing.way else [])])]
        for level in timing.levels:
            columns = [column for span in level.spans for column in span] + list(level.groups)
            columns += [level.weight] if level.weight else []
            wanted.append((more.get(level.table, table), level.table or self.kind.rows, columns))
        for there, name, columns in wanted:
            for column in columns:
                if column not in there.column_names:
                    raise InputError(
                        f"{self.folder / name}.parquet: this file of a run is damaged (no column {column})"
                    )
        return Packets(table, more, timing)

    @cached_property
    def paths(self) -> Paths | None:
        """Paths of packets, if the run recorded them."""
        from spinet.paths import Paths

        return Paths.load(self.folder) if self._has(output.PATHS) else None

    @cached_property
    def profile(self) -> Profile | None:
        """Cycles by instruction, if the run recorded them."""
        from spinet.profile import Profile

        return Profile.load(self.folder) if (self.folder / output.PROFILE).is_file() else None

    def _has(self, table: str) -> bool:
        return (self.folder / f"{table}.parquet").is_file()

    def _table(self, name: str) -> pa.Table:
        return output.read(self.folder / f"{name}.parquet", packet_table.read, hint=_HINT)


def _summary(file: Path) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(_files.read(file))
    for key in _KEYS:
        summary[key]
    if summary["kind"] not in _kinds.names():
        raise ValueError(f"kind is {summary['kind']!r}, allowed: {', '.join(_kinds.names())}")
    return summary
