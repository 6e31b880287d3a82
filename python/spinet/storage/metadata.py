# SPDX-License-Identifier: Apache-2.0
"""Capabilities: the metadata service signs them, and storage nodes check them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from spinet import _core
from spinet._core import UsageError
from spinet.storage import wire

RIGHTS = {"read": wire.constant("MAY_READ"), "write": wire.constant("MAY_WRITE")}
NEVER = 0xFFFF_FFFF

_MASK = 0xFFFF_FFFF
_KEY_BYTES = 8


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> (32 - bits)) & _MASK


def _round(v: list[int]) -> None:
    a, b, c, d = v
    a = (a + b) & _MASK
    b = _rotate(b, 5) ^ a
    a = _rotate(a, 16)
    c = (c + d) & _MASK
    d = _rotate(d, 8) ^ c
    a = (a + d) & _MASK
    d = _rotate(d, 7) ^ a
    c = (c + b) & _MASK
    b = _rotate(b, 13) ^ c
    v[:] = a, b, _rotate(c, 16), d


def tag(key: bytes, data: bytes) -> bytes:
    """HalfSipHash-2-4 with a key and a tag of 8 bytes, for data whose length is a multiple of 4.

    Examples
    --------
    The published test vector for 24 bytes:

    >>> tag(bytes(range(8)), bytes(range(24))).hex()
    '70741045ae3fa6f1'
    """
    low, high = struct.unpack("<II", key)
    v = [low, high ^ 0xEE, 0x6C796765 ^ low, 0x74656462 ^ high]
    words = struct.unpack(f"<{len(data) // 4}I", data)
    for word in (*words, len(data) << 24 & _MASK):
        v[3] ^= word
        _round(v)
        _round(v)
        v[0] ^= word
    v[2] ^= 0xEE
    halves = []
    for _ in range(2):
        for _ in range(4):
            _round(v)
        halves.append(v[1] ^ v[3])
        v[1] ^= 0xDD
    return struct.pack("<II", *halves)


@dataclass(frozen=True, kw_only=True)
class Metadata:
    """The metadata service. It shares a key with the storage nodes.

    Attributes
    ----------
    key
        8 bytes.
    """

    key: bytes = b"spinet-8"

    def __post_init__(self) -> None:
        if len(_core.buffer("key", self.key)) != _KEY_BYTES:
            raise UsageError(f"the key has {len(self.key)} bytes, must be {_KEY_BYTES}")

    def grant(
        self,
        client: str,
        *,
        begin: int = 0,
        n_bytes: int = 1 << 30,
        rights: tuple[str, ...] = ("read", "write"),
        expires: int = NEVER,
        object: int = 0,
    ) -> bytes:
        """A capability of a client for a range of addresses.

        Parameters
        ----------
        expires
            Time of expiry in ticks of 2^20 cycles since the nodes' reset, about 1 ms each at 1 GHz.
        """
        unknown = [right for right in rights if right not in RIGHTS]
        if unknown:
            raise UsageError(f"rights has {unknown[0]!r}, must be some of {', '.join(RIGHTS)}")
        for name, value in (("begin", begin), ("n_bytes", n_bytes), ("expires", expires), ("object", object)):
            _core.whole(name, value)
        mask = sum(RIGHTS[right] for right in rights)
        signed = wire.address(client) + struct.pack("<IIIII", object, begin, n_bytes, mask, expires)
        return signed + tag(self.key, signed)
