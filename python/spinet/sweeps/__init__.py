# SPDX-License-Identifier: Apache-2.0
"""Sweeps: many runs that differ in parameters, traffic or programs, as one table.

`sweep` runs them on all cores, or on a Dask cluster. Runs are kept by the content of their inputs, so that a sweep that
was interrupted continues where it ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _html, output, packet_table
from spinet._core import UsageError, version
from spinet.output import OutputFolder
from spinet.sweeps import plan as plans
from spinet.sweeps import rows, runs, workers
from spinet.sweeps.plan import Plan

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["RUNS", "SWEEP", "OnRun", "Plan", "Sweep", "sweep"]

RUNS = "runs.parquet"  # this file and the next are in a sweep's folder
SWEEP = "sweep.json"
_SHOWN = 20  # rows in a notebook

OnRun = Callable[[Mapping[str, Any], int, bool], None]
"""Called when a run is available: its row, the number of all runs, whether it was known before."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Sweep:
    """The runs of a sweep.

    Attributes
    ----------
    table
        A row for each run: its number `run`, the varied keys, `error`, and all numbers and texts of the summary by
        their dotted keys, such as ``latency_ns.median`` (docs/reference/summary.md).
    varied
        The varied keys.
    """

    table: pa.Table
    varied: tuple[str, ...]
    stated: Mapping[str, Any]  # the plan, for the folder

    @cached_property
    def failed(self) -> list[dict[str, Any]]:
        """Runs without a summary: number, settings and error."""
        columns = ["run", *self.varied, "error"]
        return [row for row in self.table.select(columns).to_pylist() if row["error"] is not None]

    @cached_property
    def unfinished(self) -> int:
        """Number of runs that ended before their packets were done."""
        name = "ended.is_unfinished"
        return sum(map(bool, self.table[name].to_pylist())) if name in self.table.column_names else 0

    def columns(self, names: Sequence[str] = ()) -> list[str]:
        """The varied keys with these columns, or with the usual ones if none is named.

        Raises
        ------
        UsageError
            If there is no such column.
        """
        known = self.table.column_names
        for name in names:
            rows.check_column(name, known)
        usual = [name for name in rows.USUAL if name in known and self.table[name].null_count < len(self.table)]
        return [*self.varied, *(names or usual), *(["error"] if self.failed else [])]

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write `runs.parquet` and `sweep.json` into a new folder.

        Raises
        ------
        OutputError
            If the folder exists, or cannot be written.
        """
        with OutputFolder(Path(folder), force=force, holds=SWEEP) as made:
            self._write(made.path)
            made.commit()

    def _write(self, folder: Path) -> None:
        import pyarrow.parquet as pq

        pq.write_table(self.table, folder / RUNS, compression="zstd")
        (folder / SWEEP).write_text(json.dumps(self.stated, indent=2))

    @classmethod
    def load(cls, folder: str | Path) -> Sweep:
        """Read what `save` wrote.

        Raises
        ------
        InputError
            If there is no sweep in the folder, or its files are damaged.
        """
        folder, hint = Path(folder), "spinet sweep SWEEP.toml -o DIR makes such a folder"
        stated = output.read(folder / SWEEP, lambda file: dict(json.loads(file.read_text())), hint=hint)
        table = output.read(folder / RUNS, packet_table.read, hint=hint)
        varied = tuple(stated.get("varied", ()))
        if missing := [name for name in ("run", *varied, "error") if name not in table.column_names]:
            raise UsageError(f"{folder / RUNS} has no column `{missing[0]}`", hint=hint)
        return cls(table=table, varied=varied, stated=stated)

    def _repr_html_(self) -> str:
        """For notebooks: the varied keys and the usual columns."""
        shown = self.table.select(self.columns()).slice(0, _SHOWN).to_pylist()
        more = f"{len(self.table)} runs" + (f", the first {_SHOWN}" if len(self.table) > _SHOWN else "")
        return _html.heading("Sweep", more) + _html.table(self.columns(), [list(row.values()) for row in shown])

    def __repr__(self) -> str:
        return f"<Sweep of {', '.join(self.varied)}: {len(self.table)} runs>"


def sweep(
    sweep: str | Path | Mapping[str, Any] | None = None,
    /,
    *,
    vary: Mapping[str, Any] | None = None,
    cases: Iterable[Mapping[str, Any]] = (),
    processes: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    folder: str | Path | None = None,
    on_run: OnRun | None = None,
    **keywords: Any,
) -> Sweep:
    """Run every combination of some values.

    Runs are kept in the cache by the content of their inputs. A run with equal inputs is not done again, so a sweep
    that was interrupted continues where it ended.

    Parameters
    ----------
    sweep
        A TOML file (docs/guides/sweep.md), or a mapping with the same keys.
    vary
        Values by key: a list, a range such as ``"1..8"``, ``"0..1+0.25"`` or ``"64..1024*2"``, or one value. A key is a
        keyword of `run`, ``set.PARAMETER`` of the card, ``defines.MACRO``, or a name that stands in braces in a text of
        the keywords: ``traffic="udp:size={size}"``.
    cases
        Values of several keys that change together.
    processes
        Number of local processes. Default: one for each core.
    scheduler
        Address of a Dask scheduler, such as ``"tcp://host:8786"``, whose workers do the runs.
    fresh
        Do all runs again.
    folder
        A new folder for `runs.parquet` and `sweep.json`.
    on_run
        Called with the row of each run, the number of all runs, and whether the run was known.
    keywords
        Keywords of `run` for all runs.

    Returns
    -------
    Sweep
        Also if runs failed: their column `error` says why.

    Raises
    ------
    InputError
        If the sweep is wrong, or a value of it makes no run.
    KeyboardInterrupt
        On Ctrl-C; runs that ended are kept.

    Examples
    --------
    >>> import spinet
    >>> found = spinet.sweep(
    ...     program="sdk/examples/ping_pong.c", traffic="udp:size={size},count=100", vary={"size": "64..256*2"}
    ... )
    >>> found.table.select(["run", "size", "packets.out"]).to_pylist()
    [{'run': 1, 'size': 64, 'packets.out': 100}, ...]
    """
    if sweep is None:
        plans.check_keywords(keywords, ("vary", "cases", "processes", "scheduler", "fresh", "folder", "on_run"))
        plan = plans.of({"run": keywords, "vary": dict(vary or {}), "case": list(cases)}, base_dir=Path.cwd())
    elif vary or cases or keywords:
        raise UsageError("a sweep of a file or mapping has its keywords itself")
    elif isinstance(sweep, Mapping):
        plan = plans.of(sweep, base_dir=Path.cwd())
    else:
        plan = plans.read(sweep)
    return run(
        plan,
        keywords=runs.of_python,
        processes=processes,
        scheduler=scheduler,
        fresh=fresh,
        folder=None if folder is None else OutputFolder(Path(folder), holds=SWEEP),
        on_run=on_run,
    )


def run(
    plan: Plan,
    *,
    keywords: runs.Keywords,
    options: bool = False,
    processes: int | None = None,
    scheduler: str | None = None,
    fresh: bool = False,
    folder: OutputFolder | None = None,
    on_run: OnRun | None = None,
) -> Sweep:
    """Do the runs of a plan. Errors name the command's `options`, if given, instead of keywords."""
    import contextlib

    with contextlib.ExitStack() as stack:
        if folder is not None:
            stack.enter_context(folder)
        runs.check(plan, keywords, options=options)
        found: dict[int, dict[str, Any]] = {}
        jobs = runs.jobs(plan, keywords, options=options)
        for done in workers.run(jobs, processes=processes, scheduler=scheduler, fresh=fresh):
            row = rows.of(done)
            if not found and done.error is None:
                for name in plan.columns:
                    rows.check_column(name, list(row), file=plan.file)
            found[row["run"]] = row
            if on_run is not None:
                on_run(row, plan.n_runs, done.is_known)
        made = Sweep(
            table=rows.table([found[n] for n in sorted(found)], plan.varied),
            varied=tuple(plan.varied),
            stated={
                "spinet": version(),
                "run": json.loads(json.dumps(plan.run, default=str)),
                "vary": plan.vary,
                "case": list(plan.cases),
                "columns": list(plan.columns),
                "base_dir": str(plan.base_dir),
                "varied": plan.varied,
            },
        )
        if folder is not None:
            made._write(folder.path)
            folder.commit()
    return made
