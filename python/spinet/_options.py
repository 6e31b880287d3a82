# SPDX-License-Identifier: Apache-2.0
"""All options of `spinet run`, which are the keywords of `spinet.run` too: one declaration each.

The help page, the check against the kind of card, and the names in error messages follow from this table. Other
commands take their options with the same meaning from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from spinet import _core

HANDLERS, CHAINS, MODULES, NETWORK = "handlers", "chains", "modules", "network"
ALL = tuple(name for name, _does, _example in _core.kinds_of_cards())
SINGLE = tuple(kind for kind in ALL if kind != NETWORK)  # a run of one card


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option.

    Attributes
    ----------
    flags
        Its names on the command line, the one for messages last; empty for keywords of Python alone.
    kinds
        Kinds of card that have it.
    keys
        Keys of an experiment file for the same value; errors name them.
    value
        Type of its value.
    hints
        Hints for kinds of card that do not have it.
    """

    flags: tuple[str, ...] = ()
    metavar: str | None = None
    help: str = ""
    kinds: tuple[str, ...] = ALL
    keys: tuple[str, ...] = ()
    value: Literal["text", "flag", "address", "folder", "positive", "unsigned"] = "text"
    multiple: bool = False
    completes: Literal["files", "nics", "sets"] | None = None
    hints: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.flags[-1]


_TAKES_CHAINS = "chains need a card such as panic, pipeline, manycore or rmt: --nic panic, or no --nic at all"
_OF_CHAINS = {HANDLERS: _TAKES_CHAINS, MODULES: _TAKES_CHAINS}


def _in_networks(hint: str) -> Mapping[str, str]:
    return {NETWORK: f"in a network, {hint}"}


def _with_chains(flag: str) -> Mapping[str, str]:
    return {kind: f"{hint}; {flag} goes with --chain" for kind, hint in _OF_CHAINS.items()}


