# SPDX-License-Identifier: Apache-2.0
"""A key-value store on a card: `sdk/services/kv.c`."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from spinet import _core
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import client, wire
from spinet.services.client import Answer, Steps
from spinet.services.wire import WINDOW

_NUMBERS = wire.numbers("kv.c")
PORT = _NUMBERS["KV_PORT"]
KEY_BYTES = _NUMBERS["KV_KEY_BYTES"]
VALUE_BYTES = _NUMBERS["KV_VALUE_BYTES"]
GET, PUT = _NUMBERS["KV_GET"], _NUMBERS["KV_PUT"]
STATUS = {_NUMBERS[f"KV_{name.upper()}"]: name for name in ("ok", "miss", "full", "malformed")} | wire.DENIED
EVENTS = ("refused", "duplicates")
_ROW_BYTES = 64
_MEMORY_BYTES = 1 << 20  # source: docs/reference/experiment.md: the last quarter of L2 handler memory


@dataclass(frozen=True, kw_only=True)
class KeyValue:
    """A key-value store on the card of a network's node.

    Attributes
    ----------
    capacity
        Most keys.
    buckets
        Number of chains of keys, a power of 2. Default: the power of 2 from `capacity` on.
    clients
        Number of clients.
    values
        Where values are: ``"host"`` or ``"card"``, in the card's L2.
    access_key
        Key of 32 bits that requests need, as an rkey of RDMA; 0: none. Those without it get the status ``denied``.

    Examples
    --------
    >>> KeyValue(capacity=1000).chains
    1024
    """

    capacity: int = 1024
    buckets: int | None = None
    clients: int = 16
    values: str = "host"
    access_key: int = 0

    def __post_init__(self) -> None:
        """Refuse stores that no card can have."""
        wire.check_access_key(self.access_key)
        for name in ("capacity", "clients"):
            _core.whole(name, getattr(self, name))
        if self.buckets is not None:
            _core.whole("buckets", self.buckets)
        if self.values not in ("host", "card"):
            raise UsageError(f"values is {self.values!r}, must be one of host, card")
        if not 1 <= self.clients <= 0x10000:
            raise UsageError(f"clients is {self.clients}, must be 1 to 65536")
        if self.capacity < 1:
            raise UsageError(f"capacity is {self.capacity}, must be 1 or more")
        if self.chains < 1 or self.chains & (self.chains - 1):
            raise UsageError(f"buckets is {self.chains}, must be a power of 2")
        if self.memory_bytes > _MEMORY_BYTES:
            raise UsageError(
                f"the store needs {self.memory_bytes} bytes of handler memory, must be at most {_MEMORY_BYTES}",
                hint="fewer keys, buckets or clients, or values='host'",
            )

    @property
    def chains(self) -> int:
        """Number of buckets."""
        return 1 << (self.capacity - 1).bit_length() if self.buckets is None else self.buckets

    @property
    def memory_bytes(self) -> int:
        """Bytes of handler memory: `kv_t`."""
        buckets = -(-self.chains // 16) * 64
        values = self.capacity * VALUE_BYTES if self.values == "card" else 0
        head = 64 + 4 * _NUMBERS["KV_LOCKS"] + self.clients * WINDOW * 4
        return head + buckets + self.capacity * _ROW_BYTES + values

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        made: dict[str, str | int] = {
            "KV_BUCKETS": self.chains,
            "KV_CAPACITY": self.capacity,
            "KV_CLIENTS": self.clients,
            "KV_MEMORY_BYTES": self.memory_bytes,
        }
        return wire.with_access_key(made | ({"KV_VALUES_ON_CARD": 1} if self.values == "card" else {}), self.access_key)

    def node(self) -> dict[str, Any]:
        """Keys of the server's node."""
        context = {
            "name": "kv",
            "match": f"ipv4.header_words == 5 && udp.dst_port == {PORT}",
            "handler_memory": {"size": self.memory_bytes},
            "host_memory": {"size": self.capacity * VALUE_BYTES if self.values == "host" else 64},
            "scratchpad_bytes": _NUMBERS["KV_SCRATCHPAD_BYTES"],
        }
        return {"program": wire.program("kv.c", self.defines), "context": [context]}

    def connect(
        self, host: RunningHost, *, number: int, server: int = 0, access_key: int | None = None, **settings: int
    ) -> KeyValueClient:
        """A client, for the program of a host whose node has the keys of `spinet.services.client.node`.

        Parameters
        ----------
        number
            Number of the client.
        server
            Number of the server's node.
        access_key
            Key that the client sends. Default: that of the service.
        settings
            ``timeout_ns``, ``attempts`` and ``poll_ns`` of `spinet.services.Client`.
        """
        if not 0 <= number < self.clients:
            raise UsageError(f"number is {number}, must be 0 to {self.clients - 1}")
        key = wire.key_of_client(access_key, self.access_key)
        return KeyValueClient(host, number=number, server=server, port=PORT, access_key=key, **settings)

    @staticmethod
    def events(memory: bytes) -> dict[str, int]:
        """Number of keys and counters of events, from the server's handler memory."""
        used, *counts = struct.unpack_from(f"<i{len(EVENTS)}I", memory)
        return {"keys": used, **dict(zip(EVENTS, counts, strict=True))}


class KeyValueClient(client.Client):
    """A client of a key-value store. Its methods are generators for ``yield from``."""

    def put(self, key: bytes, value: bytes) -> Steps:
        """Store a value. Returns ``ok``, ``full``, ``denied``, or ``lost`` if no reply came."""
        (answer,) = yield from self.perform([put(key, value)])
        return status(answer)

    def get(self, key: bytes) -> Steps:
        """Read a value. Returns it; None if the key is unknown.

        Raises
        ------
        UsageError
            If no reply came, or the request was denied.
        """
        (answer,) = yield from self.perform([get(key)])
        found = status(answer)
        if found not in ("ok", "miss"):
            raise UsageError(f"get {key!r}: {found}")
        return answer.packets[0].data if found == "ok" else None


def _key(key: bytes) -> bytes:
    key = _core.buffer("key", key)
    if not 1 <= len(key) <= KEY_BYTES or key.endswith(b"\0"):
        raise UsageError(f"key {key!r} has {len(key)} bytes, must have 1 to {KEY_BYTES}, and no zero byte at its end")
    return key.ljust(KEY_BYTES, b"\0")


def put(key: bytes, value: bytes) -> tuple[int, bytes]:
    """Kind and data of a put, for `Client.perform`."""
    value = _core.buffer("value", value)
    if len(value) > VALUE_BYTES:
        raise UsageError(f"a value has {len(value)} bytes, must have at most {VALUE_BYTES}")
    return PUT, _key(key) + value


def get(key: bytes) -> tuple[int, bytes]:
    """Kind and data of a get, for `Client.perform`."""
    return GET, _key(key)


def status(answer: Answer) -> str:
    """The status of a reply: a value of `STATUS`, or ``lost`` if none came."""
    return STATUS[answer.packets[0].status] if answer.packets else "lost"


def network(store: KeyValue, clients: int, *, faults: str = "") -> dict[str, Any]:
    """Keys of a star: node 0 is the server, the others are clients. `faults` are those of all links."""
    return client.network(store.node(), clients, faults=faults)
