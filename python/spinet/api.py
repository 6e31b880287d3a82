# SPDX-License-Identifier: Apache-2.0
"""`run`: the simulator for Python programs. The command line stands on the same functions."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from spinet import _core, _driving, _files, _nics, output, packet_table, toolchain
from spinet import experiment as experiments
from spinet._core import InputError, UsageError
from spinet._driving import Interrupted as Interrupted
from spinet._nics import Settings
from spinet.experiment import Experiment
from spinet.result import HostMemory, Result, write_rest
from spinet.toolchain import Build

if TYPE_CHECKING:
    from spinet._core import Progress
    from spinet._nics import Card

_Table = TypeVar("_Table")

OnProgress = Callable[["Progress"], None]
OnConsole = Callable[[int, int, int, str], None]


@dataclass(frozen=True, kw_only=True)
class InstructionTrace:
    """Which instructions of a run are written down; by default, all of every core."""

    cores: str | None = None  # cluster:core, such as "0:3,1:*"
    time: str | None = None  # simulated time, such as "1 us..2 us"


def run(
    *,
    program: str | Path | Sequence[str | Path] | None = None,
    traffic: str | Path | None = None,
    experiment: str | Path | Mapping[str, Any] | None = None,
    match: str | None = None,
    message: str | None = None,
    handler: str | None = None,
    handler_memory: str | Path | bytes | None = None,
    nic: Card | None = None,
    set: Settings = (),
    seed: int | None = None,
    faults: str | None = None,
    pacing: str | None = None,
    count: int | None = None,
    limit: str | None = None,
    cc: str | None = None,
    defines: Mapping[str, str | int] | None = None,
) -> Result:
    """Run handlers on a simulated card.

    Say either `program` and `traffic`, or `experiment`; the rest changes what those say.

    Parameters
    ----------
    program
        C sources that are linked into one program, or one ELF file.
    traffic
        A capture (pcap or pcapng), or a description such as ``"udp:size=64,count=1000"``.
    experiment
        A TOML file that says everything, also for several contexts; or a mapping with the same keys, such as
        ``{"program": "ping_pong.c", "traffic": "udp:count=4", "context": [{"match": "udp"}]}``.
    match
        Which packets the handlers get, such as ``"udp.dst_port == 53"``; all if not given.
    message
        Which packets are one message, and what ends it; every packet its own if not given.
    handler
        Name of the handlers, without ``_hh``, ``_ph`` or ``_th``, if the program has several.
    handler_memory
        Initial contents of the handlers' L2 memory: a file, or bytes, which are kept in a file
        beside the compiled programs. Zeros if not given. `spinet.workloads` makes what the examples need.
    nic
        Name of a card, the path of its TOML file, or parameters as `spinet.parameters_of` gives them.
    set
        Changes of the card's parameters: ``"cluster.n_cores=4"``, several of such texts, or
        ``{"cluster.n_cores": 4}``.
    seed
        Decides everything random.
    faults
        What the network does to packets on their way, such as ``"loss=0.01,duplicate=0.001,reorder=0.02:8"``.
    pacing
        When packets arrive: ``"times"`` of the capture, ``"times:0.5"``, ``"line:400G"`` or ``"asap"``.
    count
        Take only this number of packets.
    limit
        Simulated time after which the run ends, such as ``"10 ms"``.
    cc
        Another RISC-V compiler than the one that came with spinet.
    defines
        Preprocessor macros for the handlers.

    Returns
    -------
    Result
        Also if the limit ended the run: see `Result.complete`.

    Raises
    ------
    InputError
        If anything about the experiment, the capture or the program is wrong.
    BuildError
        If the handlers do not compile.

    Examples
    --------
    >>> import spinet
    >>> result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4")
    >>> result.complete, len(result.sent), result.packets.num_rows
    (True, 4, 4)
    """
    prepared = prepare(
        program=[program] if isinstance(program, str | Path) else program,
        traffic=traffic,
        experiment=experiment,
        match=match,
        message=message,
        handler=handler,
        handler_memory=kept(handler_memory) if isinstance(handler_memory, bytes) else handler_memory,
        overrides=overrides(nic=nic, set=set, seed=seed, faults=faults, pacing=pacing, count=count, limit=limit),
    )
    build = experiments.compiled(prepared, cc=cc, defines=defines)
    tenants = experiments.compiled_tenants(prepared, first=build, cc=cc, defines=defines)
    return collect(prepared, build=build, tenants=tenants)


def overrides(
    *,
    nic: Card | None,
    set: Settings,
    seed: int | None,
    faults: str | None = None,
    pacing: str | None,
    count: int | None,
    limit: str | None,
) -> dict[str, Any]:
    """Arguments of the caller as keys of the experiment."""
    card, sets = _nics.chosen(nic, set)
    given = {
        "nic.preset": card,
        "nic.set": sets or None,
        "seed": seed,
        "faults": faults,
        "limit": limit,
        "traffic.pacing": pacing,
        "traffic.count": count,
    }
    return {name: value for name, value in given.items() if value is not None}


def prepare(
    *,
    program: Sequence[str | Path] | None,
    traffic: str | Path | None,
    experiment: str | Path | Mapping[str, Any] | None,
    match: str | None,
    message: str | None,
    handler: str | None,
    handler_memory: str | Path | None = None,
    overrides: Mapping[str, Any],
) -> Experiment:
    """Check what a caller asks for."""
    if experiment is not None:
        if program is not None:
            raise UsageError("an experiment names its program itself", hint="leave the program or the experiment away")
        of_a_context = {"match": match, "message": message, "handler": handler, "handler_memory": handler_memory}
        said = "the experiment" if isinstance(experiment, Mapping) else experiment
        experiments.refuse_context_keywords(said, of_a_context)
        more = dict(overrides)
        if traffic is not None:
            more["traffic.source"] = str(traffic)
        if isinstance(experiment, Mapping):
            return experiments.from_mapping(experiment, overrides=more)
        return experiments.from_file(Path(experiment), overrides=more)
    if program and any(str(name).endswith(".toml") for name in program):
        raise UsageError("an experiment file names its program itself", hint="give it alone, or leave it away")
    if not program:
        raise UsageError("there is no program to run", hint="name a C file with handlers, or an experiment file")
    if traffic is None:
        raise UsageError(
            "there is no traffic", hint="name a capture or a description: --traffic 'udp:size=64,count=1000'"
        )
    return experiments.from_keywords(
        program=[str(source) for source in program],
        traffic=str(traffic),
        match=match,
        message=message,
        handler=handler,
        handler_memory=None if handler_memory is None else str(handler_memory),
        overrides=overrides,
    )


def kept(content: bytes) -> Path:
    """A file with this content, which later runs of the same experiment find again."""
    cache = toolchain.cache_dir()
    path = cache / "memory" / f"{hashlib.sha256(content).hexdigest()[:24]}.bin"
    if not path.is_file() or path.read_bytes() != content:  # as after a power cut
        with _files.keeping(cache):
            path.parent.mkdir(parents=True, exist_ok=True)
            _files.write(path, content)
    return path


def collect(prepared: Experiment, *, build: Build | None, tenants: Sequence[Path] = ()) -> Result:
    """Run, and keep everything in memory."""
    rows = packet_table.Collected()
    console: list[tuple[int, int, int, str]] = []
    with _files.scratch() as scratch:
        sent = scratch / output.SENT
        native = start(prepared, build=build, tenants=tenants, out_pcapng=sent, packets=True)
        summary = drive(native, rows=rows, on_console=lambda *line: console.append(line))
        return Result(
            summary=summary,
            console=tuple(console),
            _rows=rows.all(),
            _pcapng=sent.read_bytes(),
            _host=HostMemory(native),
        )


def stream(
    prepared: Experiment,
    *,
    build: Build | None,
    tenants: Sequence[Path] = (),
    folder: Path | None,
    trace: InstructionTrace | None = None,
    on_progress: OnProgress | None = None,
    on_console: OnConsole | None = None,
) -> dict[str, Any]:
    """Run; keep only the summary, and write the rest into `folder` during the run.

    Ctrl-C ends the run: the summary then says that it was interrupted.
    """
    with contextlib.ExitStack() as stack:
        out_pcapng, rows = None, None
        if folder is not None:
            out_pcapng, rows = folder / output.SENT, packet_table.ParquetFile(folder / output.PACKETS)
            stack.callback(rows.close)
        native = start(
            prepared,
            build=build,
            tenants=tenants,
            out_pcapng=out_pcapng,
            packets=folder is not None,
            folder=folder,
            trace=trace,
        )
        stack.callback(native.close)
        try:
            summary = drive(native, rows=rows, on_progress=on_progress, on_console=on_console)
        except Interrupted as stopped:
            summary = stopped.summary
        if folder is not None:
            write_rest(folder, summary=summary, host=HostMemory(native))
    return summary


def start(
    prepared: Experiment,
    *,
    build: Build | None,
    tenants: Sequence[Path] = (),
    out_pcapng: Path | None,
    packets: bool,
    folder: Path | None = None,
    trace: InstructionTrace | None = None,
) -> _core.Run:
    """Build the simulated card, ready for its first packet."""
    instructions = None
    if folder is not None and trace is not None:
        instructions = folder / output.INSTRUCTIONS
        instructions.mkdir()
    names = (tenant["name"] for tenant in prepared.values.get("tenant", ()))
    programs = {name: str(elf) for name, elf in zip(names, tenants, strict=False)}
    if build:
        programs[""] = str(build.elf)
    try:
        return _core.Run(
            prepared.text(),
            file=prepared.file,
            base_dir=prepared.base_dir,
            format=prepared.format(),
            programs=programs,
            captures=str(out_pcapng.parent) if out_pcapng else None,
            tables=packets,
            instructions=str(instructions) if instructions else None,
            trace_cores=trace.cores if trace else None,
            trace_time=trace.time if trace else None,
        )
    except InputError as error:
        if build is None:
            raise
        # The user knows the sources, but not the path of the compiled program.
        raise InputError(str(error).replace(str(build.elf), prepared.program_name())) from None


def drive(
    native: _core.Run,
    *,
    rows: packet_table.Collected | packet_table.ParquetFile | None = None,
    on_progress: OnProgress | None = None,
    on_console: OnConsole | None = None,
) -> dict[str, Any]:
    """Advance a run to its end and return its summary; Ctrl-C raises `Interrupted`."""

    def look() -> None:
        if rows is not None:
            for table in native.take_tables().values():
                rows.append(table)
        if on_console is not None:
            for line in native.take_console():
                on_console(*line)

    return _driving.to_the_end(native, on_slice=look, on_progress=on_progress)
