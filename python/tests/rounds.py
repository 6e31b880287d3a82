# SPDX-License-Identifier: Apache-2.0
"""Cards without a network between them: frames reach their cards without delay, in rounds."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any

import spinet


def target(frame: bytes) -> str:
    """The destination IPv4 address of a frame."""
    return str(ipaddress.IPv4Address(frame[30:34]))


class Card:
    """A PsPIN with host memory and one context, which has the keys of a network's node."""

    def __init__(self, node: Mapping[str, Any], *, host: bytes = b"", seed: int = 1) -> None:
        context = node["context"][0]
        self.machine = spinet.Machine(seed=seed, **({"set": node["nic"]["set"]} if "nic" in node else {}))
        tenant = self.machine.tenant("own")
        program = tenant.load(node["program"], defines=node.get("defines", {}))
        wanted = context["handler_memory"]
        content = Path(wanted["data"]).read_bytes() if "data" in wanted else b""
        self.memory = tenant.allocate(max(wanted.get("size", 0), len(content), 64))
        self.memory.write(content)
        self.host = tenant.register(max(len(host), 4096))
        self.host.write(host)
        self.context = tenant.context(
            program=program,
            memory=self.memory,
            scratchpad=tenant.allocate(context["scratchpad_bytes"], kind="scratchpad"),
            host=self.host,
        )
        self.context.install(match=context["match"], message=context.get("message", "each"))

    def process(self, frames: list[bytes]) -> list[bytes]:
        """Process frames, and return the frames that the card sends."""
        self.machine.send(frames)
        self.machine.finish()
        assert self.context.error() is None, self.context.error()
        return [packet.data for packet in self.machine.take_sent()]


def check_barriers(rounds: Rounds, go: list[bytes], passed: Callable[[], list[int]]) -> None:
    """Three barriers: no rank passes before all have entered. `passed` returns how many each rank has passed."""
    late = go[len(go) // 2]
    for epoch in range(3):
        rounds.run([frame for frame in go if frame is not late])
        assert passed() == [epoch] * len(go)
        rounds.run([late])
        assert passed() == [epoch + 1] * len(go)


class Rounds:
    """Cards by IP address. `divert` can choose another card than the destination address of a frame."""

    def __init__(self, cards: Mapping[str, Card], divert: Callable[[str, bytes], str | None] | None = None) -> None:
        self.cards = dict(cards)
        self.divert = divert
        self.lost: list[bytes] = []
        self.frames = 0

    def run(self, frames: Iterable[bytes], *, shuffle: Callable[[list[bytes]], list[bytes]] = list) -> None:
        """Deliver frames, and the frames that cards send then, until no frame is left."""
        coming = [("", frame) for frame in frames]
        while coming:
            queues: dict[str, list[bytes]] = defaultdict(list)
            for sender, frame in coming:
                to = (self.divert(sender, frame) if self.divert else None) or target(frame)
                self.frames += 1
                if to in self.cards:
                    queues[to].append(frame)
                else:
                    self.lost.append(frame)
            results = [
                [(to, frame) for frame in self.cards[to].process(shuffle(queue))] for to, queue in queues.items()
            ]
            coming = [one for turn in zip_longest(*results) for one in turn if one is not None]
        for card in self.cards.values():
            card.machine.step("5 us")  # when a packet is finished, writes may still be on their way to the host
