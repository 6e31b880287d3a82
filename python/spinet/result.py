# SPDX-License-Identifier: Apache-2.0
"""The result of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _files, _pcapng, output, packet_table
from spinet._core import Run
from spinet.output import OutputFolder

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_INDEX = "index.json"  # of host memory's ranges


@dataclass(frozen=True, kw_only=True)
class SentPacket:
    """A packet that the card sent."""

    time_ns: int  # simulated time at which it left
    data: bytes  # from the first byte of its Ethernet header


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """Result of a run. Results can be copied and pickled, for processes that run in parallel for example.

    Attributes
    ----------
    summary
        Counts, throughput, latencies and costs, as `spinet run --json` prints them; docs/reference/summary.md.
    console
        What handlers printed: simulated time in ps, cluster, core, text.
    """

    summary: Mapping[str, Any]
    console: tuple[tuple[int, int, int, str], ...]
    _rows: packet_table.Chunk
    _pcapng: bytes
    _host: HostMemory

    def __repr__(self) -> str:
        """One line: what a person wants to know of a run first."""
        packets, ended = self.summary["packets"], self.summary["ended"]
        trapped = f", {packets['trapped']} trapped" if packets["trapped"] else ""
        done = f"{packets['in']} packets in, {packets['done']} done{trapped}"
        return f"<Result {ended['reason']}: {done}, digest {self.digest[:16]}>"

    @property
    def digest(self) -> str:
        """Stands for everything the card did: packets out, host writes, times. Equal inputs give equal digests."""
        return str(self.summary["digest"])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Problems in the simulated world and likely mistakes, one sentence each."""
        return tuple(str(remark["text"]) for remark in self.summary["remarks"])

    @property
    def complete(self) -> bool:
        """True if every packet was finished, false if the run ended early."""
        return bool(self.summary["ended"]["reason"] == "complete")

    @cached_property
    def packets(self) -> pa.Table:
        """One row a packet, in the order in which they were finished; null for what never happened."""
        return packet_table.to_arrow(self._rows)

    @cached_property
    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """The same as NumPy arrays of shape ``(n_packets,)``; times in ps since reset, -1 for what never happened."""
        return packet_table.to_numpy(self._rows)

    @cached_property
    def sent(self) -> tuple[SentPacket, ...]:
        """Packets that the card sent, in order."""
        return tuple(SentPacket(time_ns=time_ns, data=data) for time_ns, data in _pcapng.packets(self._pcapng))

    def host_memory(self, addr: int | str, size: int) -> bytes:
        """`size` bytes of host memory from `addr` on, as they are after the run; zeros where nothing was written.

        `addr` is a number, or a text as in the summary: ``"0x1000000000000000"``.
        """
        return self._host.read(_core.address(addr), _core.whole("size", size))

    def save(self, directory: str | Path, *, force: bool = False) -> None:
        """Write everything into a new folder, which appears only when it is complete.

        Parameters
        ----------
        directory
            The folder to make: ``summary.json``, ``packets.parquet``, ``out.pcapng``, ``host/``, ``experiment.json``.
        force
            Replace the folder of an earlier run.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written.
        """
        with OutputFolder(Path(directory), force=force) as folder:
            table = packet_table.ParquetFile(folder.path / output.PACKETS)
            table.append(self._rows)
            table.close()
            (folder.path / output.SENT).write_bytes(self._pcapng)
            write_rest(folder.path, summary=self.summary, host=self._host)
            folder.commit()


class HostMemory:
    """Host memory after a run: in the simulator, or in copies of a result the ranges that were written."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._files: dict[str, bytes] = {}

    def read(self, addr: int, size: int) -> bytes:
        """Bytes; zeros where nothing was written. Addresses wrap around at 2^64."""
        if self._run is not None:
            return self._run.host_memory(addr, size)
        found = bytearray(size)
        for start, content in self._ranges():
            # A read past the last address continues at 0.
            for first in (addr, addr - (1 << 64)):
                begin, end = max(start, first), min(start + len(content), first + size)
                if begin < end:
                    found[begin - first : end - first] = content[begin - start : end - start]
        return bytes(found)

    def write(self, folder: Path) -> None:
        """Make a folder with a file for each range, and `index.json`."""
        folder.mkdir()
        if self._run is not None:
            self._run.write_host(str(folder))
        for name, content in self._files.items():
            (folder / name).write_bytes(content)

    def _ranges(self) -> list[tuple[int, bytes]]:
        index = json.loads(self._files[_INDEX])
        return [(_core.address(written["addr"]), self._files[written["file"]]) for written in index]

    def __getstate__(self) -> dict[str, bytes]:
        """The files of its folder: what copies are made of."""
        if self._run is None:
            return self._files
        with _files.scratch() as scratch:
            self.write(scratch / output.HOST)
            return {path.name: path.read_bytes() for path in (scratch / output.HOST).iterdir()}

    def __setstate__(self, files: dict[str, bytes]) -> None:
        """A copy, which needs no simulator."""
        self._run, self._files = None, files


def write_rest(folder: Path, *, summary: Mapping[str, Any], host: HostMemory) -> None:
    """Write what is known only when a run is over: summary, experiment, host memory."""
    host.write(folder / output.HOST)
    (folder / output.EXPERIMENT).write_text(json.dumps(summary["experiment"], indent=2) + "\n")
    (folder / output.SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
