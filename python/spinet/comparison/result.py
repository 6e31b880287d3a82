# SPDX-License-Identifier: Apache-2.0
"""The result of a comparison."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _html
from spinet.comparison import rows as _rows
from spinet.comparison.observed import Exit
from spinet.comparison.offered import Offered
from spinet.comparison.rows import DEFINITIONS, Rate, Row
from spinet.output import OutputFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

JSON, CSV, PLOT = "compare.json", "compare.csv", "compare"


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison:
    """Result of a comparison.

    Attributes
    ----------
    rows
        One for each NIC that ran, in the order in which they were named.
    not_run
        NICs that could not run it, and the reasons.
    reference
        The NIC whose output the others' are compared with; None for the packets offered.
    """

    handler: Sequence[str]
    match: str | None
    message: str | None
    exit: Exit
    seed: int
    offered: Offered
    rows: list[Row]
    not_run: Mapping[str, str]
    reference: str | None

    def __repr__(self) -> str:
        """One line: what ran, and whether all sent the same."""
        names = ", ".join(row.nic for row in self.rows)
        return f"<Comparison on {names}: outputs {'equal' if self.outputs_equal else 'differ'}>"

    def _repr_html_(self) -> str:
        """For notebooks: a line for each NIC."""
        rows: list[tuple[object, ...]] = [
            (
                row.nic,
                row.delivered.packets,
                row.delivered.gbps,
                row.latency_ns.median if row.latency_ns else None,
                row.latency_ns.p99 if row.latency_ns else None,
                row.lost,
                None if row.output is None else "equal" if row.output.is_equal else "differs",
            )
            for row in self.rows
        ]
        rows += [(nic, None, None, None, None, None, reason) for nic, reason in self.not_run.items()]
        head = ("NIC", "packets", "Gbit/s", "median, ns", "p99, ns", "lost", "output")
        return _html.heading("Comparison", self.title) + _html.table(head, rows)

    def __getitem__(self, nic: str) -> Row:
        """The row of a NIC.

        Raises
        ------
        KeyError
            If it did not run.
        """
        for row in self.rows:
            if row.nic == nic:
                return row
        raise KeyError(nic)

    @property
    def title(self) -> str:
        """The compared task."""
        what = ", ".join(Path(name).name for name in self.handler) or "Plain forwarding"
        return f"{what}, {self.offered.traffic}"

    @property
    def is_complete(self) -> bool:
        """Every NIC that ran came to the end."""
        return all(row.ended == "complete" for row in self.rows)

    @property
    def outputs_equal(self) -> bool | None:
        """True if all NICs sent the same packets, apart from lost ones; None if fewer than two can be compared."""
        seen = [(row.output, row.lost) for row in self.rows if row.output is not None]
        if not seen or (len(seen) < 2 and self.handler):
            return None
        return all(not output.unexpected and output.missing <= lost for output, lost in seen)

    @cached_property
    def offered_rate(self) -> Rate:
        """The packets offered to every NIC."""
        return _rows.rate(self.offered.time_ps, self.offered.sizes)

    def as_json(self) -> dict[str, Any]:
        """Everything, as ``compare.json`` has it; docs/reference/compare.md."""
        offered = self.offered
        return {
            "spinet": _core.version(),
            "handler": list(self.handler) or None,
            "match": self.match,
            "message": self.message,
            "exit": self.exit,
            "seed": self.seed,
            "offered": {
                "traffic": offered.traffic,
                **dataclasses.asdict(self.offered_rate),
                "line_gbps": offered.line_gbps,
                "matched": len(offered.matched),
                "padded": offered.padded,
                "cut_gaps": offered.cut_gaps,
                "longest_gap_ns": offered.longest_gap_ps / 1000,
            },
            "rows": [_row_as_json(row) for row in self.rows],
            "not_run": [{"nic": nic, "reason": reason} for nic, reason in self.not_run.items()],
            "reference": self.reference,
            "outputs_equal": self.outputs_equal,
            "definitions": DEFINITIONS,
        }

    def as_csv(self) -> str:
        """The table: a line for each NIC, those that did not run included."""
        out = io.StringIO()
        table = csv.DictWriter(out, _COLUMNS, restval="", lineterminator="\n")
        table.writeheader()
        for row in self.rows:
            latency = dataclasses.asdict(row.latency_ns) if row.latency_ns else {}
            table.writerow(
                {
                    "nic": row.nic,
                    "simulated": int(row.is_simulated),
                    "line_gbps": row.line_gbps,
                    "out_packets": row.delivered.packets,
                    "out_packets_per_s": row.delivered.packets_per_s,
                    "out_gbps": row.delivered.gbps,
                    "steady_packets_per_s": row.steady.packets_per_s if row.steady else None,
                    "steady_gbps": row.steady.gbps if row.steady else None,
                    "host_ideal": int(row.is_host_ideal),
                    **{f"latency_{name}_ns": latency.get(name) for name in ("min", "mean", "median", "p99", "max")},
                    **{f"{kind}_ns": mean for kind, mean in (row.time_ns or {}).items()},
                    "consumed": row.consumed,
                    "lost": row.lost,
                    **{f"output_{key}": getattr(row.output, key, None) for key in ("sha256", "missing", "unexpected")},
                }
            )
        for nic, reason in self.not_run.items():
            table.writerow({"nic": nic, "not_run_because": reason})
        return out.getvalue()

    def plot(self) -> Figure:
        """Throughput, latency, where the time goes, packets lost; needs matplotlib."""
        from spinet import plots
        from spinet.comparison import figure

        plots.require()
        return figure.draw(self)

    def save(self, directory: str | Path, *, plot: bool = True, force: bool = False) -> None:
        """Write a new folder with ``compare.json``, ``compare.csv``, ``compare.svg`` and ``.png``.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written.
        UsageError
            If matplotlib is missing.
        """
        with OutputFolder(Path(directory), force=force, holds=JSON) as folder:
            self.write(folder.path, plot=plot)
            folder.commit()

    def write(self, folder: Path, *, plot: bool = True) -> None:
        """Write the same files into an existing folder."""
        (folder / JSON).write_text(json.dumps(self.as_json(), indent=2) + "\n")
        (folder / CSV).write_text(self.as_csv())
        if plot:
            from spinet import plots

            plots.save(self.plot(), folder / PLOT)


_COLUMNS = (
    "nic", "simulated", "line_gbps", "out_packets", "out_packets_per_s", "out_gbps",
    "steady_packets_per_s", "steady_gbps", "host_ideal", "latency_min_ns",
    "latency_mean_ns", "latency_median_ns", "latency_p99_ns", "latency_max_ns", "waiting_ns", "transfers_ns",
    "computation_ns", "unattributed_ns", "consumed", "lost", "output_sha256", "output_missing", "output_unexpected",
    "not_run_because",
)  # fmt: skip


def _row_as_json(row: Row) -> dict[str, Any]:
    values = dataclasses.asdict(row)
    values["ended"] = {"reason": values.pop("ended"), "text": values.pop("ended_text")}
    values["parts_ns"] = [{"part": part, "kind": kind, "mean": mean} for part, kind, mean in row.parts_ns]
    if row.output is not None:
        values["output"]["is_equal"] = row.output.is_equal
    return values
