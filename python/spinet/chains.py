# SPDX-License-Identifier: Apache-2.0
"""Runs of cards that run chains of offloads, such as PANIC: services, chains, tenants and traffic in; results out."""

from __future__ import annotations

import contextlib
import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from spinet import _core, _driving, _files, _nics, output, packet_table, toolchain
from spinet._core import InputError, UsageError
from spinet._nics import Settings
from spinet.chain_result import ChainResult, Latency, Service, Tenant
from spinet.output import OutputFolder

if TYPE_CHECKING:
    from spinet._core import Progress
    from spinet._nics import Card

__all__ = ["ChainResult", "Latency", "Policy", "Service", "Tenant", "run_chains"]

_NO_FILE = "keywords"

OnProgress = Callable[["Progress"], None]
Said = str | Mapping[str, Any]  # as a table of an experiment file, or as the text that stands for one


class Policy(Protocol):
    """A policy in Python: chooses the next packet of a service (docs/guides/write-a-policy.md).

    It may also have ``served(rank)``, called when a packet goes to a unit; ``dropped(packet, rank)``, when the packet
    with the greatest rank is dropped; and ``eligible(rank)``, the first cycle in which a packet of that rank may go.
    An exception of a method ends the run, and `run_chains` raises it.
    """

    def rank(self, packet: _core.PacketArrival) -> int:
        """Rank of an arriving packet, 0 to 2^64 - 1. The smallest goes first, the greatest is dropped first."""
        ...


