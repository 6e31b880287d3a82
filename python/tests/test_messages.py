# SPDX-License-Identifier: Apache-2.0
"""Which handlers run for the packets of a message, how often and in which order, if any of them is absent."""

from __future__ import annotations

import struct
from itertools import chain, combinations
from pathlib import Path

import pytest
import spinet

import frames

STAGES = ("header", "payload", "completion")
SUBSETS = list(chain.from_iterable(combinations(STAGES, size) for size in (1, 2, 3)))
HOST = 0x1000_0000_0000_0000
FLOWS, PER_FLOW = 5, 12


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five TCP flows of twelve packets, interleaved; each packet has a length of its own, the last of a flow FIN."""
    packets = [
        frames.build(
            ip=4,
            protocol=frames.TCP,
            ports=(1000 + flow, 80),
            payload=bytes(20 + number * FLOWS + flow),
            flags=0x11 if number == PER_FLOW - 1 else 0x10,
        )
        for number in range(PER_FLOW)
        for flow in range(FLOWS)
    ]
    return frames.write(tmp_path_factory.mktemp("messages") / "flows.pcap", packets)


def sizes(flow: int) -> list[int]:
    return [54 + 20 + number * FLOWS + flow for number in range(PER_FLOW)]


def run(capture: Path, stages: tuple[str, ...], **more: str) -> tuple[spinet.Result, list[tuple[str, int, int]]]:
    """A run, and the records of the handlers: stage, message, length of the packet."""
    defines = {stage.upper(): 1 for stage in stages}
    result = spinet.run(program="python/tests/handlers/journal.c", traffic=capture, defines=defines, **more)
    memory = result.host_memory(HOST, 8 * 1000)
    notes = [note for (note,) in struct.iter_unpack("<Q", memory)]
    end = notes.index(0)
    assert not any(notes[end:])
    return result, [(STAGES[(note >> 48) - 1], note >> 32 & 0xFFFF, note & 0xFFFF_FFFF) for note in notes[:end]]


@pytest.mark.parametrize("pacing", ["times", "asap"])
@pytest.mark.parametrize("stages", SUBSETS, ids="+".join)
def test_header_first_then_payloads_then_completion(capture: Path, stages: tuple[str, ...], pacing: str) -> None:
    result, notes = run(capture, stages, message="by 5-tuple until tcp.flags.fin", pacing=pacing)
    assert result.complete and result.summary["packets"]["done"] == FLOWS * PER_FLOW
    rows = result.packets.to_pylist()
    for flow in range(FLOWS):
        (msgid,) = {row["msgid"] for row in rows if row["bytes"] in sizes(flow)}
        mine = [(stage, size) for stage, message, size in notes if message == msgid]
        expected = {
            "header": [("header", sizes(flow)[0])],
            "payload": [("payload", size) for size in sizes(flow)],
            "completion": [("completion", sizes(flow)[-1])],
        }
        # Payload handlers of one message run beside each other, so among themselves they have no order.
        payloads = sorted(note for note in mine if note[0] == "payload")
        first = [note for note in mine[:1] if note[0] == "header"]
        last = [note for note in mine[-1:] if note[0] == "completion"]
        assert first + payloads + last == [note for stage in stages for note in expected[stage]]
        assert len(mine) == len(first + payloads + last)
    runs = {handler["stage"]: handler["runs"] for handler in result.summary["handlers"] if handler["runs"]}
    expected_runs = {"header": FLOWS, "payload": FLOWS * PER_FLOW, "completion": FLOWS}
    assert runs == {stage: expected_runs[stage] for stage in stages}


@pytest.mark.parametrize("pacing", ["times", "asap"])
def test_handlers_of_a_message_overlap_only_among_payloads(capture: Path, pacing: str) -> None:
    result, _ = run(capture, STAGES, message="by 5-tuple until tcp.flags.fin", pacing=pacing)
    columns = result.columns
    for message in set(columns["message"].tolist()):
        mine = columns["message"] == message
        header = columns["header_end_ps"][mine].max()
        completion = columns["completion_start_ps"][mine].max()
        assert 0 < header < columns["start_ps"][mine].min()
        assert columns["end_ps"][mine].max() < completion
        assert (columns["header_start_ps"][mine] >= 0).sum() == 1
        assert (columns["completion_start_ps"][mine] >= 0).sum() == 1


@pytest.mark.parametrize(
    ("message", "headers", "completions", "still_open"),
    [
        ("each", 60, 60, 0),
        ("by 5-tuple until tcp.flags.fin", 5, 5, 0),
        ("by 5-tuple last", 5, 5, 0),
        ("by flow", 5, 5, 0),
        ("by 5-tuple count 12", 5, 5, 0),
        ("by 5-tuple count 4", 15, 15, 0),
        ("by 5-tuple count 5", 15, 10, 5),
        ("by 5-tuple until tcp.flags.rst", 5, 0, 5),
        ("by tcp.dst_port last", 1, 1, 0),
        ("all count 7", 9, 8, 1),
        ("all last", 1, 1, 0),
        ("by ipv6.src last", 60, 60, 0),
    ],
)
def test_a_message_ends_where_its_context_says(
    capture: Path, message: str, headers: int, completions: int, still_open: int
) -> None:
    result, notes = run(capture, STAGES, message=message)
    count = {stage: sum(note[0] == stage for note in notes) for stage in STAGES}
    assert count == {"header": headers, "payload": FLOWS * PER_FLOW, "completion": completions}
    assert result.complete
    assert result.summary["ended"]["open_messages"] == still_open


def test_messages_for_which_no_queue_is_left_take_the_ordinary_path(tmp_path: Path) -> None:
    packets = [
        frames.build(ip=4, protocol=frames.UDP, ports=(1000 + flow, 80), payload=bytes(40)) for flow in range(300)
    ]
    many = frames.write(tmp_path / "many.pcap", packets * 2)
    result, notes = run(many, STAGES, message="by 5-tuple count 3")
    assert result.complete
    counts = result.summary["packets"]
    assert (counts["matched"], counts["done"], counts["ordinary"]) == (600, 2 * 256, 2 * 44)
    assert result.summary["contexts"][0]["messages_without_queue"] == 44
    assert sum(note[0] == "payload" for note in notes) == 2 * 256


def test_packets_that_stay_in_their_queues_have_a_remark() -> None:
    """FPsPIN has 16 queues for 150 messages, and the RTL's mistake."""
    traffic = "udp:size=200..1400,count=150,rate=100G"
    summary = spinet.run(program="sdk/examples/count.c", nic="fpspin", traffic=traffic).summary
    held = summary["counters"]["nic.scheduler.packets_held"]
    assert held == summary["packets"]["unfinished"] > 0
    (text,) = [remark["text"] for remark in summary["remarks"] if remark["kind"] == "kept_packets"]
    assert text.startswith(f"{held} packets stay in the message queues: ")
    assert "rtl_mistakes.reused_queues_keep_packets" in text
