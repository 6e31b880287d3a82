# SPDX-License-Identifier: Apache-2.0
"""Rules for packets, as text: addresses, ports, protocol, action. docs/guides/classify.md describes the format."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spinet import _frames
from spinet._core import UsageError

Range = tuple[int, int]
"""Least and greatest value, both included."""

FIELDS = ("source address", "destination address", "source port", "destination port", "protocol")
ALL: tuple[Range, ...] = ((0, 0xFFFF_FFFF), (0, 0xFFFF_FFFF), (0, 0xFFFF), (0, 0xFFFF), (0, 0xFF))
"""All values of each field."""

PROTOCOLS = {"tcp": 6, "udp": 17, "icmp": 1}
ACTIONS = ("drop", "host", "forward")
DEFAULT = "default"
"""Name of the rule behind all others."""
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_MAC = re.compile(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}")
_KEYS = ("from", "to", "via", "priority")
_WORDS = (*_KEYS, "any", *PROTOCOLS)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: packets within all ranges get the action.

    Attributes
    ----------
    name
        Unique among the rules.
    action
        One of `ACTIONS`.
    ranges
        A range for each of `FIELDS`.
    priority
        Rules with a greater priority come first; among equal ones, those that stand first in the text.
    address, port, mac
        New destination of forwarded packets; port None keeps the port.
    """

    name: str
    action: str
    ranges: tuple[Range, ...] = ALL
    priority: int = 0
    address: str = "0.0.0.0"
    port: int | None = None
    mac: bytes = bytes(6)

    def matches(self, fields: tuple[int, ...]) -> bool:
        """True if all fields of a packet are within the ranges."""
        return all(low <= value <= high for value, (low, high) in zip(fields, self.ranges, strict=True))


def parse(text: str, *, name: str = "rules") -> list[Rule]:
    """Read rules; errors call the text `name`. The result is in the order in which rules are tried.

    Examples
    --------
    >>> rules = parse("web: forward 10.0.0.9:8080 tcp to 10.0.0.2:80\\nrest: drop from 10.1.0.0/16 priority 2")
    >>> [rule.name for rule in rules], rules[1].ranges[3]
    (['rest', 'web'], (80, 80))

    Raises
    ------
    UsageError
        If a line is not a rule: the text names the line, what it found, and what is allowed.
    """
    rules: dict[str, Rule] = {}
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].strip()
        if not content:
            continue
        rule = _Line(f"{name}:{number}", content).rule()
        if rule.name in rules:
            raise UsageError(f"{name}:{number}: two rules have the name `{rule.name}`")
        if rule.name == DEFAULT:
            raise UsageError(f"{name}:{number}: a rule has the name `{DEFAULT}`, which is the name of the last rule")
        rules[rule.name] = rule
    return sorted(rules.values(), key=lambda rule: -rule.priority)


def read(path: str | Path) -> list[Rule]:
    """Read a file of rules.

    Raises
    ------
    UsageError
        If the file cannot be read, or a line is not a rule.
    """
    try:
        return parse(Path(path).read_text(encoding="utf-8"), name=str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error


class _Line:
    """A line with a rule."""

    def __init__(self, place: str, content: str) -> None:
        self._place = place
        self._name, sign, rest = content.partition(":")
        self._words: Iterator[str] = iter(rest.split())
        if not sign or _NAME.fullmatch(self._name) is None:
            self._fail("a rule begins with a name and a colon", self._name, "letters, digits, `_`, `.` and `-`")

    def _fail(self, problem: str, found: str, allowed: str, *, known: Sequence[str] = ()) -> None:
        """Raise an error, with a hint if one of the `known` words is near."""
        near = difflib.get_close_matches(found, known, n=1)
        raise UsageError(
            f"{self._place}: {problem} (found `{found}`; allowed {allowed})",
            hint=f"did you mean {near[0]}?" if near else "",
        )

    def _next(self, what: str) -> str:
        word = next(self._words, None)
        if word is None:
            raise UsageError(f"{self._place}: the line ends, expected {what}")
        return word

    def rule(self) -> Rule:
        action = self._next(f"an action: {', '.join(ACTIONS)}")
        if action not in ACTIONS:
            self._fail("unknown action", action, ", ".join(ACTIONS), known=ACTIONS)
        address, port, mac = "0.0.0.0", None, bytes(6)
        if action == "forward":
            address, port = self._destination(self._next("an address"))
            mac = _frames.mac(ipaddress.IPv4Address(address).packed)
        ranges = list(ALL)
        priority = 0
        seen: set[str] = set()
        for word in self._words:
            kind = word if word in _KEYS else "protocol"
            if kind in seen:
                self._fail(f"{kind} comes twice", word, "one")
            seen.add(kind)
            if kind in ("from", "to"):
                side = ("from", "to").index(kind)
                ranges[side], ranges[2 + side] = self._end(self._next("an address"))
            elif kind == "priority":
                priority = self._number(self._next("a number"), "priority", 0xFFFF)
            elif kind == "via":
                mac = self._mac(self._next("a MAC address"), action)
            elif word != "any":
                number = PROTOCOLS.get(word)
                if number is None and not word.isdecimal():
                    allowed = f"{', '.join(_WORDS)} or a protocol from 0 to 255"
                    self._fail("unknown word", word, allowed, known=_WORDS)
                number = self._number(word, "protocol", 255) if number is None else number
                ranges[4] = (number, number)
        has_ports = port is not None or ranges[2] != ALL[2] or ranges[3] != ALL[3]
        if has_ports and ranges[4][0] not in (PROTOCOLS["tcp"], PROTOCOLS["udp"]):
            self._fail("only tcp and udp have ports", " ".join(seen & {"protocol"}) or "no protocol", "tcp, udp")
        return Rule(
            name=self._name,
            action=action,
            ranges=tuple(ranges),
            priority=priority,
            address=address,
            port=port,
            mac=mac,
        )

    def _number(self, text: str, what: str, most: int) -> int:
        if not text.isdecimal() or int(text) > most:
            self._fail(f"{what} is not a number in range", text, f"0 to {most}")
        return int(text)

    def _mac(self, text: str, action: str) -> bytes:
        if action != "forward":
            self._fail("`via` is for forwarded packets", action, "forward")
        if _MAC.fullmatch(text) is None:
            self._fail("no MAC address", text, "six bytes such as 02:00:0a:00:00:01")
        return bytes.fromhex(text.replace(":", ""))

    def _destination(self, text: str) -> tuple[str, int | None]:
        address, sign, port = text.partition(":")
        try:
            shown = str(ipaddress.IPv4Address(address))
        except ipaddress.AddressValueError:
            shown = ""
            self._fail("no IPv4 address", address, "an address such as 10.0.0.1, or 10.0.0.1:80")
        return shown, self._number(port, "port", 0xFFFF) if sign else None

    def _end(self, text: str) -> tuple[Range, Range]:
        """Ranges of addresses and of ports."""
        address, sign, ports = text.partition(":")
        addresses = ALL[0]
        if address != "any":
            try:
                network = ipaddress.IPv4Network(address)
                addresses = int(network.network_address), int(network.broadcast_address)
            except ValueError as error:
                self._fail(
                    f"no IPv4 prefix: {error}",
                    address,
                    "any, an address, or a prefix such as 10.0.0.0/8 without host bits",
                )
        if not sign or ports == "any":
            return addresses, ALL[2]
        low, dash, high = ports.partition("-")
        first = self._number(low, "port", 0xFFFF)
        last = self._number(high, "port", 0xFFFF) if dash else first
        if first > last:
            self._fail("a range of ports is empty", ports, "the smaller port first")
        return addresses, (first, last)
