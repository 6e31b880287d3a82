# SPDX-License-Identifier: Apache-2.0
"""Services on the card against plain Python."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import spinet
from spinet._core import UsageError
from spinet.services import (
    Classifier,
    Consensus,
    Functions,
    KeyValue,
    Matching,
    Participant,
    Patterns,
    Quantizer,
    Table,
    keyvalue,
    select,
)
from spinet.services.patterns import PROGRAM

import frames

WORDS = [b"HTTP/1", b"GET ", b"STORED", b"\r\n\r\n", b"\r\n", b"key", b"get ", b"e", b"VALUE", b"\x00\x01", b"example"]
WORDS += [b"ex", b"host", b"not there"]


def payload_of(packet: bytes) -> bytes:
    """The payload of UDP or TCP; empty for other packets."""
    frame = frames.parse(packet)
    if frame.protocol == frames.UDP:
        return packet[frame.l4 + 8 : frame.end]
    return packet[frame.l4 + (packet[frame.l4 + 12] >> 4) * 4 : frame.end] if frame.protocol == frames.TCP else b""


def search(patterns: Patterns, packets: Sequence[bytes], **defines: int) -> tuple[list[int], int]:
    """Occurrences that the card counts, and packets that it copies to the host."""
    machine = spinet.Machine()
    tenant = machine.tenant("own")
    program = tenant.load(PROGRAM, defines=defines)
    memory = tenant.allocate(len(patterns.memory()))
    memory.write(patterns.memory())
    context = tenant.context(
        program=program,
        memory=memory,
        scratchpad=tenant.allocate(defines.get("HOT_BYTES", 65536) + 6500, kind="scratchpad"),
        host=tenant.register(4 << 20),
    )
    context.install()
    machine.send(packets)
    machine.finish()
    assert context.error() is None
    table = machine.take_packets()
    return patterns.counts(memory.read()), sum(1 for fate in table["fate"].to_pylist() if "host" in fate)


@pytest.mark.parametrize("hot", [0, 256, 65536])
def test_all_patterns_of_all_captures_are_found(hot: int) -> None:
    patterns = Patterns(WORDS)
    packets = [packet for path in sorted(Path("captures").glob("*.pcap")) for packet in frames.of(path)]
    payloads = [payload_of(packet) for packet in packets]
    wanted = [sum(counts) for counts in zip(*map(patterns.count, payloads), strict=True)]
    assert min(wanted[:6]) > 0
    counts, to_host = search(patterns, packets, HOT_BYTES=hot)
    assert counts == wanted
    assert to_host == sum(any(patterns.count(payload)) for payload in payloads)


def test_overlapping_patterns_of_drawn_bytes_are_found() -> None:
    random = np.random.default_rng(5)
    drawn = {bytes(random.integers(0, 3, random.integers(1, 7)).astype("u1")) for _ in range(90)}
    patterns = Patterns(sorted(drawn))
    texts = [bytes(random.integers(0, 4, 900).astype("u1")) for _ in range(4)]
    packets = [frames.build(ip=4, protocol=17, ports=(9, 9), payload=text) for text in texts]
    counts, to_host = search(patterns, packets)
    assert counts == [sum(counts) for counts in zip(*map(patterns.count, texts), strict=True)]
    assert to_host == 4


def test_payloads_full_of_matches_take_bounded_time() -> None:
    """Patterns that all end at each byte of each packet: no watchdog may end a handler."""
    patterns = Patterns([b"a" * size for size in range(1, 41)])
    text = b"a" * 1400
    packets = [frames.build(ip=4, protocol=17, ports=(9, 9), payload=text)] * 64
    counts, to_host = search(patterns, packets)
    assert counts == [64 * (1400 - size + 1) for size in range(1, 41)]
    assert to_host == 64


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ([], "0 patterns, must be 1 to 256"),
        ([b"a", b""], "a pattern is empty"),
        ([b"a", b"a"], "pattern b'a' comes twice"),
    ],
)
def test_impossible_patterns_are_refused(wrong: list[bytes], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Patterns(wrong)


def test_services_name_arguments_of_the_wrong_kind() -> None:
    refused: dict[str, Callable[[], object]] = {
        "capacity is 'x', must be 0 to": lambda: KeyValue(capacity="x"),  # type: ignore[arg-type]
        "buckets is 1.5, must be 0 to": lambda: KeyValue(buckets=1.5),  # type: ignore[arg-type]
        "access_key is 'x', must be 0 to": lambda: KeyValue(access_key="x"),  # type: ignore[arg-type]
        "key is 'k', must be bytes": lambda: keyvalue.put("k", b"v"),  # type: ignore[arg-type]
        "value is 'v', must be bytes": lambda: keyvalue.put(b"k", "v"),  # type: ignore[arg-type]
        "rows is list, must be an array": lambda: Table([[1, 2]]),  # type: ignore[arg-type]
        "predicate is 5, must be a text": lambda: select.terms(5),  # type: ignore[arg-type]
        "elements is 'x', must be 0 to": lambda: Quantizer(elements="x"),  # type: ignore[arg-type]
        "records is 'x', must be 0 to": lambda: Participant(records="x"),  # type: ignore[arg-type]
        "patterns is b'abc', must be a list": lambda: Patterns(b"abc"),  # type: ignore[arg-type]
        "a pattern is 'a', must be bytes": lambda: Patterns(["a"]),  # type: ignore[list-item]
        "size is 'x', must be 0 to": lambda: Consensus(size="x"),  # type: ignore[arg-type]
        "tick_ns is 0, must be 1 to": lambda: Consensus(tick_ns=0),
        "retry_ns is 0, must be 1 to": lambda: Consensus(retry_ns=0),
        "dies is 5, must have a time": lambda: Consensus(dies=5),  # type: ignore[arg-type]
        "receives is 'x', must be 0 to": lambda: Matching(receives="x"),  # type: ignore[arg-type]
        "ranks is 1, must be 2 to": lambda: Matching().network(1),
        "rules is 5, must be a text or a list of rules": lambda: Classifier(5),  # type: ignore[arg-type]
        "leaf_rules is 0, must be 1 to": lambda: Classifier("a: drop", leaf_rules=0),
        "slots is 'x', must be 0 to": lambda: Functions(spinet.Machine(), slots="x"),  # type: ignore[arg-type]
    }
    for text, call in refused.items():
        with pytest.raises(UsageError, match=f"^{re.escape(text)}"):
            call()
