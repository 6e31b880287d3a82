# SPDX-License-Identifier: Apache-2.0
"""Packet classification on the card: each packet's rule, counters and bytes, against a linear search of the rules."""

from __future__ import annotations

import ipaddress
import struct
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import spinet
from spinet._core import UsageError
from spinet.services import Classifier, classify, rules
from spinet.services.classify import PROGRAM

import frames

SEED = 7
CAPTURES = sorted(Path("captures").glob("*.pcap"))
RULES = """
# for the captures of this repository
lookups:   forward 10.9.8.7:5353 udp to any:53
answers:   host udp from any:53
web:       forward 10.9.8.8 tcp to any:80 via 02:11:22:33:44:55
cache:     drop udp from any:11211 priority 1
dead:      drop udp from any:11211
low-ports: drop tcp from any:0-1023
pings:     drop icmp to 10.0.0.0/8
bulk:      host tcp to any:5000-5300
"""


def fields_of(packet: bytes) -> tuple[int, ...] | None:
    """The fields, parsed without spinet."""
    frame = frames.parse(packet)
    if frame.ip != 4 or struct.unpack_from("!H", packet, 20)[0] & 0x1FFF:
        return None
    ports = frame.ports if frame.protocol in (frames.UDP, frames.TCP) else (0, 0)
    source, target = (int.from_bytes(address, "big") for address in (frame.source, frame.destination))
    return source, target, *ports, frame.protocol


def first_match(tried: Sequence[rules.Rule], packet: bytes) -> rules.Rule | None:
    fields = fields_of(packet)
    if fields is None:
        return None
    inside = (
        rule for rule in tried if all(low <= v <= high for v, (low, high) in zip(fields, rule.ranges, strict=True))
    )
    return next(inside)


def forwarded(rule: rules.Rule, packet: bytes) -> bytes:
    frame, out = frames.parse(packet), bytearray(packet)
    out[0:6], out[30:34] = rule.mac, ipaddress.IPv4Address(rule.address).packed
    if rule.port is not None:
        out[frame.l4 + 2 : frame.l4 + 4] = rule.port.to_bytes(2, "big")
    return frames.with_checksums(bytes(out))


def run(classifier: Classifier, packets: Sequence[bytes], **defines: int) -> tuple[bytes, list[bytes], list[str]]:
    """Handler memory, sent packets and fates on one card."""
    machine = spinet.Machine()
    tenant = machine.tenant("own")
    content = classifier.memory()
    memory = tenant.allocate(len(content))
    memory.write(content)
    context = tenant.context(
        program=tenant.load(PROGRAM, defines=defines),
        memory=memory,
        scratchpad=tenant.allocate(defines.get("HOT_BYTES", 65536) + 16, kind="scratchpad"),
        host=tenant.register(4 << 20),
    )
    context.install()
    machine.send(packets)
    machine.finish()
    assert context.error() is None
    fates = machine.take_packets().sort_by("packet")["fate"].to_pylist()
    return memory.read(), [packet.data for packet in machine.take_sent()], fates


def check(classifier: Classifier, packets: Sequence[bytes], **defines: int) -> Counter[str | None]:
    """Compare everything with a linear search of the rules; returns packets by rule."""
    found = [first_match(classifier.rules, packet) for packet in packets]
    memory, sent, fates = run(classifier, packets, **defines)
    names = [rule.name if rule else None for rule in found]
    wanted = Counter(names)
    n_bytes = {name: sum(len(p) for p, own in zip(packets, names, strict=True) if own == name) for name in wanted}
    counts = classifier.counts(memory)
    assert counts == {name: (wanted[name], n_bytes.get(name, 0)) for name in counts}
    assert sum(count for count, _ in counts.values()) == len(packets)
    moved = [forwarded(rule, p) for rule, p in zip(found, packets, strict=True) if rule and rule.action == "forward"]
    assert Counter(sent) == Counter(moved)
    fate = {"drop": "consumed", "host": "to_host", "forward": "sent"}
    assert fates == [fate[rule.action] if rule else "to_host" for rule in found]
    return wanted


@pytest.mark.parametrize("hot", [0, 64, 65536])
def test_packets_of_all_captures_get_the_first_rule_that_matches(hot: int) -> None:
    packets = [packet for path in CAPTURES for packet in frames.of(path)]
    found = check(Classifier(RULES), packets, HOT_BYTES=hot)
    assert all(
        found[name] > 0 for name in ("lookups", "answers", "web", "cache", "low-ports", "pings", "bulk", "default")
    )
    assert found["dead"] == 0  # `cache` has a higher priority


@pytest.mark.parametrize(("n", "leaf_rules"), [(1, None), (10, None), (100, None), (100, 4), (60, 1000), (400, 16)])
def test_drawn_packets_get_the_rules_of_drawn_sets(n: int, leaf_rules: int | None) -> None:
    drawn = classify.draw(n, seed=SEED)
    classifier = Classifier(drawn, leaf_rules=leaf_rules)
    packets = [frames.with_checksums(packet) for packet in classify.packets(drawn, 600, seed=SEED)]
    found = check(classifier, packets)
    assert len(found) > min(n, 40)
    assert [classifier.find(packet) for packet in packets] == [
        rule.name if rule else None for rule in (first_match(classifier.rules, packet) for packet in packets)
    ]


