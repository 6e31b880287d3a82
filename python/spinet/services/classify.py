# SPDX-License-Identifier: Apache-2.0
"""Packet classification: compiles rules to the decision tree of `sdk/services/classify.c`, and finds rules here."""

from __future__ import annotations

import ipaddress
import struct
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from spinet import _c_numbers, _core, _programs, toolchain
from spinet._core import UsageError
from spinet.services import rules as texts
from spinet.services.rules import ALL, PROTOCOLS, Range, Rule

PROGRAM = Path(__file__).resolve().parents[1] / "sdk" / "services" / "classify.c"
_NUMBERS = _c_numbers.defined(PROGRAM)
_LEAF, _LIST = _NUMBERS["LEAF"], _NUMBERS["LIST"]
_ACTIONS = {"drop": _NUMBERS["DROP"], "host": _NUMBERS["TO_HOST"], "forward": _NUMBERS["FORWARD"]}
_COVERS = 1 << 31
_HEADER_BYTES, _NODE_BYTES, _RANGE_BYTES, _ACTION_BYTES, _COUNTER_BYTES = 32, 8, 40, 16, 8
_LEAF_RULES = (1, 2, 4, 8, 16, 32, 64)
MAX_BYTES = 1 << 20
DEFAULT = Rule(name=texts.DEFAULT, action="host")
"""The last rule, which matches all packets."""

Box = tuple[Range, ...]


def fields(frame: bytes) -> tuple[int, ...] | None:
    """The fields of a frame, in the order of `rules.FIELDS`; None if the handler gives it to the host without a rule.

    The frame must have no VLAN tags; no capture here has one.
    """
    if len(frame) < 34 or frame[12:14] != b"\x08\x00" or frame[14] >> 4 != 4:
        return None
    header, total = 4 * (frame[14] & 15), struct.unpack_from("!H", frame, 16)[0]
    if header < 20 or total < header or 14 + total > len(frame) or struct.unpack_from("!H", frame, 20)[0] & 0x1FFF:
        return None
    source, target = struct.unpack_from("!II", frame, 26)
    protocol, at, end = frame[23], 14 + header, 14 + total
    if protocol == PROTOCOLS["udp"]:
        if end - at < 8 or not 8 <= struct.unpack_from("!H", frame, at + 4)[0] <= end - at:
            return None
    elif protocol == PROTOCOLS["tcp"]:
        if end - at < 20 or not 20 <= 4 * (frame[at + 12] >> 4) <= end - at:
            return None
    else:
        return source, target, 0, 0, protocol
    return source, target, *struct.unpack_from("!HH", frame, at), protocol


@dataclass(frozen=True)
class _Tree:
    nodes: list[tuple[int, int]]  # value, link
    entries: list[int]
    depth: int


