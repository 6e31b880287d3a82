# SPDX-License-Identifier: Apache-2.0
"""Handlers on the processor of this machine: the same sources, packets and results as on the card, without the card.

The handlers are compiled by the system's C compiler against `sdk/native` and run by worker threads over packets that
lie in memory already, as the PsPIN paper compares its cores with others (section IV-C2). Times are this machine's, and
differ from run to run; results do not, as far as handlers do not depend on the order of packets.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from spinet import _arguments, _commands, _core, _files, _offered, _programs, api, toolchain
from spinet import _experiments as experiments
from spinet._build_errors import CompileError, CompilerNotFound
from spinet._core import UsageError
from spinet._experiments import Prepared

MAX_THREADS = 32  # as many as the card has cores: handlers use their number
_SOURCES = ("native.c", "card.c", "events.c")
_STAGES = ("header", "payload", "completion")
_NEVER = 0xFFFF_FFFF
_NO_MESSAGE = 0xFFFF_FFFF

_L1_BYTES, _SCRATCHPAD_OFFSET = 0x10_0000, 0x1_4400
_HANDLER_MEMORY, _HANDLER_MEMORY_BYTES = 0x1C30_0000, 0x10_0000
_HOST_MEMORY, _HOST_MEMORY_BYTES = 0x1000_0000_0000_0000, 1 << 30


@dataclass(frozen=True, kw_only=True)
class Worker:
    """Time of a thread for all its packets, without reading the clock in between.

    Attributes
    ----------
    ns
        From its first packet to its last.
    events
        Counted in user mode: ``instructions``, ``cycles``, ``l1_loads``, ``l1_misses``, ``llc_misses``; None for those
        that this machine does not count.
    why_not
        Why events are missing; empty if none is.
    """

    ns: int
    events: Mapping[str, int | None]
    why_not: str


@dataclass(frozen=True, kw_only=True)
class NativeResult:
    """Result of handlers on this machine.

    Attributes
    ----------
    ns
        For each stage, the time of its handler for each packet in ns, including the cost of reading the clock; arrays
        of shape ``(n_packets,)``, -1 where it did not run.
    clock_ns
        Cost of reading the clock.
    threads
        One for each worker.
    command_faults
        Commands with addresses outside the context's host memory.
    console
        What handlers printed.
    compiler
        Name and version of the compiler, as it prints them.
    n_sent
        How many packets they sent.
    """

    ns: Mapping[str, np.ndarray[Any, np.dtype[np.int64]]]
    clock_ns: int
    threads: tuple[Worker, ...]
    command_faults: int
    console: str
    compiler: str
    n_sent: int
    _sent: bytes = field(repr=False)
    _host: bytes = field(repr=False)
    _host_base: int = field(repr=False)

    @cached_property
    def sent(self) -> tuple[bytes, ...]:
        """Packets that they sent, in the order of the packets that they answer."""
        # The file has the newest first.
        found = list(_sent_records(self._sent))[::-1]
        return tuple(self._sent[at : at + size] for _, at, size in sorted(found, key=lambda entry: entry[0]))

    def host_memory(self, addr: int, size: int) -> bytes:
        """`size` bytes of host memory from `addr` on; zeros where nothing was written."""
        first = addr - self._host_base
        written = self._host[max(first, 0) : max(first + size, 0)]
        return (bytes(min(max(-first, 0), size)) + written).ljust(size, b"\0")


def run(
    *,
    program: str | Path | Sequence[str | Path] | None = None,
    traffic: str | Path | None = None,
    experiment: str | Path | Mapping[str, Any] | None = None,
    match: str | None = None,
    message: str | None = None,
    handler: str | None = None,
    handler_memory: str | Path | bytes | None = None,
    seed: int | None = None,
    count: int | None = None,
    threads: int = 1,
    cc: str = "cc",
    flags: Sequence[str] = ("-O3", "-march=native"),
    defines: Mapping[str, str | int] | None = None,
) -> NativeResult:
    """Run handlers on this machine.

    Parameters
    ----------
    program, traffic, experiment, match, message, handler, handler_memory, seed, count, defines
        As in `spinet.run`; the program is C sources. An experiment has one context.
    threads
        Worker threads, 1 to 32. Packets go to them in turn.
    cc
        A C compiler for this machine.
    flags
        Flags for optimisation.

    Raises
    ------
    InputError
        If anything about the experiment is wrong, or a handler crashed.
    BuildError
        If the handlers do not compile here.

    Examples
    --------
    >>> from spinet import native
    >>> result = native.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4", threads=2)
    >>> len(result.sent), result.ns["payload"].shape, len(result.threads)
    (4, (4,), 2)
    """
    _arguments.check(
        {"experiment": experiment, "match": match, "message": message, "handler": handler, "seed": seed, "count": count}
        | {"threads": threads, "cc": cc, "flags": flags, "defines": defines}
    )
    if not 1 <= threads <= MAX_THREADS:
        raise UsageError(f"threads is {threads}, must be 1 to {MAX_THREADS}")
    prepared = api.handlers(
        program=[program] if isinstance(program, str | Path) else program,
        traffic=traffic,
        experiment=experiment,
        match=match,
        message=message,
        handler=handler,
        handler_memory=_programs.kept(handler_memory) if isinstance(handler_memory, bytes) else handler_memory,
        overrides=api.overrides(nic=None, set=(), seed=seed, pacing=None, count=count, limit=None),
    )
    with _files.scratch() as workshop:
        setting = _Setting.of(prepared, defines)
        compiler = _compile(prepared, setting, workshop / "program", cc=cc, flags=flags, defines=defines or {})
        _write_input(setting, _offered.each(prepared), workshop / "input")
        console = _execute(prepared, workshop, threads)
        return _result(setting, workshop, console=console, compiler=compiler)


@dataclass(frozen=True, kw_only=True)
class _Setting:
    """The one context of an experiment."""

    symbols: Mapping[str, str]
    handler_memory: tuple[int, int, bytes]  # address, bytes, content
    host_memory: tuple[int, int]
    scratchpad_bytes: int
    copy_bytes: int
    # A message's queue and home cluster are its identity modulo these. Source: PsPIN RTL a49fec8.
    n_queues: int
    n_clusters: int

    @staticmethod
    def of(prepared: Prepared, defines: Mapping[str, str | int] | None) -> _Setting:
        contexts = prepared.values["context"]
        if len(contexts) != 1:
            raise UsageError(f"the experiment has {len(contexts)} contexts, native runs take one")
        context = contexts[0]
        memory, host = context.get("handler_memory", {}), context.get("host_memory", {})
        if host.get("data"):
            raise UsageError("context[0].host_memory: native runs begin with zeros in host memory")
        card = experiments.card(prepared)
        shape = experiments.shape_of_card(card)
        if shape:
            found = ", ".join(f"{name} {count}" for name, count in shape.items())
            raise UsageError(
                f"the experiment's card has another shape ({found}): native runs have 4 clusters of 8 cores",
                hint="the published shape runs here: leave n_clusters and cluster.n_cores as they are",
            )
        address, size = _core.address(memory.get("addr", _HANDLER_MEMORY)), memory.get("size", _HANDLER_MEMORY_BYTES)
        content = b""
        if memory.get("data"):
            with Path(memory["data"]).open("rb") as file:
                content = file.read(size + 1)
        if len(content) > size:
            raise UsageError(f"{memory['data']} has more than the {size} bytes of its handler memory")
        if not 0x1C00_0000 <= address <= address + size <= 0x1C40_0000:
            raise UsageError(f"context[0].handler_memory is at {address:#x}, must be within L2 handler memory")
        room = _L1_BYTES - _SCRATCHPAD_OFFSET
        return _Setting(
            symbols=_symbols(prepared, context, defines),
            handler_memory=(address, size, content),
            host_memory=(_core.address(host.get("addr", _HOST_MEMORY)), host.get("size", _HOST_MEMORY_BYTES)),
            scratchpad_bytes=min(context.get("scratchpad_bytes", room), room),
            copy_bytes=context.get("copy_bytes", 0xFFFF_FFFF),
            n_queues=card["scheduler"]["n_mpqs"],
            n_clusters=card["n_clusters"],
        )


def _symbols(prepared: Prepared, context: Mapping[str, Any], defines: Mapping[str, str | int] | None) -> dict[str, str]:
    """Names of the functions of each stage, found as for the card: in the program that its compiler makes."""
    built = toolchain.build(prepared.programs(), defines=defines)
    name = built.entry(name=context.get("handler")).name
    named = zip(_STAGES, toolchain.SUFFIXES, strict=True)
    return {stage: context.get(stage, f"{name}{suffix}") or "spin_no_handler" for stage, suffix in named}


def _compile(
    prepared: Prepared,
    setting: _Setting,
    target: Path,
    *,
    cc: str,
    flags: Sequence[str],
    defines: Mapping[str, str | int],
) -> str:
    """Make the program; return the compiler's name and version."""
    command = shutil.which(cc)
    if command is None:
        raise CompilerNotFound(
            f"no compiler {cc!r} in the search path", hint="install gcc or clang, or name one with --cc"
        )
    sdk = toolchain.sdk_dir()
    own = [f"-DSPIN_{stage.upper()}={symbol}" for stage, symbol in setting.symbols.items()]
    # Headers of this system come first, so handlers get its printf. Missing ones come from the SDK.
    include = ["-I", str(sdk / "native" / "include"), "-idirafter", str(sdk / "include"), "-idirafter", str(sdk)]
    sources = [*(str(sdk / "native" / name) for name in _SOURCES), *map(str, prepared.programs())]
    warnings = ["-Wall", "-Wno-unused", "-Wno-packed-not-aligned"]
    done = _commands.run(
        [
            command,
            *flags,
            "-g",
            "-pthread",
            *warnings,
            "-DSPIN_NATIVE",
            *own,
            *toolchain.define_flags(defines),
            *include,
            *sources,
            "-o",
            str(target),
        ],
        env={**os.environ, "TMPDIR": str(target.parent)},
    )
    if done.returncode != 0:
        compiler_output = done.stderr.decode(errors="replace")
        raise CompileError(f"{prepared.program_name()} does not compile for this machine", stderr=compiler_output)
    version = _commands.run([command, "--version"]).stdout.decode(errors="replace")
    return version.splitlines()[0] if version else cc


