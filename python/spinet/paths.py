# SPDX-License-Identifier: Apache-2.0
"""The paths of packets through a card: steps without gaps, each with a place, a cause, and the part that is full."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Any, Self

from spinet import _core, _files, _kinds, output, packet_table
from spinet._core import InputError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A part of the card that can be full."""

    name: str  # as in the summary's `resources`
    limit: str
    busy: float  # share of the whole run's time in which it was busy, from 0 to 1


@dataclass(frozen=True, kw_only=True)
class Step:
    """A part of a packet's time. It begins where the step before it ends."""

    stage: str  # such as `payload`, or `packet` outside handlers
    place: str  # such as `hpu 2.5`
    cause: str  # a word
    about: str  # the cause as a sentence
    blocker: int | None  # number of the packet that is waited for
    begin_ps: int  # since reset
    takes_ps: int
    resource: Resource | None  # the part that works or is waited for; None if it was never busy, or cannot be full

    @property
    def end_ps(self) -> int:
        """When it ends."""
        return self.begin_ps + self.takes_ps


@dataclass(frozen=True, kw_only=True)
class Path:
    """A packet's way through the card. The steps add up to its time there."""

    packet: int  # its number in the card
    steps: tuple[Step, ...]
    row: Mapping[str, Any]  # row of the table `packets` or `frames`

    @property
    def takes_ps(self) -> int:
        """Time from its arrival to its end, in picoseconds."""
        return sum(step.takes_ps for step in self.steps)

    def by_cause(self) -> dict[str, int]:
        """Picoseconds by cause, largest first."""
        return _sums((step.cause, step.takes_ps) for step in self.steps)

    def __repr__(self) -> str:
        """Its time and its largest cause."""
        largest = next(iter(self.by_cause().items()), None)
        most = "" if largest is None else f", {largest[1] / 1000:,.1f} ns {largest[0]}"
        return f"<Path of packet {self.packet}: {self.takes_ps / 1000:,.1f} ns in {len(self.steps)} steps{most}>"


