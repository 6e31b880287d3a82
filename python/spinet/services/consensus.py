# SPDX-License-Identifier: Apache-2.0
"""Consensus on cards: replicas of an ordered log (`sdk/services/consensus.c`)."""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spinet import _c_numbers, _core, _frames, _programs
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.network import Network

SOURCES = Path(__file__).resolve().parents[1] / "sdk" / "services"
PROGRAM = SOURCES / "consensus.c"
_PREFIX = "CONSENSUS_"
NUMBERS = {
    name.removeprefix(_PREFIX): value
    for name, value in _c_numbers.defined(SOURCES / "consensus.h").items()
    if name.startswith(_PREFIX)
}
"""Numbers of `consensus.h`, without the prefix ``CONSENSUS_``."""

MATCH = f"ipv4.header_words == 5 && udp.dst_port == {NUMBERS['PORT']}"
MESSAGE = "by udp.dst_port until udp.dst_port == 0"  # one message, which does not end
CLIENT_MATCH = f"ipv4.header_words == 5 && udp.dst_port == {NUMBERS['CLIENT_PORT']}"
SLOTS, VALUE_BYTES, MAX_REPLICAS = NUMBERS["SLOTS"], NUMBERS["VALUE_BYTES"], NUMBERS["MAX_REPLICAS"]
KINDS = {
    NUMBERS[name.upper()]: name
    for name in (
        *("request", "reply", "prepare", "promise", "accept", "accepted", "refused", "commit"),
        *("alive", "missing", "tick", "lead", "stop"),
    )
}
"""Names of the kinds of messages."""
STATUS = {NUMBERS[name.upper()]: name for name in ("ok", "not_leader", "full")}
"""Names of the status in replies."""
ROLES = {NUMBERS[name.upper()]: name for name in ("follower", "recovering", "leader")}
"""Names of the roles of replicas."""
HOST_BYTES = NUMBERS["LOG_AT"] + SLOTS * NUMBERS["ENTRY_BYTES"]
"""Bytes of host memory of a replica."""
HOST_MEMORY_AT = 0x1000_0000_0000_0000  # where the host memory of a card's first context begins

_ENTRY = struct.Struct(f"<4sIII{VALUE_BYTES}s")
_MESSAGE = struct.Struct("<BBBxIIII")
_KIND_NUMBERS = {name: number for number, name in KINDS.items()}
_NO_CLIENT = "0.0.0.0"
_PATIENCE_GROWTH = 64  # assumed: 64 times the default of 16 us is 1 ms, longer than a frame of these networks is late
assert _ENTRY.size == NUMBERS["ENTRY_BYTES"]
assert NUMBERS["MESSAGE_AT"] + _MESSAGE.size + _ENTRY.size == NUMBERS["FRAME_BYTES"]


