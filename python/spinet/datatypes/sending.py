# SPDX-License-Identifier: Apache-2.0
"""Messages of a datatype that a simulated PsPIN card gathers from host memory, and the comparison with `pack`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from spinet import _core, _frames, _programs, api, ndr
from spinet._core import UsageError
from spinet.datatypes.compiled import HEADERS, LINE_BYTES, Compiled, _up, compile
from spinet.datatypes.packing import Bytes, pack
from spinet.datatypes.receiving import (
    _LARGE_PAGE,
    _PORT,
    HEADER,
    PLACED,
    RECEIVER,
    SENDER,
    _Moved,
    completions,
    frame_of,
    place,
)
from spinet.datatypes.types import Datatype, whole

ORDER_PORT = 9998

_ORDER = struct.Struct("<BxII4sI")
_DATA_AT = 42


@dataclass(frozen=True, kw_only=True)
class Sent(_Moved):
    """Result of `send`.

    Attributes
    ----------
    compiled
        The compiled type.
    result
        Result of the run.
    messages
        The bytes that the card sent, by slot. Bytes that were not sent are 0.
    expected
        `pack` of each slot.
    completions
        One for each slot; `received` counts the bytes that handlers sent.
    """

    expected: tuple[bytes, ...] = field(repr=False)

    @property
    def is_exact(self) -> bool:
        """True if the card sent each byte of `expected` once and nothing else."""
        return self.messages == self.expected and len(self.result.sent) == len(self.messages) * self.compiled.packets

    @property
    def handler_cycles(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Cycles of each payload handler that made a packet, in the order in which they were done."""
        cycles = np.asarray(self.result.columns["cycles"], np.int64)
        return cycles[np.asarray(self.result.columns["sent_packets"]) > 0]


def orders(
    compiled: Compiled, *, sender: str = SENDER, receiver: str = RECEIVER, slot: int = 0, to_slot: int = 0
) -> list[bytes]:
    """Ethernet frames that order a card to send the message in a slot, one for each packet.

    Parameters
    ----------
    sender, receiver
        IPv4 addresses of the card that gets the orders, and of the one that gets the message.
    slot, to_slot
        Slots of the sender and of the receiver.

    Examples
    --------
    >>> from spinet import datatypes
    >>> made = datatypes.compile(datatypes.vector(64, 4, 9, datatypes.DOUBLE), payload=512, send=True)
    >>> [len(frame) for frame in orders(made)]
    [60, 60, 60, 60]
    """
    whole("slot", slot, least=0, most=compiled.slots - 1)
    own, peer = _core.ipv4(sender, what="sender"), _core.ipv4(receiver, what="receiver")
    made = []
    for at in range(0, compiled.size, compiled.payload):
        data = _ORDER.pack(place(at, compiled.payload, compiled.size), at, slot, peer, to_slot)
        # The port tells the messages of a sender apart, because slots of different receivers can have the same number.
        port = _PORT + slot
        made.append(_frames.padded(_frames.udp(data, source=own, target=own, ports=(port, ORDER_PORT))))
    return made


def sending(compiled: Compiled, memory: bytes | None = None) -> Mapping[str, Any]:
    """The experiment that sends a compiled type, for `spinet.run`: program, context and memory, without orders.

    Parameters
    ----------
    memory
        Initial host memory. Default: zeros.
    """
    host: dict[str, Any] = {"size": _up(compiled.host_bytes, _LARGE_PAGE)}
    if memory is not None:
        host["data"] = str(_programs.kept(memory))
    return {
        "program": str(compiled.program),
        "context": [
            {
                "match": f"ipv4.header_words == 5 && udp.dst_port == {ORDER_PORT}",
                "message": PLACED,
                "handler_memory": str(_programs.kept(compiled.handler_memory)),
                "host_memory": host,
            }
        ],
    }


def send(
    datatype: Datatype,
    count: int = 1,
    *,
    strategy: str = "auto",
    messages: int = 1,
    payload: int = 1024,
    interval: int | None = None,
    compiled: Compiled | None = None,
    seed: int = 1,
    rate: str = "400G",
    nic: str = "pspin",
    **options: Any,
) -> Sent:
    """Let a PsPIN card gather messages of `count` elements from host memory and send them.

    Parameters
    ----------
    datatype, count, strategy, payload, interval
        As in `compile`.
    messages
        Number of messages, each from its own slot with random content, to the slot with the same number. Their orders
        take turns.
    compiled
        The result of an earlier `compile` of this type with ``send=True``. Default: compile it now.
    seed
        Seed of the content and of the run.
    rate
        Line rate. Orders come as fast as their packets can leave.
    nic
        The card, which must have 4 clusters of 8 cores.
    options
        Further keywords of `spinet.run`.

    Examples
    --------
    >>> from spinet import datatypes
    >>> column = datatypes.vector(256, 1, 64, datatypes.DOUBLE)
    >>> got = send(column, payload=512)
    >>> got.is_exact, got.completions[0].is_whole
    (True, True)
    """
    n = whole("messages", messages, least=1, most=256)
    if compiled is None:
        compiled = compile(
            datatype, count, strategy=strategy, payload=payload, interval=interval, slots=n, send=True,
            rate=ndr.rate(rate) * 1e9,
        )  # fmt: skip
    if n > compiled.slots:
        raise UsageError(f"messages is {n}, but the type was compiled for {compiled.slots} slots")
    content = np.random.default_rng(whole("seed", seed, least=0, most=(1 << 64) - 1)).integers(
        1, 256, compiled.completions, np.uint8
    )
    rows = [orders(compiled, slot=slot, to_slot=slot) for slot in range(n)]
    frames = [frame for turn in zip(*rows, strict=True) for frame in turn]
    line = (
        ndr.rate(rate) * (len(frames[0]) + LINE_BYTES) / (min(compiled.payload, compiled.size) + HEADERS + LINE_BYTES)
    )
    pacing = f"line:{line:.6f}G"
    result = api.run(sending(compiled, content.tobytes()), nic=nic, traffic=frames, pacing=pacing, seed=seed, **options)
    expected = tuple(
        pack(datatype, content[slot * compiled.slot_bytes :], count, origin=compiled.origin).tobytes()
        for slot in range(n)
    )
    base = result.summary["contexts"][0]["host_memory"]["addr"]
    memory: Bytes = result.host_view(base, compiled.host_bytes)
    return Sent(
        compiled=compiled,
        result=result,
        messages=_messages(compiled, [packet.data for packet in result.sent], n),
        expected=expected,
        completions=completions(compiled, memory.tobytes())[:n],
    )


def _messages(compiled: Compiled, frames: Sequence[bytes], n: int) -> tuple[bytes, ...]:
    """The messages that packets carry. Their headers are compared with those that a host would have made."""
    made = [bytearray(compiled.size) for _ in range(n)]
    own, peer = _core.ipv4(SENDER), _core.ipv4(RECEIVER)
    for frame in frames:
        _, at, slot = HEADER.unpack_from(frame, _DATA_AT)
        part = frame[HEADERS : HEADERS + min(compiled.payload, compiled.size - at)]
        if slot >= n or _frames.padded(frame) != frame_of(slot, at, part, compiled.size, source=own, target=peer):
            raise UsageError(f"the card sent a packet with wrong headers: {frame[:HEADERS].hex()}")
        made[slot][at : at + len(part)] = part
    return tuple(bytes(message) for message in made)