class Classifier:
    """Compiled rules.

    Parameters
    ----------
    rules
        Text with rules, or rules in the order in which they are tried. `rules.read` reads a file. After them, the rule
        ``default`` gives all other packets to the host.
    leaf_rules
        Largest number of rules in a leaf. With the number of rules or more, the tree is a single list. Default: the
        smallest number with which the tree fits into `max_bytes`.
    max_bytes
        Most bytes of handler memory.

    Examples
    --------
    >>> classifier = Classifier("dns: drop udp to any:53\\ninner: host from 10.0.0.0/8")
    >>> classifier.find((0x0A000001, 0x0A000002, 999, 53, 17)), classifier.find((0, 0, 0, 0, 1))
    ('dns', 'default')

    Raises
    ------
    UsageError
        If a line is not a rule, or the rules do not fit.
    """

    def __init__(
        self, rules: str | Sequence[Rule], *, leaf_rules: int | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        if not isinstance(rules, str) and not (
            isinstance(rules, Sequence) and all(isinstance(rule, Rule) for rule in rules)
        ):
            raise UsageError(f"rules is {rules!r}, must be a text or a list of rules")
        _core.whole("max_bytes", max_bytes)
        if leaf_rules is not None:
            _core.whole("leaf_rules", leaf_rules, least=1)
        given = texts.parse(rules) if isinstance(rules, str) else list(rules)
        names = [rule.name for rule in given]
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"two rules have the name `{name}`")
        if DEFAULT.name in names:
            raise UsageError(f"a rule has the name `{DEFAULT.name}`, which is the name of the last rule")
        self.rules = [*given, DEFAULT]
        fixed = _HEADER_BYTES + len(self.rules) * (_RANGE_BYTES + _ACTION_BYTES + _COUNTER_BYTES) + _COUNTER_BYTES
        for most in _LEAF_RULES if leaf_rules is None else (leaf_rules,):
            tree = _tree(self.rules, most, max_bytes - fixed)
            if tree is not None:
                self._tree, self.leaf_rules = tree, most
                return
        raise UsageError(
            f"{len(given)} rules do not fit into {max_bytes} bytes, with up to {most} rules in a leaf",
            hint="give max_bytes or leaf_rules",
        )

    @property
    def nodes(self) -> int:
        """Nodes of the tree."""
        return len(self._tree.nodes)

    @property
    def depth(self) -> int:
        """Most comparisons for a packet, without those in lists."""
        return self._tree.depth

    def find(self, packet: bytes | tuple[int, ...]) -> str | None:
        """Name of the rule of a frame or of fields: the first one that matches, without the tree. None: no fields."""
        values = fields(packet) if isinstance(packet, bytes) else packet
        return None if values is None else next(rule.name for rule in self.rules if rule.matches(values))

    def memory(self) -> bytes:
        """Initial contents of the handler memory."""
        nodes = np.array(self._tree.nodes, "<u4").tobytes()
        entries = np.array(self._tree.entries, "<u4").tobytes()
        ranges = b"".join(_packed_range(rule) for rule in self.rules)
        actions = b"".join(_packed_action(rule) for rule in self.rules)
        at = [_HEADER_BYTES + len(nodes)]
        for part in (entries, ranges, actions):
            at.append(at[-1] + len(part))
        head = struct.pack("<8I", self.nodes, len(self.rules), *at, 0, 0)
        return head + nodes + entries + ranges + actions + bytes(_COUNTER_BYTES * (len(self.rules) + 1))

    def counts(self, memory: bytes) -> dict[str | None, tuple[int, int]]:
        """Packets and bytes of each rule by name, and of packets without fields (None), from the handler memory."""
        (at,) = struct.unpack_from("<I", memory, 20)
        names = [*(rule.name for rule in self.rules), None]
        found = np.frombuffer(memory, "<u4", 2 * len(names), at).reshape(-1, 2)
        return {name: (int(packets), int(n_bytes)) for name, (packets, n_bytes) in zip(names, found, strict=True)}

    def node(self, *, hot_bytes: int = _NUMBERS["HOT_BYTES"], host_bytes: int = 4 << 20) -> dict[str, Any]:
        """Keys of a network's node whose card classifies all packets that arrive."""
        content = self.memory()
        context: Mapping[str, Any] = {
            "name": "classify",
            "handler_memory": {"size": len(content), "data": str(_programs.kept(content))},
            "host_memory": {"size": host_bytes},
            "scratchpad_bytes": hot_bytes + 16,
        }
        elf = toolchain.build([PROGRAM], defines={"HOT_BYTES": hot_bytes}).elf
        return {"program": str(elf), "context": [context]}


def _packed_range(rule: Rule) -> bytes:
    lows, highs = zip(*rule.ranges, strict=True)
    return struct.pack("<10I", *lows, *highs)


def _packed_action(rule: Rule) -> bytes:
    port = _NUMBERS["KEEP_PORT"] if rule.port is None else int.from_bytes(rule.port.to_bytes(2, "big"), "little")
    return struct.pack("<I", port) + ipaddress.IPv4Address(rule.address).packed + rule.mac + bytes(2)


def _tree(all_rules: Sequence[Rule], leaf_rules: int, max_bytes: int) -> _Tree | None:
    """The tree, level by level, so that numbers grow with depth; None if it needs more than `max_bytes`."""
    boxes = [rule.ranges for rule in all_rules]
    numbers = [i | _ACTIONS[rule.action] << _NUMBERS["ACTION_SHIFT"] for i, rule in enumerate(all_rules)]
    nodes: list[tuple[int, int]] = [(0, 0)]
    entries: list[int] = []
    kept: dict[tuple[int, ...], int] = {}
    depth = 0
    queue: list[tuple[int, int, Box, list[int]]] = [(0, 0, ALL, list(range(len(boxes))))]
    for at, level, region, given in queue:  # the loop appends to this queue
        depth = max(depth, level)
        rules = _first(boxes, given, region)
        split = _split(boxes, rules, region) if len(rules) > leaf_rules else None
        if split is None:
            nodes[at] = (numbers[rules[0]], _LEAF)
            if len(rules) > 1:
                lines = tuple(numbers[rule] | (_COVERS if _covers(boxes[rule], region) else 0) for rule in rules)
                if lines not in kept:
                    kept[lines] = len(entries)
                    entries += lines
                nodes[at] = (kept[lines], _LIST)
            continue
        if _NODE_BYTES * len(nodes) + 4 * len(entries) > max_bytes:
            return None
        field, value = split
        nodes[at] = (value, _NODE_BYTES * len(nodes) + field)
        low, high = region[field]
        sides = ((low, value), (value + 1, high))
        for number, side in enumerate(sides):
            own = (*region[:field], side, *region[field + 1 :])
            inside = [rule for rule in rules if boxes[rule][field][0] <= side[1] and boxes[rule][field][1] >= side[0]]
            queue.append((len(nodes) + number, level + 1, own, inside))
        nodes += [(0, 0), (0, 0)]
    return _Tree(nodes, entries, depth) if _NODE_BYTES * len(nodes) + 4 * len(entries) <= max_bytes else None


