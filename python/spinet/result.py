# SPDX-License-Identifier: Apache-2.0
"""The result of a run, for every kind of card."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from spinet import _core, _files, _html, _kinds, _pcapng, _portable, output, packet_table
from spinet._core import Run
from spinet.output import OutputFolder
from spinet.paths import Paths
from spinet.profile import Profile

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from spinet._node_records import NodeResult, NodeResults

S = TypeVar("S")  # a type of `spinet.summaries`
_INDEX = "index.json"  # lists the ranges of host memory


@dataclass(frozen=True, kw_only=True)
class SentPacket:
    """A packet that left the card."""

    time_ns: int  # simulated time at which it left
    data: bytes  # from the first byte of its Ethernet header


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Latency from first bytes in to first bytes out, in ns."""

    count: int
    min: float
    mean: float
    p5: float
    median: float
    p99: float
    max: float
    split: Mapping[str, Mapping[str, float]]  # by part, in the order of time: mean, p99, max


@dataclass(frozen=True, kw_only=True)
class Tenant:
    """Results of a tenant's packets."""

    name: str
    weight: int
    packets_in: int
    packets_out: int
    bytes_out: int
    dropped: int
    dropped_by_reason: Mapping[str, int]
    in_gbps: float | None
    out_gbps: float | None
    share: float  # share of the bytes that left while all tenants sent; if they never did, of all bytes
    latency: Latency | None


