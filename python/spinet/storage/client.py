# SPDX-License-Identifier: Apache-2.0
"""A client of the file system. It makes requests and parses replies; the caller carries the packets."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from spinet import _core
from spinet._core import UsageError
from spinet.storage import gf256, wire
from spinet.storage.metadata import Metadata

_FINAL = ("malformed", "forged", "expired", "forbidden", "out_of_range")


@dataclass(kw_only=True)
class Request:
    """A request, from its first packet to its last reply.

    Attributes
    ----------
    number
        Unique among the requests of a client.
    nodes
        Nodes that must reply.
    replies
        The latest status by node: a value of `wire.STATUS`.
    attempt
        Number of repetitions.
    """

    number: int
    nodes: tuple[str, ...]
    messages: tuple[tuple[str, wire.Ask, bytes, int], ...] = field(repr=False)  # node, first packet, data, stream
    kind: int = wire.constant("WRITE")
    replies: dict[str, str] = field(default_factory=dict)
    attempt: int = 0
    _parts: dict[int, bytes] = field(default_factory=dict, repr=False)

    @property
    def is_done(self) -> bool:
        """True if all nodes have replied ``ok``. For a read: if all data have arrived."""
        if self.kind == wire.constant("READ"):
            return len(self._parts) * wire.UNIT >= self.messages[0][1].n_bytes
        return all(self.replies.get(node) == "ok" for node in self.nodes)

    @property
    def refusal(self) -> str | None:
        """Why a node refuses the request for good; None if none does."""
        return next((status for status in self.replies.values() if status in _FINAL), None)

    @property
    def silent(self) -> tuple[str, ...]:
        """Nodes that have not replied to the latest attempt, and have not completed an earlier one."""
        return tuple(node for node in self.nodes if node not in self.replies and not self.is_done)

    @property
    def data(self) -> bytes:
        """The data of a read.

        Raises
        ------
        UsageError
            If data are missing, or the request is not a read.
        """
        if self.kind != wire.constant("READ") or not self.is_done:
            raise UsageError(f"request {self.number} has no data: {self}")
        return b"".join(self._parts[at] for at in sorted(self._parts))


class Client:
    """A client.

    Parameters
    ----------
    ip
        IPv4 address of the client.
    metadata
        The service that issues the client's capability: for the first GiB, with all rights.
    capability
        A capability to use instead.
    """

    def __init__(self, ip: str, metadata: Metadata | None = None, *, capability: bytes | None = None) -> None:
        wire.address(ip)  # refuses text that is not an address
        self.ip = ip
        self.capability = (Metadata() if metadata is None else metadata).grant(ip) if capability is None else capability
        self._requests: dict[int, Request] = {}

    def _request(
        self, nodes: Sequence[str], messages: Sequence[tuple[str, wire.Ask, bytes, int]], kind: str = "WRITE"
    ) -> Request:
        number = len(self._requests) + 1
        request = Request(number=number, nodes=tuple(nodes), messages=tuple(messages), kind=wire.constant(kind))
        self._requests[number] = request
        return request

    def write(self, node: str, address: int, data: bytes) -> Request:
        """Write to one node."""
        _nodes("node", [node])
        data = wire.checked(data)
        ask = wire.Ask(address=address, n_bytes=len(data), capability=self.capability)
        return self._request([node], [(node, ask, data, 0)])

    def replicate(self, nodes: Sequence[str], address: int, data: bytes, *, strategy: str = "chain") -> Request:
        """Write to several nodes. The client sends to the first one, and nodes forward to each other.

        Parameters
        ----------
        strategy
            ``chain``, or ``tree``, in which each node forwards to two others.
        """
        nodes = _nodes("nodes", nodes)
        data = wire.checked(data)
        if not 1 <= len(nodes) <= wire.MAX_NODES:
            raise UsageError(f"{len(nodes)} replicas, must be 1 to {wire.MAX_NODES}")
        if strategy not in ("chain", "tree"):
            raise UsageError(f"strategy is `{strategy}`, must be one of chain, tree")
        ask = wire.Ask(
            address=address,
            n_bytes=len(data),
            capability=self.capability,
            policy=strategy,
            k=len(nodes),
            nodes=tuple(nodes),
        )
        return self._request(nodes, [(nodes[0], ask, data, 0)])

    def encode(self, data_nodes: Sequence[str], parity_nodes: Sequence[str], address: int, data: bytes) -> Request:
        """Write a stripe: equal blocks to data nodes, which send their products to parity nodes.

        The last block is padded with zeros. A block has at most 1 MiB.
        """
        data_nodes, parity_nodes = _nodes("data_nodes", data_nodes), _nodes("parity_nodes", parity_nodes)
        _nodes("nodes", [*data_nodes, *parity_nodes])
        data = _core.buffer("data", data)
        k, m = len(data_nodes), len(parity_nodes)
        if not 0 < len(data) <= k * wire.MAX_BYTES:
            raise UsageError(f"a stripe of {k} blocks has {len(data)} bytes, must be 1 to {k * wire.MAX_BYTES}")
        if not 1 <= m <= wire.MAX_PARITY:
            raise UsageError(f"{m} parity nodes, must be 1 to {wire.MAX_PARITY}")
        factors = gf256.coefficients(k, m)
        messages = []
        for rank, (node, block) in enumerate(zip(data_nodes, blocks(data, k), strict=True)):
            ask = wire.Ask(
                address=address,
                n_bytes=len(block),
                capability=self.capability,
                policy="code",
                k=k,
                m=m,
                rank=rank,
                coefficients=factors[rank],
                nodes=tuple(parity_nodes),
            )
            messages.append((node, ask, block, rank))
        return self._request([*data_nodes, *parity_nodes], messages)

    def update(self, node: str, parity_node: str, address: int, data: bytes, *, block: int) -> Request:
        """Write a block of a RAID-5 stripe; its node sends the difference to the parity node."""
        _nodes("nodes", [node, parity_node])
        data = wire.checked(data)
        ask = wire.Ask(
            address=address,
            n_bytes=len(data),
            capability=self.capability,
            policy="raid",
            rank=_core.whole("block", block, bits=8),
            nodes=(parity_node,),
        )
        return self._request([node, parity_node], [(node, ask, data, block)])

    def read(self, node: str, address: int, n_bytes: int) -> Request:
        """Read from one node."""
        _nodes("node", [node])
        if not 0 < _core.whole("n_bytes", n_bytes) <= wire.MAX_BYTES:
            raise UsageError(f"a read of {n_bytes} bytes, must be 1 to {wire.MAX_BYTES}")
        ask = wire.Ask(address=address, n_bytes=n_bytes, capability=self.capability)
        return self._request([node], [(node, ask, b"", 0)], kind="READ")

    def frames(self, request: Request) -> list[bytes]:
        """All packets of a request's current attempt, in the order in which they are sent.

        The messages of a stripe take turns, packet by packet.
        """
        _check(request)
        streams = []
        for node, ask, data, stream in request.messages:
            header = wire.Header(
                kind=request.kind, client=self.ip, request=request.number, attempt=request.attempt, stream=stream
            )
            if request.kind == wire.constant("READ"):
                streams.append([wire.frame(source=self.ip, target=node, header=header, rest=ask.pack())])
            else:
                streams.append(wire.message(source=self.ip, target=node, header=header, ask=ask, data=data))
        return list(_turns(streams))

    def repeat(self, request: Request) -> list[bytes]:
        """Packets of the next attempt.

        Raises
        ------
        UsageError
            If the request is an update of RAID-5: the second attempt would find the new data, and send no difference.
        """
        _check(request)
        if any(ask.policy == "raid" for _, ask, _, _ in request.messages):
            raise UsageError(
                f"update {request.number} cannot be repeated, because its node may have written the data",
                hint="read the data blocks, and write their parity",
            )
        request.attempt += 1
        request.replies = {node: status for node, status in request.replies.items() if status == "ok"}
        request._parts.clear()
        return self.frames(request)

    def receive(self, packet: bytes) -> Request | None:
        """Take a packet for this client; returns its request, or None if it belongs to none."""
        found = wire.reply(_core.buffer("packet", packet))
        request = None if found is None else self._requests.get(found.header.request)
        if found is None or request is None or found.header.client != self.ip:
            return None
        if found.status:
            # All attempts write the same bytes, so it does not matter which of them a node has completed.
            if found.status == "ok" or found.header.attempt == request.attempt:
                known = request.replies.get(found.node)
                request.replies[found.node] = known if known == "ok" else found.status
        elif found.header.attempt == request.attempt:
            request._parts[found.header.offset] = found.data
        return request


def _check(request: object) -> None:
    if not isinstance(request, Request):
        raise UsageError(f"request is {request!r}, must be what a method of the client returned")


def _nodes(what: str, given: Sequence[str]) -> Sequence[str]:
    """Addresses of nodes."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise UsageError(f"{what} is {given!r}, must be a list of addresses")
    for node in given:
        wire.address(node)
        if list(given).count(node) > 1:
            raise UsageError(f"node {node} comes twice in {what}; each part of an object needs its own node")
    return given


