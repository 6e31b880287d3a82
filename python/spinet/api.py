# SPDX-License-Identifier: Apache-2.0
"""`run`: the simulator for Python programs. The command line uses the same functions."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spinet import (
    _arguments,
    _kinds,
    _nics,
    _programs,
    card_firmware,
    chains,
    toolchain,
)
from spinet import _experiments as experiments
from spinet._core import UsageError
from spinet._driving import InstructionTrace as InstructionTrace
from spinet._driving import Interrupted as Interrupted
from spinet._driving import Timeline as Timeline
from spinet._experiments import Prepared
from spinet._nics import Settings
from spinet._programs import Ready as Ready
from spinet._simulation import OnProgress as OnProgress
from spinet._simulation import OnRows as OnRows
from spinet._simulation import collect as collect
from spinet._simulation import drive as drive
from spinet._simulation import start as start
from spinet._simulation import stream as stream
from spinet.output import OutputFile, OutputFolder
from spinet.result import Result

if TYPE_CHECKING:
    from spinet._nics import Card
    from spinet._packets import Traffic
    from spinet.chains import Entry, Policy
    from spinet.sharing import TenantPolicy

Paths = str | Path | Sequence[str | Path]


def run(
    experiment: str | Path | Mapping[str, Any] | None = None,
    *,
    nic: Card | None = None,
    set: Settings = (),
    program: Paths | None = None,
    traffic: Traffic | None = None,
    send: Traffic | None = None,
    match: str | None = None,
    message: str | None = None,
    handler: str | None = None,
    handler_memory: str | Path | bytes | None = None,
    chains: Entry | Sequence[Entry] = (),
    services: Entry | Sequence[Entry] = (),
    tenants: Entry | Sequence[Entry] = (),
    policy: str | Mapping[str, Any] | None = None,
    policies: Mapping[str, Policy | TenantPolicy | Sequence[TenantPolicy]] | None = None,
    firmware: Paths | None = None,
    load: int | None = None,
    entry: int | None = None,
    profile: bool | None = None,
    paths: bool = False,
    timeline: str | Path | None = None,
    waves: str | Path | None = None,
    timeline_only: str | Sequence[str] = (),
    capture_drops: bool = False,
    check: bool = False,
    seed: int | None = None,
    faults: str | None = None,
    pacing: str | None = None,
    count: int | None = None,
    limit: str | None = None,
    threads: int | None = None,
    keep_nodes: str | Sequence[str] | None = None,
    keep_time: str | None = None,
    keep_messages: str | Sequence[str] | None = None,
    cc: str | None = None,
    defines: Mapping[str, str | int] | None = None,
    keep_packets: bool = True,
    folder: str | Path | None = None,
    on_progress: OnProgress | None = None,
    on_rows: OnRows | None = None,
) -> Result:
    """Run an experiment on a simulated card of any kind.

    The card decides which other keywords can be given: cards such as ``pspin`` run handlers, ``panic`` chains
    of offloads, and wired cards such as ``tigon2`` firmware. Keywords replace the values of `experiment`.

    Parameters
    ----------
    experiment
        An `Experiment`, a TOML or JSON file (docs/reference/experiment.md, chains.md), or a mapping with the same keys,
        such as ``{"program": "ping_pong.c", "traffic": "udp:count=4", "context": [{"match": "udp"}]}``.
    nic
        Name of a card, path of its TOML file, or parameters from `spinet.parameters_of`. Default: ``pspin``, or
        ``panic`` with `chains`.
    set
        Changes of the card's parameters: ``"cluster.n_cores=4"``, a list of such texts, or
        ``{"cluster.n_cores": 4}``.
    program
        Handlers: C sources that are linked into one program, or one ELF file.
    traffic
        Packets from the network: a capture (pcap or pcapng) or a generator such as ``"udp:size=64,count=1000"``; for
        wired cards also ``"udp:size=1514,payload=numbered"`` (endless, checked by number). There may be several.
        Or packets, from the Ethernet header on: an iterable of bytes, of packets of scapy, or of pairs of a time in ns
        and one of these. Packets without times arrive back to back.
    send
        Chains and wired cards: packets that the host sends, as `traffic`. ``"1=udp:count=100"`` is for transmit queue 1
        of chains; ``"tcp-ack:every=2"`` makes the host of a wired card acknowledge every second frame.
    match
        Handlers: packets that they get, such as ``"udp.dst_port == 53"``. Default: all.
    message
        Handlers: how packets form messages. Default: each packet is one.
    handler
        Handlers: name without ``_hh``, ``_ph`` or ``_th``, if the program has several.
    handler_memory
        Handlers: initial contents of their L2 memory, a file or bytes. Default: zeros. `spinet.workloads` makes the
        contents that the examples need.
    chains
        ``"ipsec [udp.dst_port == 4500]: sha -> aes"``, or a mapping as in a file.
    services
        Chains: ``"aes: aes-256-ctr, units=2, credits=2"``, or a mapping. The card's file may have services already.
    tenants
        Chains: ``"gold: weight=2"``, or a mapping.
    policy
        Chains: default policy of services: ``"weighted-fair"``, ``"strict-priority"``, ...
    policies
        Policies written in Python. Chains: `spinet.chains.Policy`, by the names of services. Handlers:
        `spinet.sharing.TenantPolicy`, by the parts that tenants share: ``tasks``, ``host_dma``, ``nic_send``,
        ``host_direct``, ``cluster_dma``. The last one takes a list of policies, one for each cluster.
    firmware
        Wired cards: name of firmware that comes with spinet, sources, an ELF file or an image. Default: the firmware
        for the card's host.
    load, entry
        Wired cards: addresses of an image without a header.
    profile
        Count the cycles of all cores by source line and cause: `Result.profile`. Default for wired cards: true.
    paths
        Record what each packet waits for: `Result.paths`.
    timeline
        Write a timeline for https://ui.perfetto.dev to this file, whose name ends with ``.perfetto-trace``. With
        `folder`, a name without a folder is a file there.
    waves
        Write waveforms for viewers such as GTKWave to this file, ``.vcd`` or ``.fst``; `folder` works as for
        `timeline`.
    timeline_only
        Draw only a part of the timeline and the waveforms: ``"time=1 us..2 us"``, ``"match=udp.dst_port == 53"``,
        ``"packets=0..99"``, ``"messages=3"``, ``"every=100"``; several as a list.
    capture_drops
        Keep the packets that the card dropped, each with the reason: `Result.dropped`.
    check
        Check accesses to memory: `Result.findings`. For cards that run handlers.
    seed
        Seed of all random choices. Default: 1.
    faults
        Faults of the network: ``"loss=0.01,duplicate=0.001,reorder=0.02:8"``.
    pacing
        Arrival times of packets: ``"times"`` of the capture, ``"times:0.5"``, ``"line:400G"`` or ``"asap"``.
    count
        Take only this number of packets from each source.
    limit
        Simulated time at which the run ends, such as ``"10 ms"``. Default: when all packets are done; with endless
        traffic, 40 ms after the card has started.
    threads
        Networks: number of threads that simulate; it does not affect results. Default: one per core.
    keep_nodes
        Networks: keep tables, host memory and profiles of these nodes only: names and patterns such as ``"rack1-*"``.
        Default: all.
    keep_time
        Networks: keep only table rows of this window of simulated time, such as ``"1 ms..2 ms"``.
    keep_messages
        Networks: keep only rows of these messages between hosts and of the frames that carry them: a selection such as
        ``"from=n0,to=rack1-*,kind=put,tag=7,number=0..9"``, or a list of them. Default: all messages and frames.
    cc
        A compiler to use instead of spinet's.
    defines
        Preprocessor macros for programs that are compiled.
    keep_packets
        False keeps only the summary, which saves time and memory: the result has no tables and no packets.
    folder
        A new folder for all results, checked before the run; as `Result.save` writes it.
    on_progress
        Called about ten times per second of host time, and at the end, with a mapping: ``done``, ``packets_in``,
        ``packets_done``, ``packets_total`` and ``fraction`` (None if the traffic is endless), ``simulated_ps``,
        ``cycles``.
    on_rows
        Called during the run with the name of a table and its new rows as a pyarrow table, about ten times per second
        of host time: ``packets`` (``frames`` of wired cards), ``hops``, ``paths``. With ``keep_packets=False`` the rows
        are not kept anywhere else, so that runs of any length need little memory.

    Returns
    -------
    Result
        Also if the limit ended the run: see `Result.complete`.

    Raises
    ------
    InputError
        If the experiment, the traffic or the program is wrong, or a keyword is for another kind of card.
    BuildError
        If a program does not compile.
    KeyboardInterrupt
        On Ctrl-C; its attribute `summary` is the summary of the run so far.

    Examples
    --------
    >>> import spinet
    >>> result = spinet.run(program="sdk/examples/ping_pong.c", traffic="udp:size=64,count=4")
    >>> result.complete, len(result.sent), result.packets.num_rows
    (True, 4, 4)
    >>> result = spinet.run(
    ...     services="work: delay, cycles=40, units=2", chains="all: work", traffic="udp:size=256,count=100,rate=20G"
    ... )
    >>> result.complete, result.tenants["all"].packets_out, result.hops.num_rows
    (True, 100, 100)
    >>> result = spinet.run(nic="tigon2", send="udp:size=1514,payload=numbered,count=20", limit="60 ms")
    >>> result.complete, result.summary["sent"]["good"], len(result.sent)
    (True, 20, 20)
    >>> packet = bytes.fromhex("0200000000020200000000010800") + bytes(46)
    >>> result = spinet.run(program="sdk/examples/copy_to_host.c", traffic=[packet, (5000, packet)])
    >>> result.summary["packets"]["in"], result.packets["arrival_ps"].to_pylist()
    (2, [950000, 5950000])
    """
    _arguments.check(
        {
            "experiment": experiment,
            "cc": cc,
            "defines": defines,
            "capture_drops": capture_drops,
            "keep_packets": keep_packets,
            "folder": folder,
            "on_progress": on_progress,
            "on_rows": on_rows,
        }
    )
    if folder is not None and not keep_packets:
        raise UsageError("folder needs the packets, which keep_packets=False does not keep")
    given = experiments.keywords(
        {
            "program": program,
            "match": match,
            "message": message,
            "handler": handler,
            "handler_memory": handler_memory,
            "chains": chains,
            "services": services,
            "tenants": tenants,
            "policy": policy,
            "policies": policies,
            "firmware": firmware,
            "load": load,
            "entry": entry,
            "profile": profile,
            "paths": paths,
            "timeline": timeline,
            "waves": waves,
            "timeline_only": timeline_only,
            "capture_drops": capture_drops or None,
            "check": check,
            "traffic": traffic,
            "send": send,
            "nic": nic,
            "set": set,
            "seed": seed,
            "faults": faults,
            "pacing": pacing,
            "count": count,
            "limit": limit,
            "threads": threads,
            "keep_nodes": keep_nodes,
            "keep_time": keep_time,
            "keep_messages": keep_messages,
        }
    )
    with contextlib.ExitStack() as stack:
        # Check the folder first, so that its error appears before the run.
        made = None if folder is None else stack.enter_context(OutputFolder(Path(folder)))
        ready = _programs.built(prepare(experiment, given), given, cc=cc, defines=defines)
        inside = None if made is None else made.path
        drawn, files = Timeline.of(timeline, waves, timeline_only or (), inside), list[OutputFile]()
        if drawn is not None:
            drawn, files = drawn.partial(folder=inside)
        for file in files:
            stack.enter_context(file)
        result = collect(
            ready,
            keep_packets=keep_packets,
            profile=bool(profile),
            paths=bool(paths),
            timeline=drawn,
            capture_drops=bool(capture_drops),
            check=bool(check),
            policies=policies,
            on_progress=on_progress,
            on_rows=on_rows,
        )
        if made is not None:
            result.write(made.path)
            made.commit()
        for file in files:
            file.commit()
    return result


def prepare(
    experiment: str | Path | Mapping[str, Any] | None, given: Mapping[str, Any], *, options: bool = False
) -> Prepared:
    """The checked experiment of a file or mapping and the keywords of `run`.

    Parameters
    ----------
    given
        Keywords with their values; those with several values are lists.
    options
        Errors name options of the command in place of keywords.
    """
    nic = given.get("nic")
    if nic == "":
        raise UsageError("nic: it is empty, must be the name of a card", hint="spinet nic list lists them")
    if isinstance(experiment, str | Path) and Path(experiment).suffix in (*toolchain.SOURCES, ".elf"):
        hint = f"pass it as program={str(experiment)!r}"
        raise UsageError(f"{experiment} is a program, not an experiment", hint=hint)
    kind = _kinds.of(experiment, nic, has_chains=bool(given.get("chains")))
    subject = nic or ("the experiment" if isinstance(experiment, Mapping) else experiment) or _kinds.get(kind).example
    _kinds.check(kind, subject, given, options=options)
    return _kinds.get(kind).prepare(experiment, given, options=options)


def idle(prepared: Prepared, keys: Sequence[str]) -> Prepared:
    """The same experiment without traffic: the caller gives the packets."""
    values = {key: value for key, value in prepared.values.items() if key not in keys}
    return dataclasses.replace(prepared, values=values, toml=None)


def of_any(kind: _kinds.Kind, experiment: str | Path | Mapping[str, Any] | None, given: Mapping[str, Any]) -> Prepared:
    """The checked experiment of a card that has only the keys that all kinds share."""
    over = {
        **{key: given.get(key) for key in ("nic", "set", "faults", "seed", "limit")},
        **{key: [_source(one, _terms(given)) for one in given.get(key) or ()] for key in ("traffic", "send")},
    }
    return chains.prepare(experiment, over, kind=kind)


def of_chains(
    experiment: str | Path | Mapping[str, Any] | None, given: Mapping[str, Any], *, options: bool
) -> Prepared:
    """The checked experiment of a card that runs chains of offloads."""
    terms = _terms(given)
    if terms and not (given.get("traffic") or given.get("send")):
        pacing, traffic, send = ("--pace", "--traffic", "--send") if options else ("pacing", "traffic", "send")
        count = "--count" if options else "count"
        raise UsageError(f"{pacing} and {count} go with {traffic} and {send}; an experiment file has them in its own")
    over = {
        "nic": given.get("nic"),
        "set": list(given.get("set") or ()),
        "chain": list(given.get("chains") or ()),
        "service": list(given.get("services") or ()),
        "tenant": list(given.get("tenants") or ()),
        "policy": given.get("policy"),
        "traffic": [_source(source, terms) for source in given.get("traffic") or ()],
        "send": [_queued(source, terms) for source in given.get("send") or ()],
        "faults": given.get("faults"),
        "seed": given.get("seed"),
        "limit": given.get("limit"),
    }
    return chains.prepare(experiment, over, kind=_kinds.get(_kinds.CHAINS))


def _terms(given: Mapping[str, Any]) -> dict[str, Any]:
    return {key: given[key] for key in ("pacing", "count") if given.get(key) is not None}


def _source(source: Any, terms: Mapping[str, Any]) -> dict[str, Any]:
    return {**source, **terms} if isinstance(source, Mapping) else {"source": str(source), **terms}


def _queued(source: Any, terms: Mapping[str, Any]) -> dict[str, Any]:
    """An entry of `send`; `QUEUE=SOURCE` is for that transmit queue."""
    queue, equals, rest = ("", "", "") if isinstance(source, Mapping) else str(source).partition("=")
    if equals and queue.strip().isdecimal():
        return {"queue": int(queue), "source": rest, **terms}
    return _source(source, terms)


def of_modules(experiment: str | Path | Mapping[str, Any] | None, given: Mapping[str, Any]) -> Prepared:
    """The checked experiment of a wired card."""
    file, base_dir, values = experiments.NO_FILE, ".", dict[str, Any]()
    if isinstance(experiment, Mapping):
        values, base_dir = experiments.plain(experiment), experiments.base_dir_of(experiment)
    elif experiment is not None:
        file, base_dir = str(experiment), str(Path(experiment).absolute().parent)
        values = card_firmware.read(Path(experiment))
    terms = _terms(given)
    stated = values if terms else {}
    sources = {key: given.get(key) or _programs.several(stated.get(key)) for key in ("traffic", "send")}
    if terms and not any(sources.values()):
        raise UsageError(f"{' and '.join(terms)} without packets", hint="name some with traffic or send")
    nic = values.get("nic", _kinds.get(_kinds.MODULES).example)
    nic = dict(nic) if isinstance(nic, Mapping) else {"preset": nic}
    values = values or {"profile": True}
    over = {
        "nic": {
            "preset": given.get("nic") or nic.get("preset", _kinds.get(_kinds.MODULES).example),
            "set": [*_nics.settings(nic.get("set", [])), *(given.get("set") or ())],
        },
        **{key: [_queued(one, terms) for one in found] for key, found in sources.items() if found},
        **{key: given.get(key) for key in ("faults", "limit", "seed", "profile")},
    }
    values = {**values, **{key: value for key, value in over.items() if value is not None}}
    return Prepared(values=values, file=file, base_dir=base_dir, kind=_kinds.MODULES)


def of_handlers(experiment: str | Path | Mapping[str, Any] | None, given: Mapping[str, Any]) -> Prepared:
    """The checked experiment of a card that runs handlers."""
    names = ("nic", "set", "seed", "faults", "pacing", "count", "limit")
    sources = list(given.get("traffic") or ())
    several = [_source(source, {}) for source in sources] if len(sources) > 1 else None
    return handlers(
        program=given.get("program") or None,
        traffic=several or next(iter(sources), None),
        experiment=experiment,
        match=given.get("match"),
        message=given.get("message"),
        handler=given.get("handler"),
        handler_memory=given.get("handler_memory"),
        overrides=overrides(**{name: given.get(name) for name in names if name != "set"}, set=given.get("set") or ()),
    )


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
    """Values that replace those of an experiment, by their dotted keys."""
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


def handlers(
    *,
    program: Sequence[str | Path] | None,
    traffic: str | Path | Mapping[str, Any] | list[dict[str, Any]] | None,
    experiment: str | Path | Mapping[str, Any] | None,
    match: str | None,
    message: str | None,
    handler: str | None,
    handler_memory: str | Path | None = None,
    overrides: Mapping[str, Any],
) -> Prepared:
    """The checked experiment for a card that runs handlers."""
    source = dict(traffic) if isinstance(traffic, Mapping) else str(traffic) if isinstance(traffic, Path) else traffic
    if experiment is not None:
        if program is not None:
            raise UsageError("an experiment names its program itself", hint="leave the program or the experiment away")
        of_a_context = {"match": match, "message": message, "handler": handler, "handler_memory": handler_memory}
        subject = "the experiment" if isinstance(experiment, Mapping) else experiment
        experiments.refuse_context_keywords(subject, of_a_context)
        more = dict(overrides)
        if source is not None:
            # It comes first, because other keywords change its keys.
            more = {"traffic.source" if isinstance(source, str) else "traffic": source, **more}
        if isinstance(experiment, Mapping):
            return experiments.from_mapping(experiment, overrides=more)
        return experiments.from_file(Path(experiment), overrides=more)
    if program and any(str(name).endswith(".toml") for name in program):
        raise UsageError("an experiment file names its program itself", hint="give it alone, or omit it")
    if not program:
        raise UsageError("there is no program to run", hint="name a C file with handlers, or an experiment file")
    if source is None:
        raise UsageError(
            "there is no traffic", hint="name a capture or a description: --traffic 'udp:size=64,count=1000'"
        )
    return experiments.from_keywords(
        program=[str(source) for source in program],
        traffic=source,
        match=match,
        message=message,
        handler=handler,
        handler_memory=None if handler_memory is None else str(handler_memory),
        overrides=overrides,
    )