def _write_input(setting: _Setting, packets: Iterable[_offered.OfferedPacket], target: Path) -> None:
    """Write the file that the program reads; sdk/native/card.c says how it is laid out."""
    address, size, content = setting.handler_memory
    content = content.ljust(-(-len(content) // 4) * 4, b"\0")[:size]
    messages = _Messages(setting.n_queues, setting.n_clusters)
    rows = bytearray()
    spool = target.with_suffix(".data")
    with spool.open("wb") as data:
        for packet in packets:
            if packet.context is None or packet.msgid is None:
                continue
            number = messages.take(packet.message, packet.msgid, is_last=packet.is_last)
            rows += struct.pack("<III", number, len(packet.data), min(len(packet.data), setting.copy_bytes))
            data.write(packet.data)
    head = struct.pack(
        "<8sQIIIIIIIIII",
        b"spinet\0\1",
        *setting.host_memory,
        _L1_BYTES,
        _SCRATCHPAD_OFFSET,
        setting.scratchpad_bytes,
        address,
        size,
        len(content),
        len(messages.counts),
        len(rows) // 12,
        0,
    )
    with target.open("wb") as file:
        for part in (head, content, messages.table(), rows):
            file.write(part)
        with spool.open("rb") as data:
            shutil.copyfileobj(data, file)
    spool.unlink()


class _Messages:
    """Messages by number: a few bytes for each, for captures in which every packet is a message."""

    def __init__(self, n_queues: int, n_clusters: int) -> None:
        self._n_queues, self._n_clusters = n_queues, n_clusters
        self.counts, self._msgids, self._after, self._ends = array("I"), array("H"), array("I"), bytearray()
        self._open: dict[int, int] = {}
        self._latest: dict[int, int] = {}

    def take(self, message: int, msgid: int, *, is_last: bool) -> int:
        """Count a packet of a message. Returns the message's number."""
        number = self._open.get(message)
        if number is None:
            number = self._open[message] = len(self.counts)
            flow = msgid % self._n_queues
            self._msgids.append(msgid)
            self._after.append(self._latest.get(flow, _NO_MESSAGE))
            self._latest[flow] = number
            self.counts.append(0)
            self._ends.append(False)
        self.counts[number] += 1
        if is_last:
            self._ends[number] = True
            del self._open[message]
        return number

    def table(self) -> bytes:
        """For each message: queue, cluster, packets, whether it ends, and the message before it in its queue."""
        rows = zip(self._msgids, self.counts, self._ends, self._after, strict=True)
        queues, clusters = self._n_queues, self._n_clusters
        return b"".join(struct.pack("<IIIII", m % queues, m % clusters, n, end, b) for m, n, end, b in rows)


def _execute(prepared: Prepared, workshop: Path, threads: int) -> str:
    command = [str(workshop / "program"), str(workshop / "input"), str(workshop), str(threads)]
    done = _commands.run(command)
    if done.returncode < 0:
        raise UsageError(
            f"{prepared.program_name()} crashed on this machine: signal {-done.returncode}",
            hint="a handler accessed memory that does not exist, as it would trap on the card",
        )
    if done.returncode != 0:
        raise UsageError(
            f"{prepared.program_name()} does not run on this machine: {done.stderr.decode(errors='replace').strip()}"
        )
    return done.stdout.decode(errors="replace")


def _result(setting: _Setting, workshop: Path, *, console: str, compiler: str) -> NativeResult:
    summary = json.loads((workshop / "summary.json").read_text())
    times = {}
    for stage in _STAGES:
        ns = np.fromfile(workshop / f"{stage}.ns", dtype="<u4").astype(np.int64)
        ns[ns == _NEVER] = -1
        times[stage] = ns
    workers = [
        Worker(
            ns=worker.pop("ns"),
            why_not=worker.pop("why_not") or "",
            events=worker,
        )
        for worker in summary["threads"]
    ]
    sent = (workshop / "sent.bin").read_bytes()
    return NativeResult(
        n_sent=sum(1 for _ in _sent_records(sent)),
        _sent=sent,
        ns=times,
        clock_ns=summary["clock_ns"],
        threads=tuple(workers),
        command_faults=summary["command_faults"],
        console=console,
        compiler=compiler,
        _host=(workshop / "host.bin").read_bytes(),
        _host_base=setting.host_memory[0],
    )


def _sent_records(data: bytes) -> Iterator[tuple[int, int, int]]:
    """For each sent packet: the number of the packet that it answers, the offset of its bytes, and their number."""
    at = 0
    while at < len(data):
        number, size = struct.unpack_from("<II", data, at)
        yield number, at + 8, size
        at += 8 + size