OPTIONS: Mapping[str, Option] = {
    "nic": Option(
        flags=("--nic",),
        metavar="NAME|FILE",
        help="The card. Default: pspin, or panic with --chain.",
        keys=("nic", "nic.preset"),
        completes="nics",
    ),
    "set": Option(
        flags=("--set",),
        metavar="PATH=VALUE",
        help="Change a parameter of the card; may be repeated.",
        kinds=SINGLE,
        keys=("nic.set", "set"),
        multiple=True,
        hints=_in_networks('a node has parameters of its card: nic = { preset = "pspin", set = { ... } }'),
        completes="sets",
    ),
    "traffic": Option(
        flags=("-t", "--traffic"),
        metavar="CAPTURE|SPEC",
        help="Packets for the card: a pcap or pcapng file, - for one on stdin, or a generator such as "
        "'udp:size=64,count=1000,rate=400G'.",
        keys=("traffic", "traffic.source"),
        multiple=True,
        completes="files",
    ),
    "pacing": Option(
        flags=("--pace",),
        metavar="HOW",
        help="Arrival times of packets: times (of the capture), times:0.5 (twice as fast), line:400G, asap.",
        kinds=SINGLE,
        keys=("traffic.pacing", "send.pacing", "pacing"),
        hints=_in_networks("the `send` of a node has its own `pacing`"),
    ),
    "count": Option(
        flags=("--count",),
        metavar="N",
        help="Take only the first N packets of each --traffic and --send.",
        kinds=SINGLE,
        keys=("traffic.count", "send.count"),
        value="positive",
        hints=_in_networks("the `send` of a node has its own `count`"),
    ),
    "faults": Option(
        flags=("--fault",),
        metavar="KIND=CHANCE",
        help="Faults of the network: loss=0.01, duplicate=0.001, reorder=0.02:8 (late by up to 8 packets).",
        kinds=SINGLE,
        keys=("faults",),
        multiple=True,
        hints=_in_networks("links have faults: `faults` in [link], or in `with` of a link"),
    ),
    "limit": Option(
        flags=("--limit",),
        metavar="TIME",
        help="End the run at this simulated time, such as '10 ms'. Default: when all packets are done; with endless "
        "traffic, for cards that are wired from modules, 40 ms after the start.",
        keys=("limit",),
    ),
    "seed": Option(
        flags=("--seed",),
        metavar="N",
        help="Seed of all random choices. Default: 1.",
        keys=("seed",),
        value="unsigned",
    ),
    "cc": Option(flags=("--cc",), metavar="COMMAND", help="A gcc or clang to use instead of spinet's compiler."),
    "defines": Option(
        flags=("-D",), metavar="NAME[=VALUE]", help="Define a macro for programs that are compiled.", multiple=True
    ),
    "output": Option(
        flags=("-o", "--output"), metavar="DIR", help="Write all results into a new folder.", value="folder"
    ),
    "force": Option(
        flags=("--force",),
        help="Replace what is there: with -o the folder of an earlier run, with --timeline and --waves the file.",
        value="flag",
    ),
    "report": Option(flags=("--report",), help="With -o: make report.html, with charts.", value="flag"),
    "strict": Option(
        flags=("--strict",), help="Exit code 1 if there is a remark, such as a trap or a drop.", value="flag"
    ),
    "threads": Option(
        flags=("--threads",),
        metavar="N",
        help="For networks: number of threads that simulate; it does not affect results. Default: one per core.",
        kinds=(NETWORK,),
        value="positive",
    ),
    "keep_nodes": Option(
        flags=("--keep-nodes",),
        metavar="NAMES",
        help="For networks: keep tables, host memory and profiles of these nodes only, with their messages and frames, "
        "such as n3,n8,rack1-*; may be repeated.",
        kinds=(NETWORK,),
        keys=("keep_nodes",),
        multiple=True,
    ),
    "keep_time": Option(
        flags=("--keep-time",),
        metavar="FROM..TO",
        help="For networks: keep only table rows of this window of simulated time, such as '1 ms..2 ms'.",
        kinds=(NETWORK,),
        keys=("keep_time",),
    ),
    "keep_messages": Option(
        flags=("--keep-messages",),
        metavar="SELECTION",
        help="For networks: keep only rows of these messages between hosts and of the frames that carry them, such as "
        "'from=n0,to=rack1-*' or 'kind=put,tag=7,number=0..9'; may be repeated, for messages that fit any of them.",
        kinds=(NETWORK,),
        keys=("keep_messages",),
        multiple=True,
    ),
    "program": Option(kinds=(HANDLERS,), keys=("program",)),
    "match": Option(
        flags=("-m", "--match"),
        metavar="EXPR",
        help="Packets for the handlers. Default: all.",
        kinds=(HANDLERS,),
        keys=("match",),
        hints={CHAINS: "a chain has its match expression in brackets: --chain 'NAME [EXPR]: SERVICE'"},
    ),
    "message": Option(
        flags=("--message",),
        metavar="SPEC",
        help="How packets form messages. Default: each packet is one.",
        kinds=(HANDLERS,),
        keys=("message",),
    ),
    "handler": Option(
        flags=("--handler",),
        metavar="NAME",
        help="Name of the handlers if the program has several: NAME_hh, NAME_ph, NAME_th.",
        kinds=(HANDLERS,),
        keys=("handler",),
        hints={CHAINS: "name the handler in the service: --service 'core: riscv, program=FILE, handler=NAME'"},
    ),
    "handler_memory": Option(
        flags=("--handler-memory",),
        metavar="FILE",
        help="Initial contents of the handlers' L2 memory. Default: zeros.",
        kinds=(HANDLERS,),
        keys=("handler_memory", "handler_memory.data"),
        completes="files",
    ),
    "profile": Option(
        flags=("--profile",),
        help="Count the cycles of all cores by source line and cause; with -o, for spinet profile.",
        value="flag",
    ),
    "paths": Option(
        flags=("--paths",),
        help="Record what each packet waits for; with -o, for spinet explain.",
        value="flag",
    ),
    "timeline": Option(
        flags=("--timeline",),
        metavar="FILE",
        help="Write a timeline for ui.perfetto.dev: FILE.perfetto-trace. With -o, a name without a folder goes into "
        "DIR.",
    ),
    "waves": Option(
        flags=("--waves",),
        metavar="FILE",
        help="Write waveforms for GTKWave, Surfer and others: FILE.vcd or FILE.fst. With -o, a name without a folder "
        "goes into DIR.",
    ),
    "timeline_only": Option(
        flags=("--timeline-only",),
        metavar="KEY=VALUE",
        help="Draw only a part of --timeline and --waves: 'time=1 us..2 us', 'match=EXPR', packets=0..99, messages=3, "
        "every=100; may be repeated.",
        keys=("timeline",),
        multiple=True,
    ),
    "capture_drops": Option(
        flags=("--capture-drops",),
        help="With -o: write dropped.pcapng, the packets that the card dropped, each with the reason as its comment.",
        value="flag",
        kinds=(HANDLERS, CHAINS, MODULES),
    ),
    "out": Option(
        flags=("--out",),
        metavar="FILE",
        help="Write the packets that leave to the network into FILE as pcapng, as they leave. With -, to stdout; the "
        "report goes to stderr then.",
        kinds=(HANDLERS, CHAINS, MODULES),
    ),
    "check": Option(
        flags=("--check",),
        help="Find uses of uninitialised memory, accesses out of bounds, races between cores, and lost locks; with "
        "-o, write findings.json.",
        kinds=(HANDLERS,),
        value="flag",
    ),
    "trace_instructions": Option(
        flags=("--trace-instructions",),
        help="With -o: write a trace of every instruction, one file per core.",
        kinds=(HANDLERS, MODULES),
        value="flag",
    ),
    "trace_cores": Option(
        flags=("--trace-cores",),
        metavar="LIST",
        help="Trace only these cores, CLUSTER:CORE, such as 0:3,1:*. Wired cards: cluster 0.",
        kinds=(HANDLERS, MODULES),
        keys=("traced cores",),
    ),
    "trace_time": Option(
        flags=("--trace-time",),
        metavar="FROM..TO",
        help="Trace only this simulated time, such as '1 us..2 us'.",
        kinds=(HANDLERS, MODULES),
        keys=("traced time",),
    ),
    "chains": Option(
        flags=("--chain",),
        metavar="SPEC",
        help="'NAME [EXPR]: SERVICE -> SERVICE => EXIT'; may be repeated.",
        kinds=(CHAINS,),
        keys=("chain",),
        multiple=True,
        hints=_OF_CHAINS,
    ),
    "services": Option(
        flags=("--service",),
        metavar="SPEC",
        help="A service: 'NAME: ENGINE, units=2, credits=2', or changes to one of the card: 'NAME: units=4'.",
        kinds=(CHAINS,),
        keys=("service",),
        multiple=True,
        hints=_with_chains("--service"),
    ),
    "tenants": Option(
        flags=("--tenant",),
        metavar="SPEC",
        help="A tenant: 'NAME: weight=2, priority=0'. Default: one for each chain.",
        kinds=(CHAINS,),
        keys=("tenant",),
        multiple=True,
        hints=_with_chains("--tenant"),
    ),
    "policy": Option(
        flags=("--policy",),
        metavar="NAME",
        help="Scheduling policy of services: fifo, strict-priority, weighted-fair, round-robin, least-slack, "
        "leaky-bucket.",
        kinds=(CHAINS,),
        keys=("policy",),
        hints=_with_chains("--policy"),
    ),
    "policies": Option(kinds=(HANDLERS, CHAINS)),
    "firmware": Option(
        flags=("--firmware",),
        metavar="NAME|FILE",
        help="Name of firmware that comes with spinet, sources, an ELF file or an image.",
        kinds=(MODULES,),
        keys=("firmware", "firmware.program"),
        multiple=True,
        completes="files",
        hints={
            CHAINS: "cores run programs: --service 'core: riscv, program=FILE' --chain 'all: core'",
            HANDLERS: "handlers are named without an option: spinet run HANDLER.c",
        },
    ),
    "load": Option(
        flags=("--load",),
        metavar="ADDRESS",
        help="Load address of an image without a header.",
        kinds=(MODULES,),
        keys=("load", "firmware.load"),
        value="address",
    ),
    "entry": Option(
        flags=("--entry",),
        metavar="ADDRESS",
        help="Its entry. Default: the load address.",
        kinds=(MODULES,),
        keys=("entry", "firmware.entry"),
        value="address",
    ),
    "send": Option(
        flags=("--send",),
        metavar="CAPTURE|SPEC",
        help="Packets that the host sends, like --traffic; for a transmit queue of panic 'QUEUE=SPEC'.",
        kinds=(CHAINS, MODULES),
        keys=("send", "send.source"),
        multiple=True,
        completes="files",
        hints={HANDLERS: "only handlers send on PsPIN; cards with a host that sends are panic and tigon2, for example"},
    ),
}

