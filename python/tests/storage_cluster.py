# SPDX-License-Identifier: Apache-2.0
"""Storage nodes without a network between them: frames reach their nodes without delay, in rounds."""

from __future__ import annotations

from collections import defaultdict
from itertools import zip_longest

import spinet
from spinet import storage
from spinet.storage import wire
from spinet.storage.node import MATCH, MESSAGE, PROGRAM, TIMEOUT_CYCLES

HOST_BYTES = 1 << 20
SCRATCHPAD_BYTES = 160 << 10
MESSAGE_TIMED_OUT = 25  # cause in the record of a context


class Node:
    def __init__(self, metadata: storage.Metadata, faults: str, seed: int, buffers: int, card_bytes: int) -> None:
        self.machine = spinet.Machine(seed=seed)
        tenant = self.machine.tenant("storage")
        program = tenant.load(PROGRAM)
        content = storage.memory(metadata, buffers=buffers)
        self.memory = tenant.allocate(len(content) + card_bytes)
        self.memory.write(content)
        self.host = tenant.register(HOST_BYTES)
        context = tenant.context(
            program=program,
            memory=self.memory,
            scratchpad=tenant.allocate(SCRATCHPAD_BYTES, kind="scratchpad"),
            host=self.host,
            delivery={"timeout_cycles": TIMEOUT_CYCLES},
        )
        self.context, self.tenant = context, tenant
        context.install(match=MATCH, message=MESSAGE)
        if faults:
            self.machine.network(faults, seed=seed)
        self.received = self.finished = self.sent = 0

    def process(self, frames: list[bytes]) -> list[bytes]:
        self.received += len(frames)
        self.machine.send(frames)
        self.machine.finish()
        error = self.context.error()
        assert error is None or error.cause == MESSAGE_TIMED_OUT, error
        self.finished += self.machine.take_packets().num_rows
        sent = [packet.data for packet in self.machine.take_sent()]
        self.sent += len(sent)
        return sent

    @property
    def events(self) -> dict[str, int]:
        return storage.events(self.memory.read())


class Cluster:
    """Nodes and a client that sends to them. Frames to dead nodes are dropped."""

    def __init__(
        self,
        n_nodes: int,
        *,
        faults: str = "",
        seed: int = 1,
        buffers: int = wire.constant("BUFFERS"),
        card_bytes: int = 0,
        capability: bytes | None = None,
    ) -> None:
        self.metadata = storage.Metadata()
        self.client = storage.Client("10.0.0.1", self.metadata, capability=capability)
        self.ips = [f"10.0.0.{2 + i}" for i in range(n_nodes)]
        self.nodes = {ip: Node(self.metadata, faults, seed + i, buffers, card_bytes) for i, ip in enumerate(self.ips)}
        self.dead: set[str] = set()

    def run(self, *requests: storage.Request, attempts: int = 1, frames: list[bytes] | None = None) -> None:
        """Run requests until no frame is left, and repeat those that are not done."""
        for attempt in range(attempts):
            left = [request for request in requests if not request.is_done]
            make = self.client.repeat if attempt else self.client.frames
            self._deliver(frames or [frame for request in left for frame in make(request)])

    def _deliver(self, frames: list[bytes]) -> None:
        while frames:
            sent = defaultdict(list)
            for frame in frames:
                target = wire.target(frame)
                if target == self.client.ip:
                    assert self.client.receive(frame) is not None, frame.hex()
                elif target not in self.dead:
                    sent[target].append(frame)
            # Packets of different nodes take turns.
            results = [self.nodes[target].process(queue) for target, queue in sent.items()]
            frames = [frame for turn in zip_longest(*results) for frame in turn if frame is not None]

    def host(self, ip: str, address: int, n_bytes: int) -> bytes:
        return self.nodes[ip].host.read(offset=address, size=n_bytes)