def address(number: int) -> str:
    """The IPv4 address of a node of a network."""
    return str(ipaddress.IPv4Address("10.0.0.1") + number)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An entry of the log: a client's command.

    Attributes
    ----------
    client, number
        IPv4 address of the client, and its number for the request. ``0.0.0.0``: a new leader filled the slot.
    value
        Up to 48 bytes.
    """

    client: str = _NO_CLIENT
    number: int = 0
    value: bytes = b""

    def pack(self, mark: int = 0) -> bytes:
        """The entry's 64 bytes."""
        client = _core.ipv4(self.client, what="client")
        return _ENTRY.pack(client, self.number, len(self.value), mark, self.value)

    @staticmethod
    def unpack(data: bytes) -> tuple[Entry, int]:
        """The entry in these bytes, and its mark: slot + 1."""
        client, number, n_bytes, mark, value = _ENTRY.unpack_from(data)
        ip = str(ipaddress.IPv4Address(client))
        return Entry(client=ip, number=number, value=value[: min(n_bytes, VALUE_BYTES)]), mark

    @property
    def is_command(self) -> bool:
        """False if a new leader filled the slot."""
        return self.client != _NO_CLIENT


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message between replicas, clients and hosts, as in `consensus.h`."""

    kind: str  # a name of `KINDS`
    sender: int = 0
    status: int = 0
    ballot: int = 0
    slot: int = 0
    accepted: int = 0
    end: int = 0
    entry: Entry = Entry()

    def frame(self, *, source: str, target: str) -> bytes:
        """An Ethernet frame, without FCS, with this message for a replica."""
        head = _MESSAGE.pack(
            _KIND_NUMBERS[self.kind], self.sender, self.status, self.ballot, self.slot, self.accepted, self.end
        )
        ips = {"source": _core.ipv4(source, what="source"), "target": _core.ipv4(target, what="target")}
        return _frames.udp(bytes(2) + head + self.entry.pack(), **ips, ports=(NUMBERS["PORT"], NUMBERS["PORT"]))

    @staticmethod
    def parse(frame: bytes) -> Message:
        """The message in a frame of a replica."""
        at = NUMBERS["MESSAGE_AT"]
        kind, sender, status, ballot, slot, accepted, end = _MESSAGE.unpack_from(frame, at)
        entry, _ = Entry.unpack(frame[at + _MESSAGE.size :])
        return Message(
            kind=KINDS[kind],
            sender=sender,
            status=status,
            ballot=ballot,
            slot=slot,
            accepted=accepted,
            end=end,
            entry=entry,
        )


def request(number: int, value: bytes, *, client: str, replica: str) -> bytes:
    """The frame of a client's request.

    Raises
    ------
    UsageError
        If the value has more than 48 bytes.
    """
    if len(value) > VALUE_BYTES:
        raise UsageError(f"the value has {len(value)} bytes, must have at most {VALUE_BYTES}")
    entry = Entry(client=client, number=number, value=value)
    return Message(kind="request", entry=entry).frame(source=client, target=replica)


def configuration(rank: int, replicas: Sequence[str]) -> bytes:
    """The contents of the handler memory of a replica.

    Raises
    ------
    UsageError
        If there are fewer than 3 or more than 7 replicas.
    """
    if not 3 <= len(replicas) <= MAX_REPLICAS:
        raise UsageError(f"{len(replicas)} replicas, must be 3 to {MAX_REPLICAS}")
    if not 0 <= rank < len(replicas):
        raise UsageError(f"rank is {rank}, must be 0 to {len(replicas) - 1}")
    peers = b"".join(_core.ipv4(ip, what="a replica") for ip in replicas)
    return (struct.pack("<II", rank, len(replicas)) + peers).ljust(NUMBERS["CONFIGURATION_BYTES"], b"\0")


def log(host_memory: bytes) -> list[Entry]:
    """The log of a replica up to its first gap, from its host memory."""
    entries: list[Entry] = []
    for at in range(NUMBERS["LOG_AT"], len(host_memory), NUMBERS["ENTRY_BYTES"]):
        entry, mark = Entry.unpack(host_memory[at:])
        if mark != len(entries) + 1:
            break
        entries.append(entry)
    return entries


def commands(entries: Iterable[Entry]) -> list[Entry]:
    """The commands of a log in the order in which hosts execute them: each (client, number) once."""
    first: dict[tuple[str, int], Entry] = {}
    for entry in entries:
        if entry.is_command:
            first.setdefault((entry.client, entry.number), entry)
    return list(first.values())


@dataclass(frozen=True, kw_only=True)
class Status:
    """The status that a card writes to its host."""

    promised: int  # ballot
    signs: int  # signs of life from leaders
    role: str  # a name of `ROLES`
    prefix: int  # slots of the log without a gap

    @staticmethod
    def unpack(host_memory: bytes) -> Status:
        """The status at the start of a replica's host memory."""
        promised, signs, role, prefix = struct.unpack_from("<4I", host_memory)
        return Status(promised=promised, signs=signs, role=ROLES[role], prefix=prefix)


HostProgram = Callable[[RunningHost], Generator[Any, Any, None]]


