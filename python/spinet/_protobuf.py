# SPDX-License-Identifier: Apache-2.0
"""A profile as a message of pprof's profile.proto. Encoded here, because it needs only two of the format's four wire
types.

Source: github.com/google/pprof, proto/profile.proto.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spinet.profile import Frame, Profile


def varint(number: int) -> bytes:
    """A variable-length number: seven bits per byte, lowest first."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def whole(tag: int, number: int) -> bytes:
    """A field with a number."""
    return varint(tag << 3) + varint(number) if number else b""


def block(tag: int, content: bytes) -> bytes:
    """A field with bytes: a text, a message, or packed numbers."""
    return varint(tag << 3 | 2) + varint(len(content)) + content


class _Names:
    """The table of texts; the first is empty."""

    def __init__(self) -> None:
        self.numbers = {"": 0}

    def number(self, text: str) -> int:
        return self.numbers.setdefault(text, len(self.numbers))


def profile(profile: Profile) -> bytes:
    """The message, with two values a sample: cycles and instructions. A sample is an instruction and a cause."""
    names = _Names()
    kinds = [("cycles", "cycles"), ("instructions", "count")]
    types = [whole(1, names.number(name)) + whole(2, names.number(unit)) for name, unit in kinds]
    cause_label = names.number("cause")
    functions: dict[tuple[str, str], int] = {}

    def function(frame: Frame) -> int:
        return functions.setdefault((frame.function, frame.file), len(functions) + 1)

    samples, locations = [], []
    for number, one in enumerate(profile.instructions, start=1):
        # Lines of a location come innermost first.
        lines = (whole(1, function(frame)) + whole(2, frame.line) for frame in reversed(one.frames))
        address = whole(3, one.address)
        locations.append(whole(1, number) + address + b"".join(block(4, line) for line in lines))
        for cause, cycles in (("executing", one.cost.executed), *one.cost.lost.items()):
            values = varint(cycles) + varint(one.cost.executed if cause == "executing" else 0)
            label = whole(1, cause_label) + whole(2, names.number(cause))
            samples.append(block(1, varint(number)) + block(2, values) + block(3, label))
    made = [
        whole(1, number) + whole(2, names.number(name)) + whole(3, names.number(name)) + whole(4, names.number(file))
        for (name, file), number in functions.items()
    ]
    parts = ((1, types), (2, samples), (4, locations), (5, made), (6, [name.encode() for name in names.numbers]))
    return b"".join(block(tag, content) for tag, contents in parts for content in contents)
