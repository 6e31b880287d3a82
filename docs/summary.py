# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E501  tables of the page
"""The page about the summary, from its Rust types. `docs/generate.py` calls it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from spinet import _core

Schema = dict[str, Any]

_HEAD = """# The summary of a run

`spinet run --json` prints this summary, `summary.json` contains it, and `Result.summary` is the same in Python.

| to find | look at |
|---|---|
| whether the run ended well | [`ended`](#ended), [`remarks`](#remarks) |
| what happened to packets | [`packets`](#packets), [why packets are dropped](#why-packets-are-dropped) |
| rates | [`throughput`](#throughput); wired cards: [`sent`, `received`](#sent) |
| latency, and where the time went | [`latency_ns`](#latency_ns) |
| cost of handlers, load of the cores | [`handlers`](#handlers), [`hpus`](#hpus); wired cards: [`cores`](#cores), [`functions`](#functions) |
| why a handler failed | [`traps`](#traps), [`output.first_command_fault`](#outputfirst_command_fault) |
| how tenants shared the card | `jain_index`, [`tenants`](#tenants) |
| which service is the bottleneck | [`services`](#services), [`credits`](#credits) |

The first part of the summary is the same for all cards. Each kind of card adds keys of its own.

Keys are stable: they are not renamed or removed within a major version, but new ones may be added. Times are nanoseconds of simulated
time unless the key says otherwise. Addresses are texts such as `0x1d000100`. `null` means that nothing was measured.
"""

_KINDS = {
    "handlers": "Cards that run handlers",
    "chains": "Cards that run chains of offloads",
    "modules": "Wired cards",
    "network": "Networks of cards",
}

# Small tables that many keys have.
_INLINE = {
    "Ns": "number",
    "Spread": "`mean`, `p99`, `max`",
    "RangeSummary": "`mean`, `min`, `max`, `total`",
    "MemorySummary": "`addr`, `size` in bytes",
    "FaultCounts": "`lost`, `duplicated`, `reordered`",
    "InlinedLine": "`function`, `line`",
}

# Text that follows a table, by the table's key.
_NOTES = {
    "ended": """
| `reason` | meaning |
|---|---|
| `complete` | all packets are finished. Wired cards: every frame is accounted for, or nothing came out for 5 ms after the last was given |
| `limit` | the limit in simulated time |
| `stalled` | packets are unfinished, and nothing can happen any more or nothing happened for `stall_limit`. Wired cards: also if the card does not serve its host |
| `not_ready` | the cores of PsPIN never became ready |
| `trouble` | a core of a wired card stopped by itself |
| `quiet` | all parts of a wired card sleep although frames are still to come |
| `interrupted` | Ctrl-C or a signal |
| `running` | before the end |

Without `--limit`, finite traffic has no limit in simulated time. Endless traffic of a wired card, or none, ends 40 ms after the card has
started. A wired card that has not started after 400 ms ends the run.
""",
    "remarks": """
The printed summary begins with them, marked `!`. They do not change the exit code, because a trap or a drop is a result of the simulation.

| `kind` | cards | meaning |
|---|---|---|
| `unfinished` | all | the run ended before all packets were finished; the text is that of [`ended`](#ended). The printed summary says so in its first line |
| `traps` | handlers, chains, network | programs trapped: number of packets, and for the earliest trap its cause, place, packet and core. With `--json` also on stderr |
| `refused_commands` | handlers, network | units refused commands, which handlers cannot see: how many, and the earliest |
| `message_timeouts` | handlers, network | messages were given up because no packet arrived for too long; their completion handlers did not run |
| `no_queue` | handlers, network | matched packets went the ordinary way because all message queues were taken |
| `kept_packets` | handlers, network | packets stay in message queues, by the mistake of the RTL that `rtl_mistakes.reused_queues_keep_packets` switches on |
| `no_match` | handlers | a context got no packet. Either earlier contexts took all packets, or no packet matched; the text then gives the parts of the expression that never held, and the first packet's value there |
| `no_packets` | handlers, chains | the traffic is empty |
| `unnamed_tenant` | chains | no chain belongs to this tenant |
| `no_traffic` | wired | no frame is offered, so the card idles |
| `capture_damaged`, `capture_snapped`, `capture_left_out` | wired | the capture cannot be read to its end; has only the beginning of some frames, and zeros replace the rest; has records that are not Ethernet frames or cannot be read |
| `cut_gaps` | wired | gaps were cut, because the run would take more than five hours of simulated time |
| `frames_too_long` | wired | frames of a capture are longer than the card accepts; they are not given to it |
| `frames_filtered`, `frames_without_room`, `receiver_off` | wired | the receiver dropped frames: for other addresses; without a buffer, a descriptor, or room in its FIFO; before firmware enabled it |
| `frames_damaged` | wired | frames reached the host with an error flag |
| `frames_not_out` | wired | frames were given to the card and did not come out, without a counted drop |
| `network_drops` | network | links and switches dropped frames |
| `card_drops` | network | cards dropped packets, by node and reason; `too_long` are frames longer than the card takes |
| `silent_peers` | network | hosts gave up peers that did not acknowledge packets, see `retries` in `messages` |

A network has the remarks on the programs of its cards: of each kind that of the first node, and the names of others.
""",
    "latency_ns": """
The latency begins and ends where the kind of card can observe it. Percentiles are exact up to 2047 cycles, and within 0.1 % above; those
of wired cards are exact.

| kind | from | to |
|---|---|---|
| handlers | room in packet memory | the card is done with the packet |
| chains | first bytes in | first bytes out, for packets that left |
| wired | given to the card | came out, for frames known at both ends |
| network | the frame entered the network at its sender's node | last bit at the node that received it |

Parts on cards that run handlers:

| part | from | to |
|---|---|---|
| `packet_memory` | room found | written to packet memory, request at the message queues |
| `message_queue` | | payload task sent (without the time in `header`) |
| `header` | header task sent | header task done; only for the packet on which it ran |
| `cluster` | payload task sent | accepted by a cluster |
| `copy` | | packet in L1 |
| `hpu` | | the handler has started on a free HPU |
| `handler` | | handler ended |
| `commands` | | commands and transfers done, feedback sent |
| `completion` | | completion task done; only for the packet on which it ran |
| `feedback` | | packet freed |

Parts on cards that run chains, also of `split_ns` (there without `ingress`):

| part | time spent |
|---|---|
| `ingress` | on the line and in the RMT pipeline, until the descriptor enters the interconnect; for packets of the host, in their DMA |
| `interconnect` | between parts |
| `queueing` | in the scheduler |
| `detours` | from a refusal by one unit until another unit accepts the packet: to the scheduler, in it, and to the unit |
| `unit_wait` | in a unit before and after the engine's work: in the scratchpad, in the engine's queue, at the output |
| `service` | in engines, from the start of work on the packet to its end. A pipelined engine works on several packets at once |
""",
    "cores": """
| `cycles_by_cause` | cycles spent |
|---|---|
| execution | executing instructions |
| instruction misses | in a miss of the instruction cache, as a whole |
| load stalls | waiting for data memory that is not serving another requester, including clock crossings |
| conflicts | waiting because data memory serves another core, an assist, or the core's own fetch; or because a data access blocks an instruction fetch at the scratchpad's port |
| pipeline | in other stalls of the pipeline |
""",
    "cores.locks": """
- Lock cycles include the access that takes the lock, the test of its result, the code between two failed attempts at the same lock, and the
  store that frees it, each with its stalls.
- If a core accesses anything else between two attempts, it is not counted as waiting.
- Computing a lock's address cannot be distinguished from other arithmetic. An `ll` and `sc` pair that counts events is taken for a lock.
""",
}

_TAIL = """## The output folder and exit codes

| file | cards | content |
|---|---|---|
| `summary.json` | all | this summary |
| `experiment.json`, `files/` | all | the experiment; packets and contents of memories that were given as bytes |
| `packets.parquet` | handlers, chains | one row per packet: [handlers](packets.md), [chains](chains.md#packetsparquet) |
| `hops.parquet` | chains | one row per [visit to a service](chains.md#hopsparquet) |
| `frames.parquet` | wired | one row for each frame given to the card, and for each further frame that came out: `way` (`sent`, `received`), `frame` (its number in the traffic), `bytes`, `given_ps`, `out_ps`, `latency_ps`. Times are picoseconds since reset, null if it did not happen |
| `frames.parquet` | network | one row for each [event of each frame](packets.md#framesparquet-of-networks) |
| `nodes/NAME/` | network | the files of the card on this node; a run of a single card writes the same files |
| `out.pcapng` | handlers | packets that the card sent |
| `network.pcapng`, `host.pcapng` | chains | packets that left, with the times of their last bytes; a comment gives number, chain, the parts of its time, and the units that worked on it |
| `sent.pcapng`, `received.pcapng` | wired | frames that came out at the network and at the host, each with its number and time in the card as a comment. Of frames that were never given, the first few, marked by a comment |
| `dropped.pcapng` | all | with `--capture-drops`: packets that the card dropped, as they were then; a comment gives the reason. Wired cards: frames that their receivers dropped |
| `host/` | handlers | written host memory. Each run of written 4 KiB pages is a file, named after the address of its first byte. It covers the first to the last byte written; bytes in between that were not written are zero. `index.json` lists the files: `addr`, `size` in bytes, `file`; `context` and `offset` say whose host memory it is, and at which byte of it the file begins |

The folder is written completely, or nothing is written.

| exit code | meaning |
|---|---|
| 0 | the run ended as requested |
| 2 | bad input, or the run did not finish (`is_unfinished`) |
| 130 | interrupted; summary and folder are written all the same |
"""


def page(note: str) -> str:
    """`docs/reference/summary.md`."""
    schemas = json.loads(_core.schema("summary"))
    titles: dict[str, str] = {}
    parts = [note, _HEAD, "## All cards\n", *_tables(schemas["common"], titles)]
    for kind, title in _KINDS.items():
        packets, section = schemas[kind]["packets"], schemas[kind]["section"]
        parts += [f"## {title}\n", section["description"] + "\n", *_keys(section, titles, "")]
        if "properties" in packets:
            parts += [f"### `packets` of {title[0].lower()}{title[1:]}\n", packets["description"] + "\n"]
            parts += [*_keys(packets, titles, "")]
        parts += _tables(section, titles, has_top=False)
    return "\n".join([*parts, *_drops(schemas), _TAIL])


def _drops(schemas: dict[str, Any]) -> Iterator[str]:
    yield "## Why packets are dropped\n\n| reason | cards | meaning |\n|---|---|---|"
    for kind in _KINDS:
        for reason, about in schemas[kind]["drops"]:
            yield f"| `{reason}` | {'wired' if kind == 'modules' else kind} | {about.removesuffix('.')} |"
    yield ""


def _tables(schema: Schema, titles: dict[str, str], *, has_top: bool = True) -> Iterator[str]:
    """The table of the whole summary, then one for each key that has keys; `titles` are the titles of definitions that
    have a table.
    """
    named: dict[str, Schema] = schema.get("$defs", {})
    if has_top:
        yield from _keys(schema, titles, "")
    waiting = [("", schema)]
    while waiting:
        path, table = waiting.pop(0)
        for key, value in table["properties"].items():
            name = _name(value)
            if name not in named or "properties" not in named[name] or name in _INLINE:
                continue
            inner = f"{path}.{key}" if path else key
            if titles.setdefault(name, inner) != inner:
                continue
            yield f"### `{inner}`\n"
            if text := named[name].get("description"):
                yield text + "\n"
            yield from _keys(named[name], titles, inner)
            if note := _NOTES.get(inner):
                yield note
            waiting.append((inner, named[name]))


def _keys(table: Schema, titles: dict[str, str], path: str) -> Iterator[str]:
    yield "| key | type | meaning |"
    yield "|---|---|---|"
    for key, value in table["properties"].items():
        kind = _type(value, titles, f"{path}.{key}" if path else key)
        yield f"| `{key}` | {kind} | {_cell(value['description'])} |"
    yield ""


def _type(value: Schema, titles: dict[str, str], path: str) -> str:
    name = _name(value)
    if name in _INLINE:
        inner = _INLINE[name]
    elif name:
        title = titles.setdefault(name, path)
        inner = f"[table](#{title.replace('.', '')})"
    else:
        inner = ""
    kind = next((one for one in _types(value) if one != "null"), "")
    if kind == "array":
        items = value.get("items")
        return f"list of {inner.replace('[table]', '[tables]') or _type(items, titles, path) if items else 'pairs'}"
    if kind == "object" and "additionalProperties" in value:
        return f"by name: {inner or _type(value['additionalProperties'], titles, path)}"
    words = {"integer": "integer", "number": "number", "string": "text", "boolean": "boolean"}
    return inner or words.get(kind, "table")


def _types(value: Schema) -> list[str]:
    kind = value.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _name(value: Schema) -> str:
    """The definition that a key, its items or its values refer to."""
    for place in (value, *value.get("anyOf", ()), value.get("items"), value.get("additionalProperties")):
        if isinstance(place, dict) and "$ref" in place:
            return str(place["$ref"]).rpartition("/")[2]
    return ""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