def blocks(data: bytes, k: int) -> list[bytes]:
    """The data in `k` equal parts, padded with zeros at the end."""
    data, size = _core.buffer("data", data), -(-len(data) // _core.whole("k", k, least=1))
    if size == 0:
        return [b""] * k
    return [data[at : at + size].ljust(size, b"\0") for at in range(0, k * size, size)]


def _turns(streams: Sequence[Sequence[bytes]]) -> Iterator[bytes]:
    for place in range(max(map(len, streams))):
        for stream in streams:
            if place < len(stream):
                yield stream[place]


def recover(known: Mapping[int, bytes], k: int, m: int, n_bytes: int) -> bytes:
    """The data of a stripe from any k of its blocks, by number: data blocks from 0, parity blocks from k.

    Raises
    ------
    UsageError
        If there are fewer than k blocks, or they cannot be those of a stripe of `n_bytes` bytes.
    """
    size = -(-_core.whole("n_bytes", n_bytes) // _core.whole("k", k, least=1))
    arrays = {}
    for number, block in known.items():
        if not 0 <= _core.whole("the number of a block", number) < k + m:
            raise UsageError(f"block {number} is not in RS({k},{m}), must be below {k + m}")
        arrays[number] = np.frombuffer(_core.buffer(f"block {number}", block), dtype=np.uint8)
        if len(arrays[number]) != size:
            raise UsageError(
                f"block {number} has {len(arrays[number])} bytes, must have {size} of {n_bytes} in {k} blocks"
            )
    return gf256.decode(arrays, k, m).tobytes()[:n_bytes]


def changed(request: Request, **settings: object) -> Request:
    """Change fields of the request's first packets, for tests of requests that nodes refuse."""
    messages = tuple(
        (node, dataclasses.replace(ask, **settings), data, stream)  # type: ignore[arg-type]
        for node, ask, data, stream in request.messages
    )
    request.messages = messages
    return request