def run_chains(
    experiment: str | Path | Mapping[str, Any] | None = None,
    *,
    nic: Card | None = None,
    chains: Said | Sequence[Said] = (),
    services: Said | Sequence[Said] = (),
    tenants: Said | Sequence[Said] = (),
    policy: str | Mapping[str, Any] | None = None,
    policies: Mapping[str, Policy] | None = None,
    traffic: Said | Sequence[Said] | None = None,
    send: Said | Sequence[Said] | None = None,
    set: Settings = (),
    faults: str | None = None,
    seed: int | None = None,
    limit: str | None = None,
    cc: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> ChainResult:
    """Run chains of offloads on a card such as PANIC.

    Parameters
    ----------
    experiment
        A file (docs/reference/chains.md), or the same as a mapping. Keywords override it.
    nic
        Name of a card, or path of its file; ``panic`` by default.
    chains
        ``"ipsec [udp.dst_port == 4500]: sha -> aes"``, or a mapping as in a file.
    services
        ``"aes: aes-256-ctr, units=2, credits=2"``, or a mapping. The card's file may have services already.
    tenants
        ``"gold: weight=2"``, or a mapping.
    policy
        Of all services that say nothing of their own: ``"weighted-fair"``, ``"strict-priority"``, ...
    policies
        Your own policies, by service.
    traffic
        A capture, a generator such as ``"udp:size=64,count=1000"``, or several.
    send
        What the host sends, in the same words; ``"1=udp:count=100"`` is for transmit queue 1.
    set
        Parameters of the card, such as ``"scheduler.chain_push=false"`` or ``"service.aes.credits=4"``.
    faults
        What the network does to packets: ``"loss=0.01"``.
    seed
        Decides everything random; 1 by default.
    limit
        End of the run in simulated time.
    cc, defines
        Another compiler, and macros, for programs of services that are cores: ``"nat: riscv, program=nat.c"``.
    folder
        A new folder for all results.
    on_progress
        Called about ten times a second.

    Raises
    ------
    InputError
        If something that was given cannot be used.

    Examples
    --------
    >>> result = run_chains(
    ...     services=["work: delay, cycles=40, units=2"],
    ...     chains=["all: work"],
    ...     traffic="udp:size=256,count=100,rate=20G",
    ... )
    >>> result.complete, result.tenants["all"].packets_out
    (True, 100)
    """
    card, sets = _nics.chosen(nic, set)
    prepared = prepare(
        experiment,
        {
            "nic": card,
            "set": sets,
            "chain": _as_said(chains),
            "service": _as_said(services),
            "tenant": _as_said(tenants),
            "policy": policy,
            "traffic": traffic,
            "send": send,
            "faults": faults,
            "seed": seed,
            "limit": limit,
        },
    )
    columns, hop_columns = _core.chain_columns()
    packets, hops = packet_table.Collected(columns), packet_table.Collected(hop_columns)
    with contextlib.ExitStack() as stack:
        # Check the folder first, so that its error appears before the run.
        made = None if folder is None else stack.enter_context(OutputFolder(Path(folder)))
        scratch = stack.enter_context(_files.scratch()) if made is None else made.path
        summary = drive(
            prepared,
            captures=scratch,
            tables=(packets, hops),
            policies=policies,
            cc=cc,
            defines=defines,
            on_progress=on_progress,
        )
        captures = {name: (scratch / name).read_bytes() for name in (output.TO_HOST, output.TO_NETWORK)}
        if made is not None:
            for name, rows, kinds in ((output.PACKETS, packets, columns), (output.HOPS, hops, hop_columns)):
                file = packet_table.ParquetFile(made.path / name, kinds)
                file.append(rows.all())
                file.close()
            write_rest(made.path, summary)
            made.commit()
    return ChainResult(summary=summary, _packets=packets.all(), _hops=hops.all(), _captures=captures)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """An experiment as JSON, and where relative paths in it start."""

    text: str
    file: str  # for messages
    base_dir: str


def prepare(experiment: str | Path | Mapping[str, Any] | None, over: Mapping[str, Any]) -> Prepared:
    """One checked experiment of a file or mapping and its overrides; empty values change nothing."""
    values: dict[str, Any] = {}
    file, base_dir = _NO_FILE, str(Path.cwd())
    if isinstance(experiment, Mapping):
        values = dict(experiment)
    elif experiment is not None:
        file, base_dir = str(experiment), str(Path(experiment).absolute().parent)
        values = _read(Path(experiment), base_dir)
    for key, value in over.items():
        if value is None or value == []:
            continue
        if key in ("nic", "set"):
            nic = values.get("nic", "panic")
            table = dict(nic) if isinstance(nic, Mapping) else {"preset": nic}
            if key == "nic":
                table["preset"] = value
            else:
                table["set"] = [*_nics.settings(table.get("set", [])), *value]
            values["nic"] = table
        else:
            values[key] = value
    if not values.get("chain") and "rmt" not in values:
        raise UsageError("there is no chain", hint="name one, such as 'all: aes', or an experiment file that has some")
    prepared = Prepared(text=json.dumps(values, default=str), file=file, base_dir=base_dir)
    with _named_by_key(file):
        checked = _core.check_experiment(prepared.text, prepared.file, prepared.base_dir, "json", "chains")
    return Prepared(text=checked, file=file, base_dir=base_dir)


def _read(path: Path, base_dir: str) -> dict[str, Any]:
    try:
        text = path.read_bytes().decode()
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: byte {error.start} is not UTF-8") from error
    kind = "json" if path.suffix == ".json" else "toml"
    _core.check_experiment(text, str(path), base_dir, kind, "chains")
    # As it is written: omitted keys, such as a generator's seed, may follow from overrides.
    values: dict[str, Any] = json.loads(text) if kind == "json" else tomllib.loads(text)
    return values


@contextlib.contextmanager
def _named_by_key(file: str) -> Any:
    """Without a file, the key is name enough."""
    try:
        yield
    except InputError as error:
        if file != _NO_FILE:
            raise
        raise InputError(str(error).removeprefix(f"{_NO_FILE}: ")) from None


def compiled(
    prepared: Prepared, *, cc: str | None = None, defines: Mapping[str, str | int] | None = None
) -> dict[str, toolchain.Build]:
    """Build the programs of services that are sources, by the names of the services."""
    found = {}
    for service in json.loads(prepared.text).get("service", ()):
        sources = [Path(name) for name in service.get("program", ())]
        if any(source.suffix in toolchain.SOURCES for source in sources):
            handler = service.get("handler")
            found[service["name"]] = toolchain.build(sources, target="panic", handler=handler, cc=cc, defines=defines)
    return found


def drive(
    prepared: Prepared,
    *,
    captures: Path | None,
    tables: tuple[Any, Any] | None = None,
    policies: Mapping[str, Policy] | None = None,
    cc: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Run to the end; rows go into `tables` as they come, captures into the folder. Ctrl-C raises `Interrupted`."""
    run = _core.Run(
        prepared.text,
        file=prepared.file,
        base_dir=prepared.base_dir,
        format="json",
        captures=None if captures is None else str(captures),
        tables=tables is not None,
        programs={name: str(built.elf) for name, built in compiled(prepared, cc=cc, defines=defines).items()},
        policies=dict(policies or {}),
    )

    def look() -> None:
        if tables is not None:
            found = run.take_tables()
            tables[0].append(found["packets"])
            tables[1].append(found["hops"])

    try:
        return _driving.to_the_end(run, on_slice=look, on_progress=on_progress)
    finally:
        run.close()


def write_rest(folder: Path, summary: Mapping[str, Any]) -> None:
    """Write what is known only when a run is over."""
    (folder / output.EXPERIMENT).write_text(json.dumps(summary["experiment"], indent=2) + "\n")
    (folder / output.SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")


def _as_said(said: Said | Sequence[Said]) -> list[Said]:
    """One thing, or several."""
    return [said] if isinstance(said, str | Mapping) else list(said)