_BY_KEY = {key: name for name, option in OPTIONS.items() for key in option.keys}
_KEY = re.compile(
    r"(?P<table>\w[\w ]*?)(?:\[(?P<index>\d+)\])?(?P<path>(?:\.\w+)*)(?:\[\d+\])?: (?P<rest>.*)", re.DOTALL
)
_ONLY_CONTEXT = re.compile(r"context(?:\[0\]| `[^`]*`)(?:\.|: )")


def in_terms_of_options(text: str, given: Mapping[str, Any], *, file: str | None = None) -> str:
    """An error of the simulator, with the options of the command in place of keys of experiment files.

    Parameters
    ----------
    given
        The options of the command by keyword, with their values. Only these can be at fault.
    file
        The experiment file; errors with a line in it keep their text.

    >>> in_terms_of_options("traffic.pacing: pacing is `fast`, must be `asap`", {"pacing": "fast"})
    '--pace is `fast`, must be `asap`'
    >>> in_terms_of_options("chain[0].services[0]: unknown service `aess`", {"chains": ("all: aess",)})
    "--chain 'all: aess': unknown service `aess`"
    >>> in_terms_of_options("`soon` is not a time", {"limit": "soon"})
    '--limit: `soon` is not a time'
    """
    named = _named(text, given, file)
    nic, colon, rest = text.partition(": ")
    if named != text or not colon or not re.fullmatch(r"[a-z][a-z0-9-]*", nic):
        return named
    return f"{nic}: {_named(rest, given, file)}"  # `nic` is the card with the error, if there are several


