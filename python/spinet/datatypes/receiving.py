# SPDX-License-Identifier: Apache-2.0
"""Messages of a datatype through a simulated PsPIN card: packets, host memory, and the comparison with `unpack`."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from spinet import _core, _frames, _programs, api, ndr
from spinet._core import UsageError
from spinet.datatypes.compiled import HEADERS, N_CLUSTERS, N_CORES, Compiled, _up, compile
from spinet.datatypes.packing import Bytes, unpack
from spinet.datatypes.types import Datatype, typed, whole
from spinet.result import Result

PLACED = "by flow from udp.payload[0:1] in {1, 3} until udp.payload[0:1] in {2, 3}"
"""Definition of messages by the places that their packets carry, for networks."""

_PORT = 10_000  # source port of slot 0; the destination port is 9999
SENDER, RECEIVER = "10.0.0.1", "10.0.0.2"
_LARGE_PAGE = 2 << 20  # page size of the IOMMU: an entry of its cache covers more memory than with pages of 4 KiB


@dataclass(frozen=True, kw_only=True)
class Completion:
    """The record that a completion handler writes at the end of a message.

    Attributes
    ----------
    received
        Bytes that handlers processed; repeated packets count again.
    size
        Bytes of the message.
    status
        1: done, each byte arrived once. 2: the description does not fit the context's memory. 3: bytes are missing, or
        arrived more than once. 0: nothing was written.
    slot
        Number of the posted receive.
    """

    received: int
    size: int
    status: int
    slot: int

    @property
    def is_whole(self) -> bool:
        """True if all bytes arrived, each once."""
        return self.status == 1


@dataclass(frozen=True, kw_only=True)
class _Moved:
    """Messages that a card received or sent."""

    compiled: Compiled
    result: Result = field(repr=False)
    messages: tuple[bytes, ...] = field(repr=False)
    completions: tuple[Completion, ...]

    @cached_property
    def ns(self) -> float:
        """Time in ns from the arrival of the first packet until the card is done with the last one.

        Then a received message is completely in host memory, and a sent one has left.
        """
        columns = self.result.columns
        return float(columns["done_ps"].max() - columns["arrival_ps"].min()) / 1000

    @property
    def gbps(self) -> float:
        """Bytes of messages over `ns`, in Gbit/s."""
        return sum(map(len, self.messages)) * 8 / self.ns


@dataclass(frozen=True, kw_only=True)
class Received(_Moved):
    """Result of `receive`.

    Attributes
    ----------
    compiled
        The compiled type.
    result
        Result of the run.
    messages
        The bytes that were sent, by slot.
    memory
        Host memory after the run, an array of bytes of shape ``(slots, slot_bytes)``.
    expected
        Host memory after `unpack` of the same messages.
    completions
        One for each slot.
    """

    memory: Bytes = field(repr=False)
    expected: Bytes = field(repr=False)

    @property
    def is_exact(self) -> bool:
        """True if every byte of host memory is as after `unpack`, also in the gaps."""
        return bool((self.memory == self.expected).all())

    @property
    def handler_cycles(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Cycles of each payload handler, in the order in which packets were done."""
        return np.asarray(self.result.columns["cycles"], np.int64)


