# SPDX-License-Identifier: Apache-2.0
"""Records of the cards on the nodes of a network: in memory, or in a folder for each node."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _files, _kinds, output, packet_table
from spinet._core import InputError, Run
from spinet.profile import Profile
from spinet.result import HostMemory, write_rest

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_WAITING = 64 << 20  # bytes of rows that wait to be written to files
_SPARE_FILES = 64  # files that a run opens besides those of nodes

Window = tuple[int, int | None]  # simulated time in ps: start, and end (exclusive), or None for no end


def within(rows: packet_table.Chunk, columns: packet_table.Columns, kept: Window | None) -> packet_table.Chunk:
    """The rows whose first time column is in a window."""
    import numpy as np

    first = next((name for name, *_ in columns if name.endswith("_ps")), None)
    if kept is None or first is None or not rows:
        return rows
    types = {name: dtype for name, dtype, *_ in columns}
    times = np.frombuffer(rows[first], dtype=types[first])
    chosen = times >= kept[0] if kept[1] is None else (times >= kept[0]) & (times < kept[1])
    return {name: np.frombuffer(data, dtype=types[name])[chosen].tobytes() for name, data in rows.items()}


class NodeResult:
    """Records of a node's card: tables, host memory, profile and summary. During a run, these are the results so far.

    Attributes
    ----------
    name
        Name of the node.
    kind
        Kind of the card.
    """

    def __init__(self, name: str, kind: str, number: int, run: Run) -> None:
        self.name = name
        self.kind = kind
        self._number = number
        self._run: Run | None = run
        self._tables: dict[str, packet_table.Collected] = {}
        self._kept: tuple[tuple[str, str | None] | None, HostMemory | None] = None, None

    def table(self, name: str) -> pa.Table:
        """A table of the card: ``packets``, ``hops``, ``frames`` or ``paths``. It is empty if nothing happened.

        Raises
        ------
        AttributeError
            If cards of this kind have no such table.
        """
        columns = _core.table_columns()[self.kind].get(name)
        if columns is None:
            raise AttributeError(f"the card of `{self.name}` has no table `{name}`")
        found = self._tables.get(name)
        return packet_table.to_arrow({} if found is None else found.all(), columns)

    @property
    def packets(self) -> pa.Table:
        """One row for each packet that the card has finished."""
        return self.table("packets")

    @property
    def summary(self) -> Mapping[str, Any]:
        """The summary of the card, as in a run of a single card.

        Raises
        ------
        AttributeError
            If the card was not simulated, because no packet has reached it.
        """
        records = self._records()
        if records is None:
            raise AttributeError(f"`{self.name}` has no `summary`: no packet has reached its card")
        summary: dict[str, Any] = json.loads(records[0])
        return summary

    @property
    def profile(self) -> Profile:
        """The cycles of the card's cores by cause, from a run with ``profile=True``.

        Raises
        ------
        AttributeError
            If the run did not count cycles, or the card has no cores or was not simulated.
        """
        records = self._records()
        counted = None if records is None else records[1]
        if counted is None:
            raise AttributeError(f"`{self.name}` has no `profile`: only runs with profile=True count cycles of cores")
        return Profile(json.loads(counted))

    def host_memory(self, addr: int | str, size: int) -> bytes:
        """`size` bytes of the host's memory at `addr`; bytes that were never written are 0.

        Raises
        ------
        InputError
            If the card keeps no host memory; cards that run handlers do.
        """
        addr, size = _core.address(addr), _core.whole("size", size)
        if _kinds.get(self.kind).keeps_host and self._records() is None:
            return bytes(size)
        if self._run is not None:
            return self._run.node_host_memory(self._number, addr, size)
        host = self._kept[1]
        if host is None:
            raise InputError("this card keeps no host memory; cards that run handlers do")
        return host.read(addr, size)

    def _records(self) -> tuple[str, str | None] | None:
        return self._kept[0] if self._run is None else self._run.node_records(self._number)

    def _take(self) -> None:
        """Copy all records from the simulator."""
        if self._run is not None:
            records = self._run.node_records(self._number)
            self._kept = records, None if records is None else _host(self._run, self._number)
            self._run = None

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle, which does not depend on the simulator."""
        self._take()
        return self.__dict__

    def write(self, folder: Path) -> None:
        """Write the files of the card into an existing, empty folder."""
        for name, rows in self._tables.items():
            file = packet_table.ParquetFile(folder / f"{name}.parquet", _core.table_columns()[self.kind][name])
            file.append(rows.all())
            file.close()
        self._take()
        records, host = self._kept
        if records is not None:
            _write(folder, records, host)