@dataclass(frozen=True, kw_only=True)
class Service:
    """Results of the packets at a service."""

    name: str
    packets: int
    pushed: int  # those that came from another unit, without the scheduler
    detours: int
    mean_ns: Mapping[str, float]  # by part: interconnect, queueing, detours, unit_wait, service
    units: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Frames of a direction while both directions were active, without the first 100."""

    frames: int
    bytes: int  # without frame check sequence
    ns: float
    frames_per_s: float
    gbps: float  # rate of frames, without check sequence, preamble and gap


@dataclass(frozen=True, kw_only=True, repr=False)
class Result:
    """The result of a run. Results can be copied and pickled, for example to return them from other processes.

    An attribute that cards of this kind do not have raises `AttributeError`; the message names the kind.

    Attributes
    ----------
    summary
        Counts, throughput, latencies and costs, as `spinet run --json` prints them: docs/reference/summary.md.
    kind
        ``"handlers"`` (PsPIN), ``"chains"`` (PANIC and its baselines), ``"modules"`` (wired cards) or ``"network"``.
    console
        Lines that handlers printed: simulated time in ps, cluster, core, text.

    Examples
    --------
    >>> import spinet
    >>> result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4")
    >>> result.ended, result.summary["packets"]["out"], len(result.sent[0].data)
    ('complete', 4, 64)
    >>> int(result.columns["cycles"].max()) == max(result.packets["cycles"].to_pylist())
    True
    """

    summary: Mapping[str, Any]
    kind: str
    console: tuple[tuple[int, int, int, str], ...] = ()
    _tables: Mapping[str, packet_table.Chunk] = field(default_factory=dict)
    _captures: Mapping[str, bytes] = field(default_factory=dict)
    _host: HostMemory | None = None
    _profile: Profile | None = None
    _nodes: NodeResults | None = None

    def __repr__(self) -> str:
        """The end of the run, the counts of packets and the digest, in one line."""
        return f"<Result {self.ended}: {self._counts()}, digest {self.digest[:16]}>"

    def _repr_html_(self) -> str:
        """For notebooks: counts, rates, latency and its parts."""
        return _html.summary("Result", self.summary)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """`packets`, or `frames` of wired cards, as Arrow's stream: pyarrow, polars and pandas read it without a copy.

        Examples
        --------
        >>> import pyarrow
        >>> import spinet
        >>> result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4")
        >>> pyarrow.table(result).num_rows
        4
        """
        return self.table(_kinds.get(self.kind).rows).__arrow_c_stream__(requested_schema)

    def _counts(self) -> str:
        return _kinds.get(self.kind).counts(self.summary)

    def summary_as(self, kind: type[S]) -> S:
        """`summary` with one of the types of `spinet.summaries`, for type checkers and editors.

        Parameters
        ----------
        kind
            `spinet.summaries.Summary`, which fits all cards, or the type for this kind of card.

        Raises
        ------
        InputError
            If the card is of another kind.

        Examples
        --------
        >>> import spinet
        >>> from spinet.summaries import HandlersSummary
        >>> result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4")
        >>> result.summary_as(HandlersSummary)["packets"]["sent"]
        4
        """
        from spinet import summaries

        own = getattr(summaries, f"{self.kind.capitalize()}Summary", summaries.Summary)
        if kind not in (own, summaries.Summary):
            allowed = " or ".join(dict.fromkeys((own.__name__, "Summary")))
            found = getattr(kind, "__name__", kind)
            raise _core.UsageError(f"kind is {found}; this card {_kinds.get(self.kind).does}: must be {allowed}")
        return cast("S", self.summary)

    @property
    def digest(self) -> str:
        """Hash of everything that left the card, with times. Equal inputs give equal digests."""
        return str(self.summary["digest"])

    @property
    def remarks(self) -> tuple[str, ...]:
        """Problems in the simulated world and likely mistakes of the input, one sentence each."""
        return tuple(str(remark["text"]) for remark in self.summary["remarks"])

    @property
    def ended(self) -> str:
        """Why the run ended: ``complete``, ``limit``, ``stalled``, ...; docs/reference/summary.md lists all."""
        return str(self.summary["ended"]["reason"])

    @property
    def complete(self) -> bool:
        """True if every packet was finished; false if for example a limit ended the run."""
        return self.ended == "complete"

    def counter(self, path: str) -> int:
        """A counter of a part, such as ``scheduler.detours``.

        Raises
        ------
        KeyError
            If there is no such counter.
        """
        return int(self.summary["counters"][path])

    def table(self, name: str) -> pa.Table:
        """A table of the run: ``packets`` (one row per packet), ``hops`` or ``frames``. Null marks absent events.

        Raises
        ------
        AttributeError
            If cards of this kind have no such table, or the run did not keep it.
        """
        return packet_table.to_arrow(self._rows(name), _core.table_columns()[self.kind][name])

    def _rows(self, name: str) -> packet_table.Chunk:
        kinds = [kind for kind, tables in _core.table_columns().items() if name in tables]
        self._check(name, *kinds)
        if name not in self._tables:
            why = "paths=True records them" if name == output.PATHS else "it had keep_packets=False"
            raise AttributeError(f"the run did not keep `{name}`: {why}")
        return self._tables[name]

    def _check(self, name: str, *kinds: str) -> None:
        if self.kind not in kinds:
            others = " or ".join(_kinds.get(kind).does for kind in kinds)
            where = f"; a card that {others} has" if others else f"; its tables are {', '.join(self._tables)}"
            raise AttributeError(f"this card {_kinds.get(self.kind).does}, so its result has no `{name}`{where}")

    @property
    def profile(self) -> Profile:
        """Where the cycles of the cores went, by source line and cause.

        Raises
        ------
        AttributeError
            If the run did not count them, or the card has no cores.
        """
        if self._profile is None:
            raise AttributeError("the run has no `profile`: spinet.run(..., profile=True) counts the cycles of cores")
        return self._profile

    @property
    def findings(self) -> tuple[Mapping[str, Any], ...]:
        """Mistakes that the memory checker found, each place once; docs/reference/summary.md has the keys.

        Raises
        ------
        AttributeError
            If the run was not checked.
        """
        check = self.summary.get("check")
        if check is None:
            raise AttributeError("the run has no `findings`: spinet.run(..., check=True) checks accesses to memory")
        return tuple(check["findings"])

    @cached_property
    def paths(self) -> Paths:
        """The path of each packet, step by step: `paths.path(7)` is that of packet 7.

        Raises
        ------
        AttributeError
            If the run did not record paths.
        """
        paths = self.table(output.PATHS)
        return Paths(self.summary, self.table(_kinds.get(self.kind).rows), paths)

    @property
    def nodes(self) -> Mapping[str, NodeResult]:
        """Networks: records of the cards by node name, each with tables, profile, host memory and summary.

        Examples
        --------
        >>> import spinet
        >>> result = spinet.run("experiments/networks/pair.toml")
        >>> server = result.nodes["server"]
        >>> server.packets.num_rows, server.summary["packets"]["sent"]
        (1000, 1000)
        """
        self._check("nodes", *(kind for kind in _kinds.names() if _kinds.get(kind).has_nodes))
        if self._nodes is None:
            raise AttributeError("the run did not keep `nodes`, because it had keep_packets=False")
        return self._nodes

    @cached_property
    def packets(self) -> pa.Table:
        """One row per packet, in the order in which they were finished. For wired cards see `frames`."""
        return self.table("packets")

    @cached_property
    def hops(self) -> pa.Table:
        """Chains: one row per visit of a service; its packet is that of the same number in `packets`."""
        return self.table("hops")

    @cached_property
    def frames(self) -> pa.Table:
        """Wired cards: one row per frame, with times at which it was given to the card and came out."""
        return self.table("frames")

    @cached_property
    def columns(self) -> dict[str, np.ndarray[Any, Any]]:
        """`packets`, or `frames`, as NumPy arrays of shape ``(n,)``; times in ps since reset, -1 for absent events."""
        name = _kinds.get(self.kind).rows
        return packet_table.to_numpy(self._rows(name), _core.table_columns()[self.kind][name])

    @cached_property
    def sent(self) -> tuple[SentPacket, ...]:
        """Packets that left to the network, in order."""
        return self._left("sent", _kinds.get(self.kind).to_network)

    @property
    def to_network(self) -> tuple[SentPacket, ...]:
        """The same as `sent`."""
        return self.sent

    @cached_property
    def to_host(self) -> tuple[SentPacket, ...]:
        """Chains and wired cards: packets that left to the host, in order. Handlers write to `host_memory`."""
        return self._left("to_host", _kinds.get(self.kind).to_host)

    @cached_property
    def dropped(self) -> tuple[SentPacket, ...]:
        """Packets that the card dropped, with ``capture_drops=True``: as they were then, with the times of the drops.

        The capture ``dropped.pcapng`` of a saved result has the reasons as comments.
        """
        if output.DROPPED not in self._captures:
            raise AttributeError("the run did not keep `dropped`: capture_drops=True keeps dropped packets")
        found = _pcapng.packets(self._captures[output.DROPPED])
        return tuple(SentPacket(time_ns=time_ns, data=data) for time_ns, data in found)

    def captured(self, end: str) -> tuple[SentPacket, ...]:
        """Networks: frames sent and received at an end of a link, such as ``"n0:0"``, at the times of their first bits.

        `captures` of the network must name the end, and the run must have ended.
        """
        self._check("captured", _kinds.NETWORK)
        file = f"{output.LINKS}/{end.replace(':', '-')}.pcapng"
        if file not in self._captures:
            raise _core.UsageError(
                f"there is no capture of `{end}`", hint="captures = ['n0:0'] in a network keeps that of n0:0"
            )
        found = _pcapng.packets(self._captures[file])
        return tuple(SentPacket(time_ns=time_ns, data=data) for time_ns, data in found)

    def _left(self, name: str, file: str | None) -> tuple[SentPacket, ...]:
        if file is None:
            way = "to_host" if name == "to_host" else "to_network"
            self._check(name, *(kind for kind in _kinds.names() if getattr(_kinds.get(kind), way) is not None))
        if file is None or file not in self._captures:
            raise AttributeError(f"the run did not keep `{name}`: it had keep_packets=False")
        found = _pcapng.packets(self._captures[file])
        return tuple(SentPacket(time_ns=time_ns, data=data) for time_ns, data in found)

    def host_memory(self, addr: int | str, size: int) -> bytes:
        """Handlers: `size` bytes of host memory at `addr` after the run; zeros where nothing was written.

        `addr` is a number, or a text as in the summary: ``"0x1000000000000000"``.
        """
        self._check("host_memory", "handlers")
        if self._host is None:
            raise AttributeError("the run did not keep `host_memory`: it had keep_packets=False")
        return self._host.read(_core.address(addr), _core.whole("size", size))

    def host_view(self, addr: int | str, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """Handlers: host memory after the run, as a NumPy array of bytes of shape ``(size,)`` that cannot be written.

        The first call takes host memory from the simulator. Views share it: they copy nothing, unless they go beyond
        the pages of 4 KiB that were written.

        Raises
        ------
        AttributeError
            If the card has no handlers, or the run did not keep its memory.

        Examples
        --------
        >>> import spinet
        >>> result = spinet.run(program="sdk/examples/copy_to_host.c", traffic="udp:size=100,count=5")
        >>> base = result.summary["contexts"][0]["host_memory"]["addr"]
        >>> result.host_view(base, 100).view(">u2")[6]
        np.uint16(2048)
        """
        self._check("host_view", "handlers")
        if self._host is None:
            raise AttributeError("the run did not keep `host_view`: it had keep_packets=False")
        return self._host.view(_core.address(addr), _core.whole("size", size))

    @property
    def latency(self) -> Latency | None:
        """Chains: latency of all packets that left; None if there are none."""
        self._check("latency", "chains")
        return _latency(self.summary["latency_ns"])

    @cached_property
    def tenants(self) -> dict[str, Tenant]:
        """Chains: tenants by name, in order."""
        self._check("tenants", "chains")
        return {row["name"]: _tenant(row) for row in self.summary["tenants"]}

    @cached_property
    def services(self) -> dict[str, Service]:
        """Chains: services by name, in order."""
        self._check("services", "chains")
        return {row["service"]: _service(row) for row in self.summary["services"]}

    @cached_property
    def rates(self) -> dict[str, Rate]:
        """Wired cards: ``sent`` (host to network), ``received`` (network to host) and ``total``."""
        self._check("rates", "modules")
        ways = {way: self.summary[way]["rate"] for way in _WAYS}
        return {way: Rate(**row) for way, row in {**ways, "total": self.summary["total"]}.items()}

    @property
    def is_intact(self) -> bool:
        """Wired cards: true if every frame that came out was given to the card, came out once and in order."""
        self._check("is_intact", "modules")
        return all(not self.summary[way][what] for way in _WAYS for what in ("late", "unknown"))

    def save(self, directory: str | Path, *, force: bool = False) -> None:
        """Write everything into a new folder, which appears only when it is complete.

        Parameters
        ----------
        directory
            The folder to make: ``summary.json``, ``experiment.json``, a ``.parquet`` file per table, a ``.pcapng``
            file per exit and, for handlers, ``host/``.
        force
            Replace the folder of an earlier run.

        Raises
        ------
        OutputError
            If the folder exists or cannot be written.
        """
        with OutputFolder(Path(directory), force=force) as folder:
            self.write(folder.path)
            folder.commit()

    def write(self, folder: Path) -> None:
        """Write all files into a folder that exists and is empty."""
        for name, rows in self._tables.items():
            table = packet_table.ParquetFile(folder / f"{name}.parquet", _core.table_columns()[self.kind][name])
            table.append(rows)
            table.close()
        for name, content in self._captures.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        if self._nodes:
            self._nodes.write(folder / output.NODES)
        write_rest(folder, summary=self.summary, host=self._host, profile=self._profile)


_WAYS = ("sent", "received")


class HostMemory:
    """Host memory after a run: in the simulator, or here, as the ranges that were written."""

    def __init__(self, run: Run) -> None:
        self._run: Run | None = run
        self._files: dict[str, bytes] = {}

    @classmethod
    def of_files(cls, files: dict[str, bytes]) -> HostMemory:
        """The memory that these files, from a folder `host/`, describe."""
        made = cls.__new__(cls)
        made.__setstate__(files)
        return made

    def read(self, addr: int, size: int) -> bytes:
        """Bytes; zeros where nothing was written. Addresses wrap around at 2^64."""
        if self._run is not None:
            return self._run.host_memory(addr, size)
        return bytes(self._assembled(addr, size))

    def view(self, addr: int, size: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """The same as a read-only array, shared with other views if one range contains all of it."""
        import numpy as np

        self._take()
        for start, content in self._ranges():
            if start <= addr and addr + size <= start + len(content):
                return np.frombuffer(content, dtype=np.uint8, count=size, offset=addr - start)
        made = np.frombuffer(self._assembled(addr, size), dtype=np.uint8)
        made.flags.writeable = False
        return made

    def _assembled(self, addr: int, size: int) -> bytearray:
        found = bytearray(size)
        for start, content in self._ranges():
            # A read past the last address continues at 0.
            for first in (addr, addr - (1 << 64)):
                begin, end = max(start, first), min(start + len(content), first + size)
                if begin < end:
                    found[begin - first : end - first] = content[begin - start : end - start]
        return found

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

    def _take(self) -> None:
        """Take the ranges from the simulator, which then ends."""
        if self._run is None:
            return
        with _files.scratch() as scratch:
            self.write(scratch / output.HOST)
            self._files = {path.name: path.read_bytes() for path in (scratch / output.HOST).iterdir()}
        self._run.close()
        self._run = None

    def __getstate__(self) -> dict[str, bytes]:
        """The files of its folder: what copies are made of."""
        self._take()
        return self._files

    def __setstate__(self, files: dict[str, bytes]) -> None:
        """A copy, which needs no simulator."""
        self._run, self._files = None, files


def write_rest(
    folder: Path, *, summary: Mapping[str, Any], host: HostMemory | None, profile: Profile | None = None
) -> None:
    """Write the files that are complete only when a run is over: summary, experiment, host memory, profile."""
    if profile is not None:
        (folder / output.PROFILE).write_text(profile.to_json())
    if summary.get("check") is not None:
        (folder / output.FINDINGS).write_text(json.dumps(summary["check"]["findings"], indent=2) + "\n")
    if host is not None:
        host.write(folder / output.HOST)
    experiment = _portable.copied(summary["experiment"], folder, output.FILES)
    (folder / output.EXPERIMENT).write_text(json.dumps(experiment, indent=2) + "\n")
    (folder / output.SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")


def _latency(row: Mapping[str, Any] | None) -> Latency | None:
    return None if row is None else Latency(**row)


def _tenant(row: Mapping[str, Any]) -> Tenant:
    return Tenant(
        name=row["name"],
        weight=row["weight"],
        packets_in=row["in"],
        packets_out=row["out"],
        bytes_out=row["out_bytes"],
        dropped=row["dropped"],
        dropped_by_reason=row["dropped_by_reason"],
        in_gbps=row["in_gbps"],
        out_gbps=row["out_gbps"],
        share=row["share"],
        latency=_latency(row["latency_ns"]),
    )


def _service(row: Mapping[str, Any]) -> Service:
    return Service(
        name=row["service"],
        packets=row["packets"],
        pushed=row["pushed"],
        detours=row["detours"],
        mean_ns={name: part["mean"] for name, part in (row["split_ns"] or {}).items()},
        units=row["units"],
    )
