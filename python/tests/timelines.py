# SPDX-License-Identifier: Apache-2.0
"""Runs of each kind of card for tests of timelines, and a decoder with Perfetto's own description of the format."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

PING = "sdk/examples/ping_pong.c"
RUNS: dict[str, dict[str, Any]] = {
    "handlers": {"program": PING, "traffic": "udp:size=list:64:700,count=200,rate=400G", "match": "udp"},
    "chains": {"nic": "panic", "chains": "ipsec: sha -> aes", "traffic": "udp:size=512,count=200,rate=60G"},
    "pipeline": {
        "nic": "pipeline",
        "services": ["sha: delay, cycles=40", "aes: delay, cycles=20"],
        "chains": "ipsec: sha -> aes",
        "traffic": "udp:size=512,count=100,rate=60G",
    },
    "modules": {
        "nic": "tigon2",
        "traffic": "udp:size=300,count=20,payload=numbered",
        "send": "udp:size=900,count=20,payload=numbered",
    },
}


@dataclass
class Slice:
    """A slice of a track, with its annotations."""

    track: str
    name: str
    category: str
    begin: int
    end: int
    depth: int
    notes: dict[str, int]
    flows: list[int]
    is_last: bool
    node: str


@dataclass
class Decoded:
    """A trace, as a viewer sees it: slices are matched per track, in the order of time.

    In a network, names of counters and groups begin with the node, as in ``n0/packets inside``.
    """

    slices: list[Slice] = field(default_factory=list)
    counters: dict[str, list[tuple[int, float]]] = field(default_factory=lambda: defaultdict(list))
    groups: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def of(self, packet: int) -> list[Slice]:
        return sorted(
            (one for one in self.slices if one.depth == 0 and one.notes["packet"] == packet), key=lambda one: one.begin
        )


def decode(file: Path) -> Decoded:
    trace = perfetto.Trace()
    trace.ParseFromString(file.read_bytes())
    found = Decoded()
    # By sequence: each has its own names.
    all_names: dict[int, dict[str, dict[int, str]]] = {}
    tracks: dict[int, Any] = {}
    stacks: dict[int, list[Slice]] = defaultdict(list)
    last: dict[int, int] = defaultdict(int)

    def node_of(track: Any) -> str:
        """The node above the group of a track; empty for a single card."""
        above = [track]
        while above[-1].HasField("parent_uuid"):
            above.append(tracks[above[-1].parent_uuid])
        return above[-1].name if len(above) == 3 else ""

    def named(track: Any, name: str) -> str:
        return f"{node}/{name}" if (node := node_of(track)) else name

    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        assert sequence > 0
        names = all_names.setdefault(
            sequence, {"event_names": {}, "event_categories": {}, "debug_annotation_names": {}}
        )
        for key, known in names.items():
            known.update((entry.iid, entry.name) for entry in getattr(packet.interned_data, key))
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in tracks
            tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.track_descriptor.HasField("parent_uuid"):
                parent = tracks[packet.track_descriptor.parent_uuid].name
                found.groups[named(packet.track_descriptor, parent)].add(packet.track_descriptor.name)
        if not packet.HasField("track_event"):
            continue
        event, track = packet.track_event, tracks[packet.track_event.track_uuid]
        assert packet.timestamp >= last[sequence], "a sequence is in the order of time"
        last[sequence] = packet.timestamp
        if event.type == event.TYPE_COUNTER:
            value = event.double_counter_value if event.HasField("double_counter_value") else event.counter_value
            found.counters[named(track, track.name)].append((packet.timestamp, value))
        elif event.type == event.TYPE_SLICE_BEGIN:
            notes = {names["debug_annotation_names"][one.name_iid]: one.uint_value for one in event.debug_annotations}
            (category,) = event.category_iids
            stack = stacks[track.uuid]
            one = Slice(
                track=track.name,
                name=names["event_names"][event.name_iid],
                category=names["event_categories"][category],
                begin=packet.timestamp,
                end=-1,
                depth=len(stack),
                notes=notes,
                flows=[*event.flow_ids, *event.terminating_flow_ids],
                is_last=bool(event.terminating_flow_ids),
                node=node_of(track),
            )
            stack.append(one)
            found.slices.append(one)
        else:
            assert event.type == event.TYPE_SLICE_END
            stacks[track.uuid].pop().end = packet.timestamp
    assert not any(stacks.values()), "every slice ends"
    return found
