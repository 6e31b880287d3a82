# SPDX-License-Identifier: Apache-2.0
"""Replicas without a network between them: a schedule decides which frame is delivered next, and which are lost."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import spinet
from spinet.machine import Memory
from spinet.services import consensus
from spinet.services.consensus import MATCH, NUMBERS, Entry, Message

CLIENT = "10.0.0.100"


@dataclass(frozen=True, kw_only=True)
class Flight:
    """A frame on the way to a replica."""

    sender: int  # -1 for the client
    replica: int
    frame: bytes = field(repr=False)

    @property
    def kind(self) -> str:
        return Message.parse(self.frame).kind


class Card:
    def __init__(self, rank: int, ips: list[str], program: Path) -> None:
        self.machine = spinet.Machine()
        self._tenant = self.machine.tenant("consensus")
        self._program = self._tenant.load(program)
        self._configuration = self._tenant.allocate(NUMBERS["CONFIGURATION_BYTES"])
        self._configuration.write(consensus.configuration(rank, ips))
        self.host = self._tenant.register(consensus.HOST_BYTES)
        self._scratchpad: Memory | None = None

    def begin(self) -> None:
        """Forget everything: a new scratchpad has zeros."""
        if self._scratchpad is not None:
            self._rule.remove(messages="end")
            self.machine.finish()
            self.context.destroy()
            self._scratchpad.free()
        self.host.write(bytes(consensus.HOST_BYTES))
        self._scratchpad = self._tenant.allocate(NUMBERS["MEMORY_BYTES"], kind="scratchpad")
        self.context = self._tenant.context(
            program=self._program,
            handler="replica",
            memory=self._configuration,
            scratchpad=self._scratchpad,
            host=self.host,
        )
        self._rule = self.context.install(match=MATCH)  # each packet is a message, so all clusters work


class Group:
    """Replicas on cards, and frames in flight between them. `begin` makes all replicas new."""

    def __init__(self, size: int, program: Path = consensus.PROGRAM) -> None:
        self.ips = [consensus.address(rank) for rank in range(size)]
        self._numbers = {ip: rank for rank, ip in enumerate(self.ips)}
        self.cards = [Card(rank, self.ips, program) for rank in range(size)]
        self.begin()

    def begin(self) -> None:
        self.flights: list[Flight] = []
        self.dead: set[int] = set()
        self.answered: dict[int, int] = {}  # slots by number of the request
        self.statuses: list[str] = []
        self.named: list[int] = []  # leaders, in replies that refuse a request
        self.chosen: dict[int, bytes] = {}  # entries by slot
        for card in self.cards:
            card.begin()

    # Actions of hosts and of the client.

    def tell(self, rank: int, kind: str) -> None:
        """Send a message from a host to its own card. It is not lost."""
        own = self.ips[rank]
        self.give(rank, Message(kind=kind, sender=rank).frame(source=own, target=own))

    def request(self, number: int, rank: int) -> None:
        frame = consensus.request(number, f"value {number}".encode(), client=CLIENT, replica=self.ips[rank])
        self.flights.append(Flight(sender=-1, replica=rank, frame=frame))

    # Actions of the schedule.

    def give(self, rank: int, *frames: bytes) -> None:
        """Give frames to a card, all at once."""
        if rank in self.dead:
            return
        card = self.cards[rank]
        card.machine.send(frames)
        card.machine.finish()
        assert card.context.error() is None, card.context.error()
        for packet in card.machine.take_sent():
            target = self.rank(packet.data[30:34])
            if target < 0:
                self._answer(packet.data)
            else:
                self.flights.append(Flight(sender=rank, replica=target, frame=packet.data))
        self.check(rank)

    def rank(self, ip: bytes) -> int:
        """The replica with this address; -1 for the client."""
        return self._numbers.get(".".join(map(str, ip)), -1)

    def deliver(self, at: int) -> None:
        flight = self.flights.pop(at)
        self.give(flight.replica, flight.frame)

    def settle(self, draw: random.Random | None = None) -> None:
        """Deliver all frames, several at a time, until none is left."""
        while self.flights:
            flights, self.flights = self.flights, []
            if draw is not None:
                draw.shuffle(flights)
            for rank in range(len(self.ips)):
                frames = [flight.frame for flight in flights if flight.replica == rank]
                if frames:
                    self.give(rank, *frames)

    def settle_only(self, *kinds: str, among: set[int] | None = None) -> None:
        """Deliver frames of these kinds until none is left, in order; only between some replicas if they are given."""
        near = {-1, *(range(len(self.ips)) if among is None else among)}

        def first() -> int | None:
            may_go = (
                at
                for at, flight in enumerate(self.flights)
                if flight.kind in kinds and {flight.replica, flight.sender} <= near
            )
            return next(may_go, None)

        while (at := first()) is not None:
            self.deliver(at)

    def drop(self, which: Callable[[Flight], bool]) -> None:
        self.flights = [flight for flight in self.flights if not which(flight)]

    def _answer(self, frame: bytes) -> None:
        message = Message.parse(frame)
        status = consensus.STATUS[message.status]
        self.statuses.append(status)
        if status == "not_leader":
            self.named.append(message.sender)
        if status == "ok":
            number = message.entry.number
            # A change of leaders can give a request a second slot, so only the entry must be correct.
            assert message.entry == Entry(client=CLIENT, number=number, value=f"value {number}".encode())
            self._choose(message.slot, message.entry.pack(message.slot + 1))
            self.answered.setdefault(number, message.slot)

    # Safety.

    def _choose(self, slot: int, entry: bytes) -> None:
        known = self.chosen.setdefault(slot, entry)
        assert known == entry, f"slot {slot}: {Entry.unpack(known)} and {Entry.unpack(entry)}"

    def check(self, rank: int) -> None:
        """No two replicas or replies name different entries for a slot."""
        size = NUMBERS["ENTRY_BYTES"]
        memory = self.cards[rank].host.read(offset=NUMBERS["LOG_AT"], size=64 * size)
        for slot in range(64):
            entry = memory[size * slot : size * (slot + 1)]
            _, mark = Entry.unpack(entry)
            if mark:
                assert mark == slot + 1
                self._choose(slot, entry)

    def status(self, rank: int) -> consensus.Status:
        # Handlers do not wait until the status is in host memory, so it can arrive after their end.
        self.cards[rank].machine.step("2 us")
        return consensus.Status.unpack(self.cards[rank].host.read(offset=0, size=16))

    def log(self, rank: int) -> list[Entry]:
        return consensus.log(
            self.cards[rank].host.read(offset=0, size=NUMBERS["LOG_AT"] + 256 * NUMBERS["ENTRY_BYTES"])
        )

    @property
    def alive(self) -> list[int]:
        return [rank for rank in range(len(self.ips)) if rank not in self.dead]


def epoch(group: Group, draw: random.Random, leader: int, number: int) -> int:
    """A replica leads among some of the replicas and gets requests. Returns the number of the last request so far.

    Frames to and from the other replicas stay in flight; later epochs deliver them.
    """
    size = len(group.ips)
    others = [rank for rank in range(size) if rank != leader]
    reached = {-1, leader, *draw.sample(others, draw.choice((size // 2, size // 2, draw.randrange(size))))}
    group.tell(leader, "lead")
    for _ in range(draw.randrange(4, 10 * size)):
        is_late = draw.random() < 0.05
        near = [at for at, flight in enumerate(group.flights) if is_late or {flight.replica, flight.sender} <= reached]
        if not near or draw.random() < 0.1:
            if group.status(leader).role == "leader" and draw.random() < 0.8:
                number += draw.random() < 0.8  # otherwise a request is repeated
                group.request(number, leader)
            else:
                group.tell(leader, "tick")
            continue
        at = draw.choice(near)
        fate = draw.random()
        # Lose commits often: if all of them arrive, no slot is decided a second time.
        if fate < (0.6 if group.flights[at].kind == "commit" else 0.02):
            group.flights.pop(at)
            continue
        if fate > 0.95:
            group.flights.append(group.flights[at])  # a copy, for later
        group.deliver(at)
    return number


def explore(group: Group, draw: random.Random, *, epochs: int = 8) -> None:
    """A random schedule of leaders, requests, losses, copies and deaths, then a check that the group recovers."""
    size = len(group.ips)
    group.begin()
    number, leader = 1, 0
    for _ in range(epochs):
        leader = draw.choice([rank for rank in group.alive if rank != leader])
        number = epoch(group, draw, leader, number)
        if draw.random() < 0.1 and len(group.dead) < (size - 1) // 2:
            group.dead.add(draw.choice(group.alive))
    # The network loses nothing any more: a majority elects a leader, which answers requests, and all logs become equal.
    answered = dict(group.answered)
    group.settle(draw)
    leader = draw.choice(group.alive)
    for _ in range(8):
        if group.status(leader).role == "follower":
            group.tell(leader, "lead")
        group.settle(draw)
        group.tell(leader, "tick")
        group.settle(draw)
    assert group.status(leader).role == "leader", f"replica {leader} does not become the leader"
    for last in (number + 1, number + 2):
        group.request(last, leader)
        group.settle(draw)
        assert last in group.answered, f"request {last} has no answer"
    for _ in range(4):
        group.tell(leader, "tick")
        group.settle(draw)
    log = group.log(leader)
    for slot, entry in group.chosen.items():
        assert log[slot].pack(slot + 1) == entry
    for rank in group.alive:
        assert group.log(rank) == log, f"logs of replicas {leader} and {rank} differ"
    executed = {entry.number for entry in consensus.commands(log)}
    assert executed >= answered.keys() | {number + 1, number + 2}