@dataclass(frozen=True, kw_only=True)
class Consensus:
    """Replicas of a log and clients around a switch. Replica *r* is node *r*; the clients follow.

    Attributes
    ----------
    size
        Number of replicas, 3 to 7. A majority has to live.
    clients
        Number of clients. Each sends its next request when it has the reply to the last one.
    requests
        Number of requests of each client.
    tick_ns, patience
        Interval of the hosts' timers, and the number of intervals without a sign of life of a leader after which
        replica 1 takes over. Each next replica waits 4 intervals longer. A replica doubles its patience whenever it
        takes over, up to 64 times the first one, so that late signs of life do not make replicas depose each other
        for good.
    retry_ns
        Time after which a client repeats a request.
    dies
        Time in ns at which a replica dies, by rank.
    until_ns
        End of the run.

    Examples
    --------
    >>> service = Consensus(size=3, requests=2, until_ns=90_000)
    >>> result = service.network().run()
    >>> [entry.value for entry in service.log(result, 2)]
    [b'client 0, request 1', b'client 0, request 2']
    """

    size: int = 3
    clients: int = 1
    requests: int = 10
    tick_ns: int = 4000
    patience: int = 4
    retry_ns: int = 20_000
    dies: Mapping[int, int] | None = None
    until_ns: int = 400_000
    start_ns: int = 50_000  # cards have booted

    def __post_init__(self) -> None:
        """Refuse values that the handlers do not support."""
        for name in ("size", "clients", "requests"):
            _core.whole(name, getattr(self, name))
        for name in ("tick_ns", "patience", "retry_ns", "until_ns"):
            _core.whole(name, getattr(self, name), bits=63, least=1)
        if self.dies is not None and not isinstance(self.dies, Mapping):
            raise UsageError(f"dies is {self.dies!r}, must have a time in ns for each rank that dies")
        configuration(0, [address(rank) for rank in range(self.size)])
        if self.clients < 1:
            raise UsageError(f"clients is {self.clients}, must be 1 or more")
        if not 0 <= self.requests < NUMBERS["REPLIES"]:
            raise UsageError(f"requests is {self.requests}, must be 0 to {NUMBERS['REPLIES'] - 1}")
        for rank in self.dies or {}:
            if not 0 <= rank < self.size:
                raise UsageError(f"dies has the rank {rank}, must be 0 to {self.size - 1}")

    @property
    def replicas(self) -> list[str]:
        """IPv4 addresses of the replicas."""
        return [address(rank) for rank in range(self.size)]

    def value(self, client: int, number: int) -> bytes:
        """The value of a request."""
        return f"client {client}, request {number}".encode()

    def replica(self, rank: int) -> dict[str, Any]:
        """Keys of the node of a replica."""
        content = configuration(rank, self.replicas)
        context = {
            "name": "consensus",
            "match": MATCH,
            "message": MESSAGE,
            "handler": "replica",
            "scratchpad_bytes": NUMBERS["MEMORY_BYTES"],
            "handler_memory": {"size": len(content), "data": str(_programs.kept(content))},
            "host_memory": {"size": HOST_BYTES},
        }
        return {"nic": "pspin", "program": str(PROGRAM), "context": [context]}

    def client(self) -> dict[str, Any]:
        """Keys of the node of a client."""
        context = {
            "name": "client",
            "match": CLIENT_MATCH,
            "handler": "client",
            "handler_memory": {"size": 4 * NUMBERS["REPLIES"]},
            "host_memory": {"size": 8 * NUMBERS["REPLIES"]},
        }
        return {"nic": "pspin", "program": str(PROGRAM), "context": [context]}

    def replica_program(self, rank: int) -> HostProgram:
        """The program of a replica's host: it sends ticks, and makes its card lead if no leader shows signs of life."""
        own = address(rank)
        dies = (self.dies or {}).get(rank)

        def tell(host: RunningHost, kind: str) -> None:
            host.send_frame(Message(kind=kind, sender=rank).frame(source=own, target=own))

        def program(host: RunningHost) -> Generator[Any, Any, None]:
            yield host.sleep(f"{self.start_ns} ns")
            if rank == 0:
                tell(host, "lead")
            signs, quiet = 0, 0
            # Growing timeouts, as failure detectors that are wrong only for some time have them: Chandra and Toueg,
            # JACM 43(2), 1996.
            patience = self.patience + 4 * (rank - 1) % (4 * self.size)
            most = _PATIENCE_GROWTH * patience
            while host.now_ps < self.until_ns * 1000:
                yield host.sleep(f"{self.tick_ns} ns")
                if dies is not None and host.now_ps >= dies * 1000:
                    tell(host, "stop")
                    return
                status = Status.unpack((yield host.read(HOST_MEMORY_AT, 16)))
                if status.role != "follower":
                    tell(host, "tick")
                quiet = quiet + 1 if status.role == "follower" and status.signs == signs else 0
                signs = status.signs
                if quiet >= patience:
                    tell(host, "lead")
                    quiet, patience = 0, min(2 * patience, most)

        return program

    def client_program(self, client: int) -> HostProgram:
        """The program of a client's host: it sends one request after the other, and repeats those without an answer."""
        own = address(self.size + client)

        def program(host: RunningHost) -> Generator[Any, Any, None]:
            yield host.sleep(f"{self.start_ns + 10_000} ns")
            leader = 0
            for number in range(1, self.requests + 1):
                status = ""
                while status != "ok":
                    frame = request(number, self.value(client, number), client=own, replica=self.replicas[leader])
                    host.write(HOST_MEMORY_AT + 8 * number, bytes(8))
                    host.send_frame(frame)
                    waited, status = 0, ""
                    while not status and waited < self.retry_ns:
                        yield host.sleep("500 ns")
                        waited += 500
                        reply = yield host.read(HOST_MEMORY_AT + 8 * number, 8)
                        if reply[5]:
                            status = STATUS[reply[4]]
                    if host.now_ps >= self.until_ns * 1000 or status == "full":
                        return
                    if status == "not_leader" and reply[7] != leader:
                        leader = reply[7]
                    elif status != "ok":
                        leader = (leader + 1) % self.size
                    if status == "not_leader":
                        yield host.sleep(f"{self.tick_ns} ns")

        return program

    def network(self, *, link: Mapping[str, Any] | None = None, switch: Mapping[str, Any] | None = None) -> Network:
        """A star with the replicas, the clients and the programs of their hosts.

        Parameters
        ----------
        link, switch
            Properties of all links, such as ``faults``, and of the switch.
        """
        nodes = [{"name": f"n{rank}", **self.replica(rank)} for rank in range(self.size)]
        nodes += [{"name": f"n{self.size + i}", **self.client()} for i in range(self.clients)]
        net = Network(
            topology={"name": "star", "nodes": len(nodes)},
            link=dict(link or {"rate": "100G", "delay": "300 ns"}),
            switch=dict(switch or {}),
            nodes=nodes,
        )
        for rank in range(self.size):
            net[rank].host.program = self.replica_program(rank)
        for client in range(self.clients):
            net[self.size + client].host.program = self.client_program(client)
        return net

    def log(self, result: Any, rank: int) -> list[Entry]:
        """The log in the host memory of a replica after a run."""
        return log(result.nodes[f"n{rank}"].host_memory(HOST_MEMORY_AT, HOST_BYTES))

    def replies(self, result: Any, client: int) -> dict[int, int]:
        """Slots of a client's requests that were answered, by number."""
        found = {}
        content = result.nodes[f"n{self.size + client}"].host_memory(HOST_MEMORY_AT, 8 * NUMBERS["REPLIES"])
        for number, (slot, status, known, _) in enumerate(struct.iter_unpack("<IBBH", content)):
            if known and STATUS[status] == "ok":
                found[number] = slot
        return found