def test_packets_without_fields_go_to_the_host_with_a_counter_of_their_own() -> None:
    whole = frames.build(ip=4, protocol=frames.UDP, ports=(9, 53), payload=bytes(40))
    later = whole[:20] + b"\x00\x05" + whole[22:]  # a later fragment
    short = whole[:16] + struct.pack("!H", 26) + whole[18:]  # IP ends within the UDP header
    six = frames.build(ip=6, protocol=frames.UDP, ports=(9, 53), payload=bytes(40))
    classifier = Classifier("all: drop")
    memory, sent, fates = run(classifier, [whole, later, short, six, b"\xff" * 60])
    assert classifier.counts(memory)["all"] == (1, len(whole))
    assert classifier.counts(memory)[None] == (4, len(later) + len(short) + len(six) + 60)
    assert fates == ["consumed", *["to_host"] * 4] and not sent
    assert [classifier.find(packet) for packet in (whole, later, short, six, b"\xff" * 60)] == ["all", *[None] * 4]


def test_a_network_forwards_and_counts_are_conserved_on_any_number_of_threads() -> None:
    """Node 0 sends to the card on node 1, which forwards one of two flows to node 2."""
    classifier = Classifier("moved: forward 10.0.0.3:7000 udp to any:5000\nclosed: drop udp to any:5001")
    flows = [f"udp:size=200,count={count},dst_port={port},rate=10G" for port, count in ((5000, 30), (5001, 20))]
    network = {
        "topology": {"name": "star", "nodes": 3},
        "link": {"faults": "loss=0.05,duplicate=0.05,reorder=0.1:4"},
        "nodes": [
            {"name": "n0", "send": [{"source": flow, "to": "n1"} for flow in flows]},
            {"name": "n1", **classifier.node()},
        ],
    }
    one, two = (spinet.run(network, seed=SEED, threads=threads) for threads in (1, 2))
    assert one.digest == two.digest and one.summary["packets"]["dropped"] > 0
    fates = Counter(one.nodes["n1"].packets["fate"].to_pylist())
    rows = one.table("frames").to_pylist()
    arrived = sum(row["event"] == "delivered" and row["node"] == 1 for row in rows)
    assert set(fates) == {"sent", "consumed"} and fates.total() == arrived > 40
    events = Counter(row["event"] for row in rows if row["frame_node"] == 1)
    assert events["entered"] == fates["sent"]
    assert events["delivered"] == fates["sent"] + events["copied"] - events["dropped"]
    assert all(row["node"] == 2 for row in rows if row["event"] == "delivered" and row["frame_node"] == 1)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a drop", "rules:1: a rule begins with a name and a colon (found `a drop`; allowed letters"),
        ("\n\na: reject", "rules:3: unknown action (found `reject`; allowed drop, host, forward)"),
        ("a:", "rules:1: the line ends, expected an action: drop, host, forward"),
        ("a: drop sctp", "rules:1: unknown word (found `sctp`; allowed from, to, via, priority, any, tcp"),
        ("a: drop 256", "rules:1: protocol is not a number in range (found `256`; allowed 0 to 255)"),
        ("a: drop from 10.0.0.1/8", "rules:1: no IPv4 prefix: 10.0.0.1/8 has host bits set"),
        ("a: drop tcp to any:70000", "rules:1: port is not a number in range (found `70000`; allowed 0 to 65535)"),
        ("a: drop tcp to any:90-80", "rules:1: a range of ports is empty (found `90-80`"),
        ("a: drop to any:80", "rules:1: only tcp and udp have ports"),
        ("a: drop to", "rules:1: the line ends, expected an address"),
        ("a: drop tcp udp", "rules:1: protocol comes twice (found `udp`; allowed one)"),
        ("a: forward 10.0.0", "rules:1: no IPv4 address (found `10.0.0`"),
        ("a: drop via 02:00:00:00:00:01", "rules:1: `via` is for forwarded packets (found `drop`; allowed forward)"),
        ("a: drop\nb: drop\na: host", "rules:3: two rules have the name `a`"),
        ("a: drop\ndefault: drop", "rules:2: a rule has the name `default`"),
    ],
)
def test_errors_name_the_line_what_was_found_and_what_is_allowed(text: str, error: str) -> None:
    with pytest.raises(UsageError) as raised:
        Classifier(text)
    assert str(raised.value).startswith(error), raised.value


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("a: dorp", "did you mean drop?"),
        ("a: forwards 10.0.0.1", "did you mean forward?"),
        ("a: drop form 10.0.0.1", "did you mean from?"),
        ("a: drop pritority 3", "did you mean priority?"),
        ("a: drop tpc", "did you mean tcp?"),
        ("a: reject", ""),
        ("a: drop sctp", ""),
    ],
)
def test_errors_name_the_nearest_word(text: str, hint: str) -> None:
    with pytest.raises(UsageError) as raised:
        rules.parse(text)
    assert raised.value.hint == hint


def test_files_of_rules_are_read_and_named_in_errors(tmp_path: Path) -> None:
    (tmp_path / "own.rules").write_text(RULES)
    assert [rule.name for rule in rules.read(tmp_path / "own.rules")][:2] == ["cache", "lookups"]
    (tmp_path / "own.rules").write_text("a: drop\nb: dorp\n")
    with pytest.raises(UsageError, match=r"own.rules:2: unknown action \(found `dorp`"):
        rules.read(tmp_path / "own.rules")
    with pytest.raises(UsageError, match=r"none.rules: .*No such file"):
        rules.read(tmp_path / "none.rules")


def test_rules_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UsageError, match="100 rules do not fit into 6800 bytes, with up to 64 rules in a leaf"):
        Classifier(classify.draw(100, seed=SEED), max_bytes=6800)