def packets(
    compiled: Compiled,
    messages: Sequence[bytes],
    *,
    first_slot: int = 0,
    sender: str = SENDER,
    receiver: str = RECEIVER,
    under_way: int = 1,
    window: int = 0,
    seed: int = 1,
) -> list[bytes]:
    """Ethernet frames that carry messages; the first message is for the first slot, and so on.

    Parameters
    ----------
    first_slot
        Slot of the first message.
    sender, receiver
        IPv4 addresses.
    under_way
        Number of messages that are sent at a time. Their packets take turns.
    window
        Reorder packets at random, by at most this number of places. 0 keeps the order. The first and the last packet of
        a message keep their places.
    seed
        Seed of the random order.

    Examples
    --------
    >>> from spinet import datatypes
    >>> made = datatypes.compile(datatypes.vector(64, 4, 9, datatypes.DOUBLE), payload=512)
    >>> [len(frame) for frame in packets(made, [bytes(2048)])]
    [564, 564, 564, 564]
    """
    whole("under_way", under_way, least=1)
    whole("window", window, least=0)
    whole("first_slot", first_slot, least=0, most=compiled.slots - 1)
    if len(messages) > compiled.slots - first_slot:
        raise UsageError(
            f"there are {len(messages)} messages from slot {first_slot} on, the type was compiled for "
            f"{compiled.slots} slots"
        )
    addresses = {name: _core.ipv4(ip, what=name) for name, ip in (("source", sender), ("target", receiver))}
    rng = np.random.default_rng(seed)
    rows = []
    for slot, message in enumerate(messages):
        if len(message) != compiled.size:
            raise UsageError(f"messages[{slot}] has {len(message)} bytes, must be {compiled.size}")
        places = np.arange(0, compiled.size, compiled.payload)
        if window:
            inner = places[1:-1]
            places[1:-1] = inner[np.argsort(np.arange(len(inner)) + rng.uniform(0, window, len(inner)))]
        rows.append(
            [
                frame_of(first_slot + slot, int(at), message[at : at + compiled.payload], compiled.size, **addresses)
                for at in places
            ]
        )
    out: list[bytes] = []
    for first in range(0, len(rows), under_way):
        group = rows[first : first + under_way]
        for turn in range(max(map(len, group))):
            out += [row[turn] for row in group if turn < len(row)]
    return out


def frame_of(slot: int, at: int, part: bytes, size: int, *, source: bytes, target: bytes) -> bytes:
    """The frame with a part of a message of `size` bytes."""
    data = HEADER.pack(place(at, len(part), size), at, slot) + part
    return _frames.padded(_frames.udp(data, source=source, target=target, ports=(_PORT + slot, 9999)))


HEADER = struct.Struct("<BxII")
"""Place in the message, and an unused byte, which puts the numbers at a multiple of 4; offset; slot."""


def place(at: int, n_bytes: int, size: int) -> int:
    """The place of a packet: 1 for the first of a message, 2 for the last, 3 if there is one, 0 between."""
    return (1 if at == 0 else 0) | (2 if at + n_bytes >= size else 0)