def _covers(box: Box, region: Box) -> bool:
    return all(a[0] <= b[0] and a[1] >= b[1] for a, b in zip(box, region, strict=True))


def _first(boxes: Sequence[Box], rules: list[int], region: Box) -> list[int]:
    """Rules up to the first one that covers the region; there is one, because the last rule covers all."""
    return rules[: next(i for i, rule in enumerate(rules) if _covers(boxes[rule], region)) + 1]


def _split(boxes: Sequence[Box], rules: list[int], region: Box) -> tuple[int, int] | None:
    """Field and value of the best split: few rules in both parts, nearly equal. None if all rules cover the region."""
    best: tuple[int, int, int] | None = None  # cost, field, value
    for field, (low, high) in enumerate(region):
        firsts = sorted(boxes[rule][field][0] for rule in rules)
        lasts = sorted(boxes[rule][field][1] for rule in rules)
        values = {first - 1 for first in firsts if first > low} | {last for last in lasts if last < high}
        for value in sorted(values):
            left, right = bisect_right(firsts, value), len(rules) - bisect_right(lasts, value)
            cost = left * left + right * right
            if best is None or cost < best[0]:
                best = (cost, field, value)
    return None if best is None else best[1:]


def draw(n: int, *, seed: int) -> list[Rule]:
    """Random rules like those of access lists: prefixes of few networks, well-known ports, ranges, wildcards.

    Examples
    --------
    >>> [len(draw(n, seed=1)) for n in (3, 100)]
    [3, 100]
    """
    random = np.random.default_rng([seed, n])
    networks = random.integers(0, 1 << 32, max(4, n // 16))
    services = [22, 25, 53, 80, 123, 443, 8080, 11211, *random.integers(1024, 65536, 8).tolist()]

    def addresses(lengths: Sequence[int]) -> Range:
        bits = 32 - int(random.choice(lengths))
        within = int(random.choice(networks)) ^ int(random.integers(0, 1 << 16))
        return within >> bits << bits, (within >> bits << bits) + (1 << bits) - 1

    def ports() -> Range:
        kind = random.random()
        if kind < 0.5:
            port = int(random.choice(services))
            return port, port
        first = int(random.integers(0, 60_000))
        return (
            ALL[3] if kind < 0.7 else (1024, 65535) if kind < 0.85 else (first, first + int(random.integers(1, 5000)))
        )

    made: dict[Box, Rule] = {}
    while len(made) < n:
        protocol = int(random.choice([6, 6, 6, 17, 17, 1]))
        target_ports = ports() if protocol != 1 else ALL[3]
        source_ports = ALL[2] if protocol == 1 or random.random() < 0.9 else (1024, 65535)
        source, target = addresses([0, 0, 8, 16, 24, 32]), addresses([16, 24, 24, 32, 32])
        box = (source, target, source_ports, target_ports, (protocol, protocol))
        action = str(random.choice(texts.ACTIONS))
        made.setdefault(box, Rule(name=f"r{len(made)}", action=action, ranges=box, address="10.0.0.1"))
    return list(made.values())


def packets(rules: Sequence[Rule], n: int, *, seed: int, payload: int = 18) -> list[bytes]:
    """Random frames of which most match one of the rules, at or near the ends of its ranges. TCP has no checksum."""
    from spinet import _frames

    random = np.random.default_rng([seed, n])
    made: list[bytes] = []
    while len(made) < n:
        rule = rules[int(random.integers(0, len(rules)))]
        values = []
        for (low, high), (_, most) in zip(rule.ranges, ALL, strict=True):
            end = int(random.choice([low, high, int(random.integers(low, high + 1))]))
            values.append(min(most, max(0, end + int(random.choice([0] * 18 + [-1, 1])))))
        source, target, source_port, target_port, protocol = values
        addresses = {"source": source.to_bytes(4, "big"), "target": target.to_bytes(4, "big")}
        if protocol == PROTOCOLS["udp"]:
            made.append(_frames.udp(bytes(payload), **addresses, ports=(source_port, target_port)))
        else:
            tcp = struct.pack("!HHIIBBHHH", source_port, target_port, 1, 2, 5 << 4, 0x10, 1024, 0, 0)
            carried = tcp + bytes(payload) if protocol == PROTOCOLS["tcp"] else bytes(8 + payload)
            made.append(_frames.ipv4(protocol, carried, **addresses))
    return made