def _host(run: Run, number: int) -> HostMemory | None:
    with _files.scratch() as scratch:
        run.write_node_host(number, str(scratch))
        files = {path.name: path.read_bytes() for path in scratch.iterdir()}
    return HostMemory.of_files(files) if files else None


def _write(folder: Path, records: tuple[str, str | None], host: HostMemory | None) -> None:
    summary, profile = records
    counted = None if profile is None else Profile(json.loads(profile))
    write_rest(folder, summary=json.loads(summary), host=host, profile=counted)


class NodeResults(Mapping[str, NodeResult]):
    """Records of the cards of a network, by node name, for the nodes whose records are kept."""

    def __init__(self, run: Run, kept: Window | None) -> None:
        self._native: Run | None = run
        self._window = kept
        found = run.kept_nodes()
        self._by_name = {name: NodeResult(name, kind, number, run) for number, name, kind in found}
        self._by_number = {number: self._by_name[name] for number, name, _ in found}

    def __getitem__(self, name: str) -> NodeResult:
        """Records of the card on this node."""
        if name not in self._by_name:
            kept = ", ".join(self._by_name) or "none"
            raise KeyError(f"the run kept no records of a card on `{name}`; it kept {kept}")
        return self._by_name[name]

    def __iter__(self) -> Iterator[str]:
        """Names of nodes, in the order of their numbers."""
        return iter(self._by_name)

    def __len__(self) -> int:
        """Number of nodes."""
        return len(self._by_name)

    def take(self) -> None:
        """Take rows from the simulator."""
        if self._native is None:
            return
        for number, table, rows in self._native.take_node_tables():
            node = self._by_number[number]
            columns = _core.table_columns()[node.kind][table]
            found = node._tables.setdefault(table, packet_table.Collected(columns))
            found.append(within(rows, columns, self._window))

    def detach(self) -> None:
        """Copy all records from the simulator, and close it."""
        for node in self._by_name.values():
            node._take()
        if self._native is not None:
            self._native.close()
            self._native = None

    def __getstate__(self) -> dict[str, Any]:
        """The state for pickle, which does not depend on the simulator."""
        self.detach()
        return self.__dict__

    def write(self, folder: Path) -> None:
        """Write into the existing `folder`: one folder for each node whose card was simulated."""
        for name, node in self._by_name.items():
            if node._records() is not None:
                (folder / name).mkdir(parents=True)
                node.write(folder / name)


class NodeFolders:
    """Folders of nodes. Their tables are written during the run."""

    def __init__(self, run: Run, folder: Path, kept: Window | None) -> None:
        self._native = run
        self._folder = folder
        self._window = kept
        self._nodes = {number: (name, kind) for number, name, kind in run.kept_nodes()}
        self._files: dict[tuple[int, str], packet_table.ParquetFile] = {}

    def take(self) -> None:
        """Pass finished rows to the files. Together, the files keep at most 64 MiB of rows in memory."""
        for number, table, rows in self._native.take_node_tables():
            name, kind = self._nodes[number]
            columns = _core.table_columns()[kind][table]
            if (number, table) not in self._files:
                _let_open(len(self._files) + _SPARE_FILES)
                path = self._of(name) / f"{table}.parquet"
                self._files[number, table] = packet_table.ParquetFile(path, columns)
            self._files[number, table].append(within(rows, columns, self._window))
        waiting = sum(file.waiting for file in self._files.values())
        for file in sorted(self._files.values(), key=lambda file: -file.waiting):
            if waiting <= _MOST_WAITING:
                break
            waiting -= file.waiting
            file.flush()

    def _of(self, name: str) -> Path:
        folder = self._folder / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def close(self) -> None:
        """Complete and close the files of tables."""
        files, self._files = self._files, {}
        for file in files.values():
            file.close()

    def finish(self) -> None:
        """Write the results that exist only after the run: summaries, host memory, profiles."""
        self.take()
        self.close()
        for number, (name, _) in self._nodes.items():
            records = self._native.node_records(number)
            if records is not None:
                _write(self._of(name), records, _host(self._native, number))


def _let_open(files: int) -> None:
    """Allow this process to have `files` files open, if its limit is lower."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files <= soft:
        return
    if hard not in (resource.RLIM_INFINITY, -1) and files > hard:
        raise output.OutputError(
            f"the tables of the nodes need more open files than the {hard:,} that the system allows",
            hint="keep the tables of fewer nodes with --keep-nodes",
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (files + 1024 if hard < 0 else min(files + 1024, hard), hard))
