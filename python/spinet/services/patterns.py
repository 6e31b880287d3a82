# SPDX-License-Identifier: Apache-2.0
"""Automata for multi-pattern matching: `sdk/services/patterns.c`."""

from __future__ import annotations

import re
import struct
from collections import deque
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from spinet import _c_numbers, _core
from spinet._core import UsageError

PROGRAM = Path(__file__).resolve().parents[1] / "sdk" / "services" / "patterns.c"
_NUMBERS = _c_numbers.defined(PROGRAM)
MAX_PATTERNS = _NUMBERS["MAX_PATTERNS"]
MAX_STATES = _NUMBERS["ENDS"] - 1
_COUNTERS_AT = _NUMBERS["HEADER_BYTES"] + 256
_NO_STATE = 0xFFFF


class Patterns:
    """An automaton that finds all occurrences of several byte strings (Aho and Corasick, 1975).

    Parameters
    ----------
    patterns
        1 to 256 byte strings.

    Examples
    --------
    >>> patterns = Patterns([b"he", b"she", b"hers"])
    >>> patterns.states, patterns.count(b"ushers")
    (8, [1, 1, 1])
    """

    def __init__(self, patterns: Sequence[bytes]) -> None:
        given: object = patterns
        if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
            raise UsageError(f"patterns is {given!r}, must be a list of byte strings")
        self.patterns = [_core.buffer("a pattern", pattern) for pattern in patterns]
        if not 1 <= len(self.patterns) <= MAX_PATTERNS:
            raise UsageError(f"{len(self.patterns)} patterns, must be 1 to {MAX_PATTERNS}")
        if not all(self.patterns):
            raise UsageError("a pattern is empty, must have 1 byte or more")
        if len(set(self.patterns)) < len(self.patterns):
            twice = next(one for one in self.patterns if self.patterns.count(one) > 1)
            raise UsageError(f"pattern {twice!r} comes twice")
        self._build()

    def _build(self) -> None:
        used = sorted({byte for pattern in self.patterns for byte in pattern})
        self._class_of = np.zeros(256, "u1")  # class 0: bytes that occur in no pattern
        # If all 256 bytes occur in patterns, class 0 is an ordinary class.
        self._class_of[used] = np.arange(256) if len(used) == 256 else np.arange(1, len(used) + 1)
        classes = int(self._class_of.max()) + 1
        # The tree of all patterns, level by level, so that numbers grow with depth.
        tree: list[dict[int, int]] = [{}]
        ends: dict[int, int] = {}
        level = dict.fromkeys(range(len(self.patterns)), 0)
        depth = 0
        while level:
            below: dict[int, int] = {}
            for number, state in level.items():
                byte = int(self._class_of[self.patterns[number][depth]])
                if byte not in tree[state]:
                    tree[state][byte] = len(tree)
                    tree.append({})
                child = tree[state][byte]
                if len(self.patterns[number]) == depth + 1:
                    ends[child] = number
                else:
                    below[number] = child
            level, depth = below, depth + 1
        if len(tree) > MAX_STATES:
            raise UsageError(f"the patterns need {len(tree)} states, must be at most {MAX_STATES}")
        rows = np.zeros((len(tree), classes), "<u2")
        suffix = [0] * len(tree)
        link = [_NO_STATE] * len(tree)
        queue = deque([0])
        while queue:
            state = queue.popleft()
            fall = rows[suffix[state]].copy() if state else np.zeros(classes, "<u2")
            for byte, child in tree[state].items():
                suffix[child] = int(fall[byte]) if state else 0
                queue.append(child)
                fall[byte] = child
            rows[state] = fall
            if state:
                behind = suffix[state]
                link[state] = behind if behind in ends else link[behind]
        # If a state is not the end of a pattern, but suffixes of it are, the longest of these ends there.
        longest = [state if state in ends else link[state] for state in range(len(tree))]
        self._longest = np.array([ends.get(state, 0) for state in longest], "<u2")
        # The next shorter pattern that ends where a pattern ends, for all patterns, longer ones first.
        in_turn = sorted(ends, key=lambda state: -len(self.patterns[ends[state]]))
        self._shorter = [(ends[state], ends[link[state]]) for state in in_turn if link[state] != _NO_STATE]
        is_end = np.array([state != _NO_STATE for state in longest])
        self._rows = rows | np.where(is_end[rows], _NUMBERS["ENDS"], 0).astype("<u2")

    @property
    def states(self) -> int:
        """Number of states."""
        return len(self._rows)

    def memory(self) -> bytes:
        """Contents of the handler memory, with all counters at zero."""
        rows = self._rows.tobytes()
        rows += bytes(-len(rows) % 4)
        head = struct.pack("<HHI8x", self.states, self._rows.shape[1], len(rows))
        memory: bytes = head + self._class_of.tobytes() + bytes(4 * MAX_PATTERNS) + rows + self._longest.tobytes()
        return memory

    def counts(self, memory: bytes) -> list[int]:
        """Occurrences of each pattern, from a card's handler memory."""
        counts = list(struct.unpack_from(f"<{len(self.patterns)}I", memory, _COUNTERS_AT))
        for pattern, shorter in self._shorter:
            counts[shorter] += counts[pattern]
        return counts

    def count(self, data: bytes) -> list[int]:
        """Occurrences of each pattern in `data`, including overlapping ones, by plain search."""
        return [len(re.findall(b"(?=" + re.escape(pattern) + b")", data, re.DOTALL)) for pattern in self.patterns]
