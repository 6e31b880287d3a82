# SPDX-License-Identifier: Apache-2.0
"""A `Network` while it runs, and the events that its hooks receive."""

from __future__ import annotations

import contextlib
import json
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _core, _files, _kinds, _node_records, _programs, _simulation, output, packet_table
from spinet._driving import SLICE_MS
from spinet.result import Result

_STEP_PS = 10_000_000  # simulated time between two calls of hooks


@dataclass(frozen=True, kw_only=True)
class FrameEvent:
    """An event of a frame: one row of the table ``frames``."""

    at_ps: int  # simulated time
    event: str  # such as ``dropped``
    node: str  # the node or switch; for ``crossed``, the sender
    frame: tuple[str, int]  # the node where it entered the network, and its number there
    bytes: int  # its length without FCS
    hop: int  # number of links that the frame had crossed
    traffic_class: int
    link: str | None  # only for ``crossed`` and ``copied``
    reason: str | None  # only for ``dropped``
    port: int | None  # only for ``depth`` and ``paused``
    queue_bytes: int | None  # for ``depth``; for ``paused``, 1 is a pause and 0 its end


Hook = Callable[[FrameEvent], object]
Hooked = tuple[str, str | None, str | None, Hook]  # event, node, link, function


def frame_columns() -> packet_table.Columns:
    """Columns of the table of frames."""
    return _core.table_columns()[_kinds.NETWORK]["frames"]


class Running:
    """A run of a network, in steps."""

    def __init__(
        self,
        ready: _programs.Ready,
        text: str,
        overview: Mapping[str, Any],
        profile: bool,
        paths: bool,
        keep_packets: bool,
    ) -> None:
        self.text = text
        self.now_ps = 0
        self._overview = overview
        self._names = [row["name"] for row in overview["nodes"]] + list(overview["switches"])
        self._is_done = False
        self._keeps = keep_packets
        self._tables: dict[str, packet_table.Collected] = packet_table.of_kind(
            _kinds.NETWORK, False, lambda _, columns: packet_table.Collected(columns, keep=keep_packets)
        )
        self._captures: Path | None = None
        if keep_packets and ready.experiment.values.get("captures"):
            scratch = contextlib.ExitStack()
            self._captures = scratch.enter_context(_files.scratch())
            weakref.finalize(self, scratch.close)
        self._native = _simulation.start(ready, captures=self._captures, tables=True, profile=profile, paths=paths)
        self.nodes = _node_records.NodeResults(self._native, ready.window) if keep_packets else None
        self._kept: Result | None = None

    def to(self, end: int | None, hooks: Sequence[Hooked], stops: Callable[[], bool]) -> None:
        """Simulate up to a time, or to the end of the run."""
        while not self._is_done and not stops() and (end is None or self.now_ps < end):
            step = (self.now_ps // _STEP_PS + 1) * _STEP_PS if hooks else None
            until = min((one for one in (step, end) if one is not None), default=None)
            progress = self._native.advance(SLICE_MS, until)
            self._kept = None
            self._is_done = progress["done"]
            self.now_ps = progress["simulated_ps"]
            self._take(hooks)

    def _take(self, hooks: Sequence[Hooked]) -> None:
        found = self._native.take_tables()
        for name, rows in found.items():
            self._tables[name].append(rows)
        frames = found.get("frames", {})
        if self.nodes is not None:
            self.nodes.take()
        else:
            self._native.take_node_tables()
        if hooks and frames:
            self._call(frames, hooks)

    def _call(self, rows: packet_table.Chunk, hooks: Sequence[Hooked]) -> None:
        import numpy as np

        columns = frame_columns()
        values = packet_table.to_numpy(rows, columns)
        words = {name: names for name, _, _, names in columns}
        wanted = {words["event"].index(event) for event, *_ in hooks}
        links = [row["name"] for row in self._overview["links"]]
        for at in np.flatnonzero(np.isin(values["event"], list(wanted))):
            row = {name: int(column[at]) for name, column in values.items()}
            event = FrameEvent(
                at_ps=row["at_ps"],
                event=words["event"][row["event"]],
                node=self._names[row["node"]],
                frame=(self._names[row["frame_node"]], row["frame"]),
                bytes=row["bytes"],
                hop=row["hop"],
                traffic_class=row["class"],
                link=links[row["link"]] if row["link"] >= 0 else None,
                reason=words["reason"][row["reason"]] if row["reason"] else None,
                port=row["port"] if row["port"] >= 0 else None,
                queue_bytes=row["queue_bytes"] if row["queue_bytes"] >= 0 else None,
            )
            for name, node, link, hook in hooks:
                if name == event.event and node in (None, event.node) and link in (None, event.link):
                    hook(event)

    def summary(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._native.summary())
        return found

    def result(self) -> Result:
        if self._kept is None:
            # Later steps add rows to the tables; this result keeps only the present ones.
            tables = {name: dict(rows.all()) for name, rows in self._tables.items()} if self._keeps else {}
            # They are complete at the end of the run.
            captures = output.link_captures(self._captures) if self._captures and self._is_done else {}
            self._kept = Result(
                summary=self.summary(), kind=_kinds.NETWORK, _tables=tables, _captures=captures, _nodes=self.nodes
            )
        return self._kept

    def close(self) -> None:
        if self.nodes is not None:
            self.nodes.detach()
        self._native.close()