def _named(text: str, given: Mapping[str, Any], file: str | None) -> str:
    bare = text if file is None else text.removeprefix(f"{file}: ")
    if bare.startswith("line "):
        return text
    if file is None:
        bare = _ONLY_CONTEXT.sub("", bare, count=1)
        if given.get("handler") or "`handler` must" in bare:
            bare = bare.replace(": handler is `", ": --handler is `").replace("`handler` must", "--handler must")
    option = None
    found = _KEY.match(bare)
    if found is not None:
        whole = found["table"] + found["path"]
        name = _BY_KEY.get(whole, _BY_KEY.get(found["table"]))
        if name == "program" and file is None:
            return found["rest"]
        if name is not None and name in OPTIONS and _is_given(given.get(name)):
            option, key = OPTIONS[name], whole.rpartition(".")[2]
            rest = found["rest"].removeprefix("set: ")
            if whole in option.keys and rest.startswith(f"{key} is "):
                return f"{option.name}{rest.removeprefix(key)}"
            value = _value(given[name], int(found["index"] or 0)) if option.multiple and found["index"] else ""
            return f"{option.name}{value}: {rest}"
    word = bare.partition(" ")[0]
    if word in OPTIONS and OPTIONS[word].flags and _is_given(given.get(word)):
        return OPTIONS[word].name + bare.removeprefix(word)
    if word not in OPTIONS and _is_given(given.get(word)) and bare.startswith(f"{word} is "):
        return _flag(word) + bare.removeprefix(word)
    for name, value in _values(given):
        if bare.removeprefix("fault ").startswith(f"`{value}`"):
            return f"{_flag(name)}: {bare}"
    return bare if file is None else text


def _flag(name: str) -> str:
    """The option with this keyword's value; commands have further ones of their own."""
    return OPTIONS[name].name if name in OPTIONS else f"--{name.replace('_', '-')}"


def _is_given(value: object) -> bool:
    return value is not None and value is not False and value != () and value != []


def _value(values: Any, index: int) -> str:
    return f" '{values[index]}'" if index < len(values) else ""


def _values(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    known = [name for name, option in OPTIONS.items() if option.flags]
    for name in [*known, *(name for name in given if name not in OPTIONS)]:
        value = given.get(name)
        if _is_given(value):
            for each in value if isinstance(value, list | tuple) else (value,):
                yield name, str(each)
