# SPDX-License-Identifier: Apache-2.0
"""GOAL schedules: message-passing programs as sends, receives and computations, run on hosts that follow LogGOPS."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _html, packet_table

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULTS = "L=2500,o=1500,g=1000,G=6,O=0,S=65535"
MODELS = ("2010", "atlahs")
_ROWS = 1 << 18


class Schedule:
    """A checked schedule. Make one with `read`, `parse` or `make`."""

    def __init__(self, native: _core.GoalSchedule) -> None:
        self._native = native
        self.counts: dict[str, int] = json.loads(native.counts())

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return self.counts["ranks"]

    @property
    def operations(self) -> int:
        """Number of operations."""
        return self.counts["operations"]

    def text(self) -> str:
        """The schedule as text. Operation n of a rank, from 1, has the label `ln`."""
        return self._native.text()

    def write(self, path: str | Path, *, binary: bool | None = None) -> None:
        """Write a file: binary or text. Default: binary if the name ends with ``.bin``."""
        path = Path(path)
        binary = path.suffix == ".bin" if binary is None else binary
        if path.exists() and not path.is_file():
            self._native.write(str(path), binary)  # a device
            return
        scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            self._native.write(str(scratch), binary)
            os.replace(scratch, path)
        except _core.InputError as error:
            raise _core.InputError(str(error).replace(str(scratch), str(path))) from None
        finally:
            scratch.unlink(missing_ok=True)

    def __repr__(self) -> str:
        return f"<Schedule of {self.ranks} ranks, {self.operations} operations>"


class GoalResult:
    """A schedule that has run."""

    def __init__(self, native: _core.GoalRun) -> None:
        self._native = native
        self.summary: dict[str, Any] = json.loads(native.summary())
        self._operations: pa.Table | None = None

    @property
    def finish_ns(self) -> float:
        """When the last host ended."""
        return float(self.summary["finish_ns"])

    @property
    def hosts_ns(self) -> list[float]:
        """When each host ended."""
        return [float(time) for time in self.summary["hosts_ns"]]

    @property
    def operations(self) -> pa.Table:
        """The table with one row an operation; empty if the run was not recorded."""
        if self._operations is None:
            columns = _core.goal_columns()
            rows = packet_table.Collected(columns)
            self.take_operations(rows.append)
            self._operations = packet_table.to_arrow(rows.all(), columns)
        return self._operations

    def take_operations(self, take: Callable[[Mapping[str, bytes]], None]) -> None:
        """Pass all rows of operations to `take` in batches. They can be taken once."""
        while True:
            rows = self._native.take_operations(_ROWS)
            if not rows["rank"]:
                return
            take(rows)

    def critical_path(self, most: int = 1000) -> list[dict[str, Any]]:
        """The steps that lead to the end: kind, rank, operation, start and end. A longer path has its longest steps."""
        steps = json.loads(self._native.steps(_core.whole("most", most)))
        assert isinstance(steps, list)
        return steps

    def _repr_html_(self) -> str:
        """For notebooks: when the hosts ended."""
        rows = [(str(rank), f"{time:,}") for rank, time in enumerate(self.summary["hosts_ns"][:32])]
        return _html.heading("Schedule", f"{self.summary['finish_ns']:,} ns") + _html.table(("rank", "end, ns"), rows)


def read(path: str | Path) -> Schedule:
    """Read a file, as text or in the binary form.

    Raises
    ------
    InputError
        If it is not a schedule; the text names the place.
    """
    return Schedule(_core.GoalSchedule.read(str(path)))


def parse(text: str, name: str = "schedule") -> Schedule:
    """Read a text; errors call it `name`.

    Examples
    --------
    >>> from spinet import goal
    >>> goal.parse("num_ranks 1\\nrank 0 {\\ncalc 100\\n}")
    <Schedule of 1 ranks, 1 operations>
    """
    return Schedule(_core.GoalSchedule.parse(text, name))


def make(pattern: str, *, ranks: int, bytes: int = 1, segment: int = 1, ways: int = 1, seed: int = 1) -> Schedule:
    """Make the schedule of a pattern; `patterns` lists them.

    Parameters
    ----------
    pattern
        Its name, such as ``"allreduce-ring"``, or the one that LogGOPSim's generator has for it.
    ranks
        Number of ranks.
    bytes
        Size of a message; of an allreduce, of the vector.
    segment
        Size of a segment in pipelined patterns.
    ways
        Messages a round in n-way dissemination.
    seed
        Seed of random patterns.
    """
    return Schedule(
        _core.GoalSchedule.make(
            pattern,
            ranks=_core.whole("ranks", ranks),
            bytes=_core.whole("bytes", bytes, bits=64),
            segment=_core.whole("segment", segment, bits=64),
            ways=_core.whole("ways", ways),
            seed=_core.whole("seed", seed, bits=64),
        )
    )


def patterns() -> dict[str, str]:
    """Patterns: name and a line about each."""
    return {name: about for name, _theirs, about in _core.goal_patterns()}


def run(
    schedule: Schedule | str | Path,
    *,
    loggops: str | Mapping[str, float] = DEFAULTS,
    model: str = "2010",
    record: bool = True,
) -> GoalResult:
    """Run a schedule on hosts with the plain network card.

    Parameters
    ----------
    schedule
        A schedule, or a file.
    loggops
        Parameters of the model in ns and bytes, as text or by name. The others keep their defaults.
    model
        How messages are charged: ``"2010"`` as LogGOPSim does, ``"atlahs"`` as ATLAHS does.
    record
        Keep the times of all operations and the critical path.

    Examples
    --------
    >>> from spinet import goal
    >>> result = goal.run(goal.make("binomial-bcast", ranks=8, bytes=4096))
    >>> result.finish_ns, result.summary["critical_path"]["by_kind_ns"]["network"]
    (90210.0, 7500)

    Raises
    ------
    InputError
        If the schedule is wrong, or waits forever: the text names the ranks that wait.
    """
    if not isinstance(schedule, Schedule):
        schedule = read(schedule)
    if not isinstance(loggops, str):
        loggops = ",".join(f"{name}={value}" for name, value in loggops.items())
    return GoalResult(schedule._native.run(loggops=loggops, model=model, record=record))