class Paths:
    """The paths of all packets of a run.

    Attributes
    ----------
    summary
        The summary of the run.
    packets
        Its table of packets, or of frames.
    table
        One row per step: see `packet_table`.
    """

    def __init__(self, summary: Mapping[str, Any], packets: pa.Table, table: pa.Table) -> None:
        self.summary = summary
        self.packets = packets
        self.table = table

    @classmethod
    def load(cls, folder: str | FilePath) -> Self:
        """Read them from the folder of a run with paths.

        Raises
        ------
        UsageError
            If the folder has none.
        InputError
            If a file is damaged.
        """
        folder = FilePath(folder)
        output.check_single_card(folder, "explain")
        hint = "spinet run --paths -o DIR writes it"
        output.read(folder / output.SUMMARY, FilePath.stat, hint=hint)
        summary = output.read(folder / output.SUMMARY, _summary, hint=hint)
        names = (output.SUMMARY, f"{_kinds.get(summary['kind']).rows}.parquet", f"{output.PATHS}.parquet")
        for name in names[1:]:
            output.read(folder / name, FilePath.stat, hint=hint)
        packets, table = (output.read(folder / name, packet_table.read, hint=hint) for name in names[1:])
        for name, found, wanted in ((names[1], packets, {"packet"}), (names[2], table, set(_columns(summary["kind"])))):
            if missing := wanted - set(found.column_names):
                raise InputError(f"{folder / name}: this file of a run is damaged (no column {sorted(missing)[0]})")
        return cls(summary, packets, table)

    def path(self, packet: int) -> Path:
        """The path of the packet of this number.

        Raises
        ------
        UsageError
            If the card had no such packet.
        """
        import pyarrow.compute as pc

        rows = self.table.filter(pc.equal(self.table["packet"], packet)).to_pylist()
        found = self.packets.filter(pc.equal(self.packets["packet"], packet)).to_pylist()
        if not rows:
            if found:
                raise UsageError(f"packet {packet}: it has no path, because no part that records paths had it")
            numbers = pc.min_max(self.packets["packet"]).as_py()
            allowed = "it had none" if numbers["max"] is None else f"allowed: {numbers['min']} to {numbers['max']}"
            raise UsageError(f"packet {packet}: the card had no such packet ({allowed})")
        return Path(packet=packet, steps=tuple(self._step(row) for row in rows), row=found[0])

    def slowest(self, number: int) -> list[tuple[int, int]]:
        """Packets with the longest paths, the longest first: number of the packet, picoseconds."""
        found = self._times.sort_by([("takes_ps_sum", "descending"), ("packet", "ascending")]).slice(0, number)
        columns = (found["packet"].to_pylist(), found["takes_ps_sum"].to_pylist())
        return list(zip(*columns, strict=True))

    def by_cause(self) -> dict[str, int]:
        """Picoseconds of all packets by cause, largest first."""
        causes = self.table.select(["takes_ps"]).append_column("cause", self.table["cause"].cast("string"))
        found = causes.group_by("cause").aggregate([("takes_ps", "sum")]).to_pylist()
        return _sums((row["cause"], row["takes_ps_sum"]) for row in found)

    def __len__(self) -> int:
        """Number of packets with a path."""
        return int(self._times.num_rows)

    def __repr__(self) -> str:
        """Their number and the largest cause."""
        largest = next(iter(self.by_cause()), "")
        return f"<Paths of {len(self):,} packets{f', most of the time {largest}' if largest else ''}>"

    def about(self, cause: str) -> str:
        """The meaning of a cause, as a sentence."""
        return self._causes[cause][0]

    @cached_property
    def _times(self) -> pa.Table:
        return self.table.group_by("packet").aggregate([("takes_ps", "sum")])

    @cached_property
    def _causes(self) -> dict[str, tuple[str, str]]:
        return {name: (about, resource) for name, about, resource in _core.path_causes()[self.summary["kind"]]}

    def _step(self, row: Mapping[str, Any]) -> Step:
        numbers = [row[key] for key in ("index", "subindex") if row[key] is not None]
        about, resource = self._causes[row["cause"]]
        return Step(
            stage=row["stage"],
            place=self._place(row["place"], numbers),
            cause=row["cause"],
            about=about,
            blocker=row["blocker"],
            begin_ps=row["from_ps"],
            takes_ps=row["takes_ps"],
            resource=self._resource(resource, row["place"], numbers),
        )

    def _place(self, place: str, numbers: Sequence[int]) -> str:
        if place == "unit":  # a unit of a service
            return f"{self._service(numbers)}[{numbers[1]}]"
        if place == "scheduler" and numbers:  # a card that runs chains
            return f"scheduler, for {self._service(numbers)}"
        if place == "assist":  # a wired card
            return str(self.summary["places"][numbers[0]]["place"])
        return " ".join([place.replace("_", " "), ".".join(map(str, numbers))]).strip()

    def _service(self, numbers: Sequence[int]) -> str:
        return str(self.summary["services"][numbers[0]]["service"])

    def _resource(self, template: str, place: str, numbers: Sequence[int]) -> Resource | None:
        """The busiest part of this name."""
        if not template:
            return None
        if template == "{place}":
            return self._busiest(lambda name: name in self.summary["places"][numbers[0]]["resources"])
        for position, number in enumerate(numbers):
            template = template.replace(f"{{{position}}}", str(number))
        if "{name}" in template and (place == "node" or not numbers):
            return None  # a core that has several services, or the packet had no service yet
        if "{name}" in template:
            template = template.replace("{name}", self._service(numbers))
        pattern = re.compile(re.escape(template).replace(r"\*", ".*"))
        return self._busiest(lambda name: pattern.fullmatch(name) is not None)

    def _busiest(self, fits: Callable[[str], bool]) -> Resource | None:
        rows = (row for row in self.summary["resources"] if fits(row["name"]))
        found = max(rows, key=lambda row: row["utilisation"], default=None)
        return found and Resource(name=found["name"], limit=found["limit"], busy=found["utilisation"])


def has_paths(kind: str) -> bool:
    """True if cards of this kind record paths."""
    return output.PATHS in _core.table_columns()[kind]


def _columns(kind: str) -> Iterator[str]:
    return (name for name, *_ in _core.table_columns()[kind].get(output.PATHS, ()))


def _summary(file: FilePath) -> dict[str, Any]:
    summary: dict[str, Any] = json.loads(_files.read(file))
    for key in ("kind", "resources", "packets"):
        summary[key]
    if summary["kind"] not in _kinds.names():
        raise ValueError(f"kind is {summary['kind']}")
    return summary


def _sums(pairs: Iterator[tuple[str, int]]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, value in pairs:
        sums[name] = sums.get(name, 0) + value
    return dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))