def receive(
    datatype: Datatype,
    count: int = 1,
    *,
    strategy: str = "auto",
    messages: int | Sequence[bytes] = 1,
    payload: int = 2048,
    interval: int | None = None,
    compiled: Compiled | None = None,
    under_way: int = 1,
    window: int = 0,
    seed: int = 1,
    rate: str = "400G",
    nic: str = "pspin",
    **options: Any,
) -> Received:
    """Send messages of `count` elements to a PsPIN card whose handlers write them to host memory.

    Parameters
    ----------
    datatype, count, strategy, payload, interval
        As in `compile`.
    messages
        Number of messages with random content, or the content of each message. Each message goes to its own slot.
    compiled
        The result of an earlier `compile` of this type. Default: compile it now.
    under_way, window
        As in `packets`.
    seed
        Seed of the content, of the order of packets, and of the run.
    rate
        Line rate, at which packets arrive back to back.
    nic
        The card, which must have 4 clusters of 8 cores.
    options
        Further keywords of `spinet.run`: ``faults``, ``profile``, ``check``, ``set``, ...

    Raises
    ------
    UsageError
        If the type names a byte twice, which MPI forbids for receives (MPI 4.0, 5.1), or `compile` refuses it.

    Examples
    --------
    >>> from spinet import datatypes
    >>> column = datatypes.vector(256, 1, 64, datatypes.DOUBLE)
    >>> got = receive(column, strategy="vector", payload=512)
    >>> got.is_exact, got.completions[0].is_whole
    (True, True)
    """
    check_receive(datatype, count)
    given: object = messages
    if not isinstance(given, Sequence) or isinstance(given, (str, bytes)):
        messages = whole("messages", given, least=1, most=256)
    n = messages if isinstance(messages, int) else len(messages)
    whole("messages", n, least=1, most=256)
    if compiled is None:
        compiled = compile(
            datatype, count, strategy=strategy, payload=payload, interval=interval, slots=n, rate=ndr.rate(rate) * 1e9
        )
    if isinstance(messages, int):
        # The content has no zeros, so a byte that was not written always differs from the expected one.
        rng = np.random.default_rng(whole("seed", seed, least=0, most=(1 << 64) - 1))
        content = tuple(rng.integers(1, 256, compiled.size, np.uint8).tobytes() for _ in range(n))
    else:
        content = tuple(_core.buffer(f"messages[{at}]", message) for at, message in enumerate(messages))
    frames = packets(compiled, content, under_way=under_way, window=window, seed=seed)
    result = api.run(experiment_of(compiled), nic=nic, traffic=frames, pacing=f"line:{rate}", seed=seed, **options)
    host = result.summary["contexts"][0]["host_memory"]["addr"]
    expected = np.zeros((compiled.slots, compiled.slot_bytes), np.uint8)
    for slot, message in enumerate(content):
        unpack(datatype, message, expected[slot], count, origin=compiled.origin)
    memory = result.host_view(host, compiled.host_bytes)
    end = compiled.slots * compiled.slot_bytes
    return Received(
        compiled=compiled,
        result=result,
        messages=content,
        memory=memory[:end].reshape(compiled.slots, compiled.slot_bytes),
        expected=expected,
        completions=completions(compiled, memory.tobytes()),
    )


def completions(compiled: Compiled, memory: bytes) -> tuple[Completion, ...]:
    """The completions of all slots, from the host memory of a context."""
    return tuple(
        Completion(received=received, size=size, status=status, slot=slot)
        for received, size, status, slot in struct.iter_unpack(
            "<4I", memory[compiled.completions : compiled.host_bytes]
        )
    )


def experiment_of(
    compiled: Compiled, *, host_bytes: int | None = None, message: str = "by flow last"
) -> Mapping[str, Any]:
    """The experiment that receives a compiled type, for `spinet.run`: program, context and memory, without traffic.

    Parameters
    ----------
    host_bytes
        Size of the context's host memory. Default: room for all slots.
    message
        Definition of a message. A network needs `PLACED`, because nobody knows which packet of a flow is the last.
    """
    memory = _programs.kept(compiled.handler_memory)
    return {
        "program": str(compiled.program),
        "context": [
            {
                "match": "ipv4.header_words == 5 && udp.dst_port == 9999",
                "message": message,
                "handler_memory": str(memory),
                "host_memory": {"size": _up(compiled.host_bytes, _LARGE_PAGE) if host_bytes is None else host_bytes},
            }
        ],
    }


def check_receive(datatype: Datatype, count: int) -> None:
    """Refuse types that name a byte twice.

    Raises
    ------
    UsageError
        If a byte is named twice; the text has its offset.
    """
    offsets, lengths = typed(datatype, "the type").pieces(count)
    order = np.argsort(offsets, kind="stable")
    ends = (offsets + lengths)[order]
    starts = offsets[order]
    if len(starts) > 1:
        again = np.flatnonzero(starts[1:] < np.maximum.accumulate(ends)[:-1])
        if len(again):
            raise UsageError(
                f"{count} of {datatype.name} name byte {int(starts[1:][again[0]])} twice, not allowed in a receive",
                hint="`pack` accepts such types",
            )


def line_rate_cycles(compiled: Compiled, rate: float = 400e9) -> float:
    """Most cycles of a payload handler with which 32 cores at 1 GHz sustain a line rate."""
    return (compiled.payload + HEADERS + 24) * 8 / rate * 1e9 * N_CORES * N_CLUSTERS
