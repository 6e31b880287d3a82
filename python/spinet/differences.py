# SPDX-License-Identifier: Apache-2.0
"""Changes between two results: runs, or sweeps."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from spinet import _html, output
from spinet._core import InputError, UsageError
from spinet.profile import Profile
from spinet.sweeps import RUNS, Sweep, rows

if TYPE_CHECKING:
    from spinet.result import Result

    Side: TypeAlias = str | Path | Result | Sweep

__all__ = ["Change", "Difference", "diff"]

# Values that differ between equal runs, or repeat other values.
_NOT_COMPARED = ("wall.", "digest", "spinet")
_COUNTERS = "counters."
_SHOWN = 40  # changes in a notebook


@dataclass(frozen=True, kw_only=True)
class Change:
    """A value that differs.

    Attributes
    ----------
    section
        ``experiment``, ``summary`` or ``profile``.
    where
        For sweeps: the settings of the run, such as ``size = 64``. Otherwise empty.
    key
        A dotted key. For a profile: a source line; its values are cycles.
    before, after
        None where there is no such value.
    """

    section: str
    where: str
    key: str
    before: Any
    after: Any

    @property
    def ratio(self) -> float | None:
        """`after` divided by `before`; None unless both are numbers and `before` is not 0."""
        both = (self.before, self.after)
        if any(isinstance(one, bool) or not isinstance(one, int | float) for one in both) or not self.before:
            return None
        return float(self.after / self.before)


@dataclass(frozen=True, kw_only=True, repr=False)
class Difference:
    """The changes between two results."""

    changes: tuple[Change, ...]

    @property
    def is_empty(self) -> bool:
        """True if nothing changed."""
        return not self.changes

    def of(self, section: str) -> list[Change]:
        """Changes of a section."""
        return [change for change in self.changes if change.section == section]

    def beyond(self, tolerance: float) -> Difference:
        """The changes without numbers that changed by at most this share."""
        kept = (
            one
            for one in self.changes
            if one.ratio is None or abs(one.after - one.before) > tolerance * abs(one.before)
        )
        return Difference(changes=tuple(kept))

    def as_json(self) -> list[dict[str, Any]]:
        """The changes as values for JSON."""
        return [{**vars(change), "ratio": change.ratio} for change in self.changes]

    def _repr_html_(self) -> str:
        """For notebooks: the changes."""
        shown = [(c.key, c.where, c.before, c.after, percent(c)) for c in self.changes[:_SHOWN]]
        head = ("key", "run", "before", "after", "change")
        return _html.heading("Difference", f"{len(self.changes)} changes") + _html.table(head, shown)

    def __repr__(self) -> str:
        return f"<Difference: {len(self.changes)} changes>"


def percent(change: Change) -> str:
    """A change of a number, for people.

    >>> percent(Change(section="summary", where="", key="k", before=200, after=250))
    '+25.0 %'
    """
    return "" if change.ratio is None else f"{100 * (change.ratio - 1):+.1f} %"


def diff(before: Side, after: Side, *, counters: bool = False) -> Difference:
    """Compare two results.

    Parameters
    ----------
    before, after
        Results of `run` or `sweep`, or folders of results; both of runs, or both of sweeps. Runs of sweeps belong
        together if their settings are equal.
    counters
        Compare the counters of all parts, too.

    Raises
    ------
    InputError
        If a folder holds no result, or only one of both is a sweep.

    Examples
    --------
    >>> import spinet
    >>> keywords = {"program": "sdk/examples/ping_pong.c", "traffic": "udp:size=64,count=8"}
    >>> slow = spinet.run(**keywords, set="cluster.n_cores=1")
    >>> spinet.diff(spinet.run(**keywords), spinet.run(**keywords)).is_empty
    True
    >>> "latency_ns.max" in [change.key for change in spinet.diff(spinet.run(**keywords), slow).changes]
    True
    """
    sides = [_read(side) for side in (before, after)]
    kinds = {name for name, _ in sides}
    if len(kinds) > 1:
        raise UsageError("one result is a run, the other a sweep; both must be of one kind")
    (_, one), (_, other) = sides
    if kinds == {"sweep"}:
        return Difference(changes=tuple(_of_sweeps(one, other, counters=counters)))
    return Difference(changes=tuple(_of_runs(one, other, counters=counters)))


@dataclass(frozen=True, kw_only=True)
class _Run:
    experiment: Mapping[str, Any]
    summary: Mapping[str, Any]
    profile: Profile | None


def _read(side: Side) -> tuple[str, Any]:
    if isinstance(side, Sweep):
        return "sweep", side
    if not isinstance(side, str | Path):
        profile = side.profile if side._profile is not None else None
        return "run", _Run(experiment={}, summary=side.summary, profile=profile)
    folder = Path(side)
    if (folder / RUNS).is_file():
        return "sweep", Sweep.load(folder)
    hint = "spinet run -o DIR and spinet sweep -o DIR make such folders"

    def table(file: Path) -> dict[str, Any]:
        return dict(json.loads(file.read_text()))

    summary = output.read(folder / output.SUMMARY, table, hint=hint)
    experiment = output.read(folder / output.EXPERIMENT, table, hint=hint)
    profile = Profile.load(folder) if (folder / output.PROFILE).is_file() else None
    return "run", _Run(experiment=experiment, summary=summary, profile=profile)


def _of_runs(one: _Run, other: _Run, *, counters: bool) -> Iterator[Change]:
    yield from _changes("experiment", "", _all(one.experiment), _all(other.experiment))
    summaries = [dict(rows.flat(side.summary)) for side in (one, other)]
    yield from _compared(summaries[0], summaries[1], where="", counters=counters)
    if one.profile is not None and other.profile is not None:
        yield from _changes("profile", "", _lines(one.profile), _lines(other.profile), by_size=True)


def _of_sweeps(one: Sweep, other: Sweep, *, counters: bool) -> Iterator[Change]:
    if set(one.varied) != set(other.varied):
        names = (", ".join(side.varied) for side in (one, other))
        raise InputError(f"the sweeps vary different keys: {' and '.join(names)}")
    yield from _changes("experiment", "", _all(one.stated.get("run", {})), _all(other.stated.get("run", {})))
    sides = [{_settings(side, row): row for row in side.table.to_pylist()} for side in (one, other)]
    for where in dict.fromkeys([*sides[0], *sides[1]]):
        left, right = (side.get(where) for side in sides)
        if left is None or right is None:
            is_there = ("run" if left is not None else None, "run" if right is not None else None)
            yield Change(section="summary", where=where, key="run", before=is_there[0], after=is_there[1])
            continue
        own = {"run", *one.varied}
        values = [{key: value for key, value in row.items() if key not in own} for row in (left, right)]
        yield from _compared(values[0], values[1], where=where, counters=counters)


def _settings(sweep: Sweep, row: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {row[name]}" for name in sorted(sweep.varied))


def _compared(before: Mapping[str, Any], after: Mapping[str, Any], *, where: str, counters: bool) -> Iterator[Change]:
    left_out = _NOT_COMPARED if counters else (*_NOT_COMPARED, _COUNTERS)
    sides = [{key: value for key, value in side.items() if not key.startswith(left_out)} for side in (before, after)]
    yield from _changes("summary", where, sides[0], sides[1])


def _changes(
    section: str, where: str, before: Mapping[str, Any], after: Mapping[str, Any], *, by_size: bool = False
) -> Iterator[Change]:
    keys: Sequence[str] = list(dict.fromkeys([*before, *after]))
    if by_size:
        keys = sorted(keys, key=lambda key: -abs((after.get(key) or 0) - (before.get(key) or 0)))
    for key in keys:
        if before.get(key) != after.get(key):
            yield Change(section=section, where=where, key=key, before=before.get(key), after=after.get(key))


def _all(values: Any, prefix: str = "") -> dict[str, Any]:
    """All values by dotted key; entries of lists by their number."""
    if isinstance(values, Mapping):
        inner = [(f"{prefix}.{key}" if prefix else key, value) for key, value in values.items()]
    elif isinstance(values, list):
        inner = [(f"{prefix}[{number}]", value) for number, value in enumerate(values)]
    else:
        return {prefix: values}
    return {key: value for name, one in inner for key, value in _all(one, name).items()}


def _lines(profile: Profile) -> dict[str, int]:
    """Cycles by source line."""
    return {str(chain[0]): cost.cycles for chain, cost in profile.lines().items() if chain}
