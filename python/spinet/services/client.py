# SPDX-License-Identifier: Apache-2.0
"""Clients of services: the card of `sdk/services/client.c`, and requests of the host's program, with repetitions."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import wire
from spinet.services.wire import WINDOW, Packet

HOST_AT = 0x1000_0000  # address of the replies in host memory

_FLAG = struct.Struct("<II")

Steps = Generator[Any, Any, Any]


def node(*, parts: int = 1) -> dict[str, Any]:
    """Keys of a network's node that is a client.

    Parameters
    ----------
    parts
        Maximum number of packets of a reply.
    """
    places = WINDOW * parts
    context = {
        "name": "client",
        "match": f"ipv4.header_words == 5 && udp.dst_port == {wire.CLIENT_PORT}",
        "handler_memory": {"size": 4 * places},
        "host_memory": {"addr": HOST_AT, "size": places * (_FLAG.size + wire.FRAME_BYTES)},
    }
    return {"program": wire.program("client.c", {"PARTS": parts}), "context": [context]}


def network(server: Mapping[str, Any], clients: int, *, parts: int = 1, faults: str = "") -> dict[str, Any]:
    """Keys of a star: node 0 is a server, the others are clients.

    Parameters
    ----------
    server
        Keys of the server's node.
    parts
        As for `node`.
    faults
        Faults of all links in both directions, such as ``loss=0.01,duplicate=0.05``.
    """
    lossy = {"faults": faults, "faults_back": faults} if faults else {}
    return {
        "topology": {"name": "star", "nodes": clients + 1},
        # source: sPIN, SC 2017: 400 Gbit/s, 33.4 ns
        "link": {"rate": "400G", "delay": "33400 ps", **lossy},
        "nodes": [{"name": "n0", **server}, {"name": "n*", **node(parts=parts)}],
    }


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The reply to a request.

    Attributes
    ----------
    packets
        The packets of the reply; empty if none came.
    attempts
        Number of times that the client sent the request.
    begin_ps, end_ps
        Simulated time when the client sent the request first, and when its program saw the reply.
    """

    packets: tuple[Packet, ...]
    attempts: int
    begin_ps: int
    end_ps: int


@dataclass(kw_only=True)
class _Pending:
    at: int  # among the requests of the call
    frame: bytes
    begin_ps: int
    sent_ps: int
    attempts: int = 1


class Client:
    """A client of a service, for the program of a host.

    Parameters
    ----------
    host
        The host that runs the program. Its node has the keys of `node`.
    number
        Number of the client, unique for the service.
    server
        Number of the service's node.
    port
        UDP port of the service.
    parts
        As for `node`.
    timeout_ns
        Time after which the client repeats a request.
    longest_timeout_ns
        This time doubles with each repetition, up to this value, so that many clients do not overload a service with
        repetitions. Default: it does not change.
    attempts
        How often the client sends a request before it gives up.
    poll_ns
        Time between two looks at host memory.
    access_key
        Key of the service; 0 if it needs none.
    """

    def __init__(
        self,
        host: RunningHost,
        *,
        number: int,
        server: int,
        port: int,
        parts: int = 1,
        timeout_ns: int = 20_000,
        longest_timeout_ns: int | None = None,
        attempts: int = 50,
        poll_ns: int = 50,  # assumed: a loop that polls a line in a cache, and does some work on each turn
        access_key: int = 0,
    ) -> None:
        if attempts < 1 or timeout_ns < 1 or poll_ns < 1:
            raise UsageError(f"attempts {attempts}, timeout_ns {timeout_ns}, poll_ns {poll_ns}: must be 1 or more")
        self.host = host
        self.number = number
        self.server = server
        self.port = port
        self.access_key = access_key
        self._parts = parts
        self._timeout_ps, self._attempts, self._poll_ns = timeout_ns * 1000, attempts, poll_ns
        self._longest_ps = max(timeout_ns, longest_timeout_ns or 0) * 1000
        self._next = 1

    def perform(
        self, requests: Sequence[tuple[int, bytes]], *, window: int = WINDOW, servers: Sequence[int] | None = None
    ) -> Steps:
        """Send requests, and wait for their replies: a generator for ``yield from``.

        Parameters
        ----------
        requests
            Kind and data of each request.
        window
            Most requests in flight, at most `WINDOW`. They may take effect in any order.
        servers
            Number of the node for each request. Default: `server`.

        Returns
        -------
        list of Answer
            One for each request, in the order of the requests.
        """
        if not 1 <= window <= WINDOW:
            raise UsageError(f"window is {window}, must be 1 to {WINDOW}")
        to = [self.server] * len(requests) if servers is None else list(servers)
        queue = deque(enumerate(requests))
        pending: dict[int, _Pending] = {}
        answers: dict[int, Answer] = {}
        while queue or pending:
            while queue and self._next - min(pending, default=self._next) < window:
                at, (kind, data) = queue.popleft()
                packet = Packet(
                    request=self._next, client=self.number, kind=kind, data=data, access_key=self.access_key
                )
                frame = packet.frame(source=self.host.number, target=to[at], port=self.port)
                self.host.send_frame(frame)
                now = self.host.now_ps
                pending[self._next] = _Pending(at=at, frame=frame, begin_ps=now, sent_ps=now)
                self._next += 1
            yield self.host.sleep(f"{self._poll_ns} ns")
            yield from self._take(pending, answers)
        return [answers[at] for at in range(len(requests))]

    def _take(self, pending: dict[int, _Pending], answers: dict[int, Answer]) -> Steps:
        """Move requests with replies from `pending` to `answers`, and repeat others after the timeout."""
        flags: bytes = yield self.host.read(HOST_AT, WINDOW * self._parts * _FLAG.size)
        for number, request in list(pending.items()):
            packets = yield from self._packets(number, flags)
            now = self.host.now_ps
            timeout_ps = min(self._timeout_ps << (request.attempts - 1), self._longest_ps)
            if packets is None and now - request.sent_ps < timeout_ps:
                continue
            if packets is not None or request.attempts == self._attempts:
                answers[request.at] = Answer(
                    packets=tuple(packets or ()), attempts=request.attempts, begin_ps=request.begin_ps, end_ps=now
                )
                del pending[number]
            else:
                self.host.send_frame(request.frame)
                pending[number] = replace(request, sent_ps=now, attempts=request.attempts + 1)

    def _packets(self, number: int, flags: bytes) -> Steps:
        """The packets of the reply; None if some are missing."""
        first = number % WINDOW * self._parts
        packets: list[Packet] = []
        while True:
            place = first + len(packets)
            found, n_bytes = _FLAG.unpack_from(flags, place * _FLAG.size)
            if found != number:
                return None
            at = HOST_AT + WINDOW * self._parts * _FLAG.size + place * wire.FRAME_BYTES
            content: bytes = yield self.host.read(at, n_bytes)
            packets.append(Packet.unpack(content))
            if len(packets) == self._parts or not packets[-1].more:
                return packets
