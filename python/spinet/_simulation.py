# SPDX-License-Identifier: Apache-2.0
"""Builds the card of an experiment and runs it to its end, with results in memory or in files."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import _core, _driving, _files, _kinds, _node_records, output, packet_table
from spinet import _experiments as experiments
from spinet._core import InputError, UsageError
from spinet._driving import InstructionTrace, Interrupted, Timeline
from spinet._programs import Ready
from spinet.profile import Profile, profile_of
from spinet.result import HostMemory, Result, write_rest

if TYPE_CHECKING:
    import pyarrow as pa

    from spinet._core import Progress
    from spinet.chains import Policy
    from spinet.sharing import TenantPolicy

OnProgress = Callable[["Progress"], None]
OnRows = Callable[[str, "pa.Table"], None]
OnConsole = Callable[[int, int, int, str], None]
Live = Callable[[_core.Run, Callable[[], None]], dict[str, Any]]
Tables = Mapping[str, packet_table.Collected | packet_table.ParquetFile]


def collect(
    ready: Ready,
    *,
    keep_packets: bool = True,
    profile: bool = False,
    paths: bool = False,
    timeline: Timeline | None = None,
    capture_drops: bool = False,
    check: bool = False,
    policies: Mapping[str, Policy | TenantPolicy | Sequence[TenantPolicy]] | None = None,
    on_progress: OnProgress | None = None,
    on_rows: OnRows | None = None,
) -> Result:
    """Run and keep the results in memory."""
    kind = _kinds.get(ready.experiment.kind)

    def table(name: str, columns: packet_table.Columns) -> packet_table.Collected:
        return packet_table.Collected(columns, keep=keep_packets, on_rows=on_rows and functools.partial(on_rows, name))

    has_tables = keep_packets or on_rows is not None
    tables: dict[str, packet_table.Collected] = packet_table.of_kind(kind.name, paths, table) if has_tables else {}
    console: list[tuple[int, int, int, str]] = []
    with _files.scratch() if keep_packets else contextlib.nullcontext() as scratch:
        native = start(
            ready,
            captures=scratch,
            tables=has_tables,
            profile=profile,
            paths=paths,
            timeline=timeline,
            capture_drops=capture_drops,
            check=check,
            policies=policies,
        )
        nodes = _node_records.NodeResults(native, ready.window) if keep_packets and kind.has_nodes else None
        keeps_host = keep_packets and kind.keeps_host
        try:
            summary = drive(
                native,
                tables=tables,
                nodes=nodes,
                on_progress=on_progress,
                on_console=lambda *line: console.append(line),
            )
            counted = profile_of(native) if profile and not kind.has_nodes else None
        finally:
            if not keeps_host and nodes is None:
                native.close()
        names = [*kind.captures, *([output.DROPPED] if capture_drops else [])]
        captures = {} if scratch is None else {name: (scratch / name).read_bytes() for name in names}
        if scratch is not None and kind.has_nodes:
            captures |= output.link_captures(scratch)
        return Result(
            summary=summary,
            kind=kind.name,
            console=tuple(console),
            _tables={name: rows.all() for name, rows in tables.items() if keep_packets},
            _captures=captures,
            _host=HostMemory(native) if keeps_host else None,
            _profile=counted,
            _nodes=nodes,
        )


def stream(
    ready: Ready,
    *,
    folder: Path | None,
    tables: bool = False,
    trace: InstructionTrace | None = None,
    profile: bool = False,
    paths: bool = False,
    timeline: Timeline | None = None,
    capture_drops: bool = False,
    sent: str | None = None,
    check: bool = False,
    on_profile: Callable[[Profile | None], None] | None = None,
    on_progress: OnProgress | None = None,
    on_console: OnConsole | None = None,
    debug_port: int | None = None,
    on_listen: Callable[[int], None] | None = None,
    live: Live | None = None,
) -> dict[str, Any]:
    """Run and return the summary; packets go into files of `folder` during the run.

    With `tables`, cards record tables even without a folder, because another process writes them.

    Ctrl-C ends the run: `ended.reason` of the summary is then ``interrupted``. With a `debug_port`, the run waits for
    gdb at that TCP port; 0 chooses a free one. `on_listen` gets its number. With `live`, the card has lines, and that
    function exchanges frames with it until the run is over.
    """
    with contextlib.ExitStack() as stack:
        files: Tables = {}
        if folder is not None:

            def opened(name: str, columns: packet_table.Columns) -> packet_table.ParquetFile:
                table = packet_table.ParquetFile(folder / f"{name}.parquet", columns)
                stack.callback(table.close)  # also if the next one cannot be opened
                return table

            files = packet_table.of_kind(ready.experiment.kind, paths, opened)
        native = start(
            ready,
            captures=folder,
            tables=tables or folder is not None,
            trace=trace,
            profile=profile,
            paths=paths,
            timeline=timeline,
            capture_drops=capture_drops,
            sent=sent,
            check=check,
            lines=live is not None,
            debug_port=debug_port,
        )
        stack.callback(native.close)
        if on_listen is not None and native.debug_port is not None:
            on_listen(native.debug_port)
        nodes = None
        kind = _kinds.get(ready.experiment.kind)
        if folder is not None and kind.has_nodes:
            nodes = _node_records.NodeFolders(native, folder / output.NODES, ready.window)
            stack.callback(nodes.close)
        try:
            summary = drive(
                native, tables=files, nodes=nodes, on_progress=on_progress, on_console=on_console, live=live
            )
        except Interrupted as stopped:
            summary = stopped.summary
        counted = profile_of(native) if profile and not kind.has_nodes else None
        if nodes is not None:
            nodes.finish()
        if folder is not None:
            host = HostMemory(native) if _kinds.get(ready.experiment.kind).keeps_host else None
            write_rest(folder, summary=summary, host=host, profile=counted)
        if on_profile is not None and not kind.has_nodes:
            on_profile(counted)
    return summary


def start(
    ready: Ready,
    *,
    captures: Path | None = None,
    tables: bool = False,
    trace: InstructionTrace | None = None,
    profile: bool = False,
    paths: bool = False,
    timeline: Timeline | None = None,
    capture_drops: bool = False,
    sent: str | None = None,
    check: bool = False,
    policies: Mapping[str, Policy | TenantPolicy | Sequence[TenantPolicy]] | None = None,
    trial: bool = False,
    lines: bool = False,
    debug_port: int | None = None,
) -> _core.Run:
    """Build the simulated card, ready for its first packet.

    Parameters
    ----------
    captures
        A folder for files of the packets that leave the card, and for traces.
    tables
        Record the rows of tables.
    capture_drops
        Write dropped packets into that folder, too.
    sent
        A file for packets that leave to the network, written during the run; ``-`` is stdout.
    trial
        The caller gives the packets one at a time, as `spinet.Handler` does.
    lines
        The caller is the network around the card, and the run has no end of its own.
    """
    experiment = ready.experiment
    instructions = None
    if captures is not None and trace is not None:
        instructions = captures / output.INSTRUCTIONS
        instructions.mkdir()
    try:
        return _core.Run(
            experiment.text(),
            file=experiment.file,
            base_dir=experiment.base_dir,
            format=experiment.format(),
            programs={name: str(elf) for name, elf in ready.elfs.items()},
            captures=str(captures) if captures else None,
            tables=tables,
            profile=profile,
            paths=paths and tables,
            timeline=str(timeline.file) if timeline and timeline.file else None,
            waves=str(timeline.waves) if timeline and timeline.waves else None,
            timeline_only=list(timeline.only) if timeline else [],
            drops=capture_drops,
            sent=sent,
            check=check,
            instructions=str(instructions) if instructions else None,
            trace_cores=trace.cores if trace else None,
            trace_time=trace.time if trace else None,
            policies=dict(policies or {}),
            trial=trial,
            lines=lines,
            debug_port=debug_port,
            threads=ready.threads,
            keep_nodes=None if ready.keep_nodes is None else list(ready.keep_nodes),
            keep_time=ready.keep_time,
            keep_messages=None if ready.keep_messages is None else list(ready.keep_messages),
            peers=ready.peers,
            **({"hosts": dict(ready.hosts)} if ready.hosts else {}),
        )
    except InputError as error:
        if isinstance(error, UsageError):
            raise  # an error of a host program in Python
        text = str(error).removeprefix(f"{experiments.NO_FILE}: ")
        for elf, name in ready.shown.items():
            text = text.replace(elf, name)
        raise InputError(text) from None


def drive(
    native: _core.Run,
    *,
    tables: Tables | None = None,
    nodes: _node_records.NodeResults | _node_records.NodeFolders | None = None,
    on_progress: OnProgress | None = None,
    on_console: OnConsole | None = None,
    live: Live | None = None,
) -> dict[str, Any]:
    """Advance a run to its end and return its summary; Ctrl-C raises `Interrupted`."""

    def look() -> None:
        if tables:
            for name, rows in native.take_tables().items():
                tables[name].append(rows)
        if nodes is not None:
            nodes.take()
        if on_console is not None:
            for line in native.take_console():
                on_console(*line)

    if live is not None:
        return live(native, look)
    return _driving.to_the_end(native, on_slice=look, on_progress=on_progress)
