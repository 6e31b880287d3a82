# SPDX-License-Identifier: Apache-2.0
"""Message matching and rendezvous on cards, with the semantics of MPI: `sdk/services/matching.c`."""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

from spinet import _c_numbers, _core, _frames
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import wire

_PREFIX = "MATCH_"
NUMBERS = {
    name.removeprefix(_PREFIX): value
    for name, value in _c_numbers.defined(wire.SOURCES / "matching.h").items()
    if name.startswith(_PREFIX)
}
"""Numbers of `matching.h`, without the prefix ``MATCH_``."""

PORT, UNIT, MAX_BYTES, PEERS, WINDOW = (NUMBERS[name] for name in ("PORT", "UNIT", "MAX_BYTES", "PEERS", "WINDOW"))
EVENTS = ("refused", "duplicates", "early", "fulls", "late")
STATUS = {NUMBERS[name.upper()]: name for name in ("ok", "truncated", "full", "none", "found", "cancelled")}
KINDS = {
    name: NUMBERS[name.upper()]
    for name in ("eager", "rts", "data", "get", "accepted", "done", "busy", "post", "cancel")
}
MODES = {name: NUMBERS[name.upper()] for name in ("receive", "iprobe", "improbe", "mrecv")}
"""Modes of posts."""
ANY_TAG = 0xFFFF_FFFF  # as `ignore`: all bits of the tag may differ
HOST_AT = 0x3000_0000
"""Address of a card's host memory."""
_HEAD = struct.Struct("<BBHIIIHHIIIII")
_RECORD = struct.Struct("<IHH6I")
_PAIR = struct.Struct("<4I")
_DOUBLINGS = 4  # number of times that the timeout doubles
_AREA_AT, _ANSWERS = NUMBERS["AREA_AT"], NUMBERS["ANSWERS"]
assert NUMBERS["DATA_AT"] == 44 + _HEAD.size

Steps = Generator[Any, Any, Any]


@dataclass(frozen=True, kw_only=True)
class Head:
    """The header of a frame: `match_head_t`. `kind` is a key of `KINDS`, or a number; `mode` is a value of `MODES`."""

    kind: str | int
    mode: int = 0
    sender: int = 0
    number: int = 0
    tag: int = 0
    ignore: int = 0
    comm: int = 0
    peer: int = 0
    size: int = 0
    address: int = 0
    at: int = 0
    count: int = 0
    receive: int = 0

    def frame(self, data: bytes = b"", *, source: int, target: int, port: int = PORT) -> bytes:
        """The Ethernet frame, without FCS, from one node of a network to another one, from a port."""
        kind = KINDS[self.kind] if isinstance(self.kind, str) else self.kind
        head = _HEAD.pack(
            *(kind, self.mode, self.sender, self.number, self.tag, self.ignore, self.comm, self.peer),
            *(self.size, self.address, self.at, self.count, self.receive),
        )
        addresses = {"source": wire.address(source), "target": wire.address(target)}
        return _frames.udp(bytes(2) + head + data, **addresses, ports=(port, PORT))

    @staticmethod
    def parse(frame: bytes) -> tuple[Head, bytes]:
        """The header and the data of a frame."""
        kind, mode, sender, number, tag, ignore, comm, peer, size, address, at, count, receive = _HEAD.unpack_from(
            frame, 44
        )
        names = {value: name for name, value in KINDS.items()}
        head = Head(
            kind=names.get(kind, kind), mode=mode, sender=sender, number=number, tag=tag, ignore=ignore, comm=comm,
            peer=peer, size=size, address=address, at=at, count=count, receive=receive,
        )  # fmt: skip
        has_data = head.kind in ("eager", "data")
        return head, frame[44 + _HEAD.size :][: count if has_data else 0]


@dataclass(kw_only=True)
class Send:
    """A message that an `Endpoint` sends.

    Attributes
    ----------
    status
        Empty until the message has left the buffer, then ``ok``; ``busy`` if the receiver's card had no place for it,
        or ``lost`` if it did not answer.
    """

    to: int
    number: int
    size: int
    status: str = ""
    is_accepted: bool = False
    is_busy: bool = False
    attempts: int = 0
    unanswered: int = 0
    sent_ps: int = 0
    end_ps: int = 0
    _frame: bytes = field(default=b"", repr=False)
    _block: tuple[int, int] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """Name the message in errors."""
        return f"message {self.number} to rank {self.to}, {self.size} bytes"


@dataclass(kw_only=True)
class Receive:
    """A receive or a probe of an `Endpoint`.

    Attributes
    ----------
    status
        Empty until it has ended. A receive then is ``ok``, ``truncated`` (the message was longer than the buffer;
        `data` are its beginning) or ``cancelled``; a probe is ``found`` or ``none``. Both can be ``full`` (the card had
        no place for it) or ``lost`` (the card did not take it).
    source, tag, comm, size
        Those of the message, even if only its beginning fits or a probe found it. Set when there is a message.
    data
        The bytes in the buffer.
    turns
        Places of the post and of its message, or of its cancel, in the order in which the card took them, from 1.
    end_ps
        Simulated time when the program saw the end.
    """

    number: int
    status: str = ""
    source: int = -1
    tag: int = -1
    comm: int = -1
    size: int = 0
    data: bytes = b""
    turns: tuple[int, int] = (0, 0)
    attempts: int = 0
    unanswered: int = 0
    sent_ps: int = 0
    end_ps: int = 0
    mode: str = "receive"
    _frame: bytes = field(default=b"", repr=False)
    _block: tuple[int, int] | None = field(default=None, repr=False)
    _cancels: int = field(default=-1, repr=False)  # frames sent to cancel it; -1 unless it is to be cancelled
    _cancel_ps: int = field(default=0, repr=False)
    _holds: bool = field(default=False, repr=False)
    _wanted: str = field(default="", repr=False)

    def __str__(self) -> str:
        """Name the receive or probe in errors."""
        return f"{self.mode} {self.number} ({self._wanted})"


class Blocks:
    """Parts of a range of memory, at multiples of 64."""

    def __init__(self, begin: int, end: int) -> None:
        self._begin = -(-begin // 64) * 64
        self._free = [(self._begin, end)]

    def take(self, size: int) -> tuple[int, int]:
        """Begin and end of free memory; the first that fits."""
        size = -(-max(size, 1) // 64) * 64
        for at, (begin, end) in enumerate(self._free):
            if end - begin >= size:
                self._free[at] = (begin + size, end)
                return begin, begin + size
        raise UsageError(f"there are no {size} bytes left for buffers", hint="a greater area_bytes")

    def give_back(self, block: tuple[int, int]) -> None:
        """Free a block, and join it with its neighbours."""
        joined: list[tuple[int, int]] = []
        for begin, end in sorted([*self._free, block]):
            if joined and joined[-1][1] == begin:
                joined[-1] = (joined[-1][0], end)
            else:
                joined.append((begin, end))
        self._free = joined


@dataclass(frozen=True, kw_only=True)
class Matching:
    """Cards that match messages, on the nodes of a network. Rank *r* is node *r*.

    Attributes
    ----------
    receives
        Largest number of receives of a card that are posted, or whose message is arriving.
    unexpected
        Largest number of messages that wait on a card for a receive.
    area_bytes
        Host memory of a card for buffers.

    Examples
    --------
    >>> Matching(unexpected=64).memory_bytes
    65600
    """

    receives: int = 128
    unexpected: int = 128
    area_bytes: int = 4 << 20

    def __post_init__(self) -> None:
        """Refuse lists that no card can hold."""
        for name, least, most in (
            ("receives", 1, 512),
            ("unexpected", PEERS + 1, 900),
            ("area_bytes", 64, 1 << 30),
        ):
            value = _core.whole(name, getattr(self, name))
            if not least <= value <= most:
                raise UsageError(f"{name} is {value}, must be {least} to {most}")

    @property
    def memory_bytes(self) -> int:
        """Bytes of handler memory: `match_memory_t`."""
        return 64 + self.unexpected * UNIT

    @property
    def scratchpad_bytes(self) -> int:
        """Bytes of scratchpad: the state, and memory of each core."""
        state = 4 + 3 * 8 + 2 * 12 + 8 + 4 * WINDOW + PEERS * 4 * (1 + WINDOW)
        state += self.unexpected * 48 + self.receives * (11 * 4 + 10 * 4 + 5 * 4 + MAX_BYTES // UNIT // 8)
        core = NUMBERS["CHUNK_UNITS"] * NUMBERS["FRAME_BYTES"] + 64
        return -(-state // 64) * 64 + 8 * core

    @property
    def host_bytes(self) -> int:
        """Bytes of host memory, from `HOST_AT` on."""
        return _AREA_AT + self.area_bytes

    @property
    def defines(self) -> dict[str, str | int]:
        """Macros for the handler."""
        return {
            "MATCH_RECEIVES": self.receives,
            "MATCH_UNEXPECTED": self.unexpected,
            "MATCH_SCRATCHPAD_BYTES": self.scratchpad_bytes,
        }

    def node(self) -> dict[str, Any]:
        """Keys of a network's node."""
        context = {
            "name": "matching",
            "match": f"ipv4.header_words == 5 && udp.dst_port == {PORT}",
            "message": "by udp.src_port until udp.dst_port == 0",  # messages that do not end
            "handler_memory": {"size": self.memory_bytes},
            "host_memory": {"addr": HOST_AT, "size": self.host_bytes},
            "scratchpad_bytes": self.scratchpad_bytes,
        }
        return {"program": wire.program("matching.c", self.defines), "context": [context]}

    def network(self, ranks: int, *, faults: str = "") -> dict[str, Any]:
        """Keys of a star of `ranks` nodes. `faults` are those of all links, such as ``loss=0.01,duplicate=0.05``."""
        if not 2 <= _core.whole("ranks", ranks) <= PEERS:
            raise UsageError(f"ranks is {ranks}, must be 2 to {PEERS}")
        lossy = {"faults": faults, "faults_back": faults} if faults else {}
        return {
            "topology": {"name": "star", "nodes": ranks},
            # source: sPIN, SC 2017: 400 Gbit/s, 33.4 ns
            "link": {"rate": "400G", "delay": "33400 ps", **lossy},
            "nodes": [{"name": "n*", **self.node()}],
        }

    def connect(self, host: RunningHost, **settings: int) -> Endpoint:
        """The endpoint of a host, for its program. `settings` are those of `Endpoint`."""
        return Endpoint(host, area_bytes=self.area_bytes, **settings)

    @staticmethod
    def events(memory: bytes) -> dict[str, int]:
        """Counters of events, from a card's handler memory."""
        return dict(zip(EVENTS, struct.unpack_from(f"<{len(EVENTS)}i", memory), strict=True))


class Endpoint:
    """Messages of a host. `send` and `post` begin, and take no time; `wait` is a generator for ``yield from``.

    Parameters
    ----------
    timeout_ns
        Time after which a message or receive that the card has not taken is repeated. It doubles with each of the first
        repetitions. For a message, it is multiplied by 1 plus its number of whole 64 KiB.
    attempts
        Number of attempts without an answer after which the endpoint gives up.
    poll_ns
        Time between two looks at host memory.
    patience_ns
        Time after which `wait` fails if nothing that it waits for has ended meanwhile.
    """

    def __init__(
        self,
        host: RunningHost,
        *,
        area_bytes: int,
        timeout_ns: int = 20_000,
        attempts: int = 50,
        poll_ns: int = 50,  # assumed: as in spinet.services.Client
        patience_ns: int = 20_000_000,  # assumed: more than the 15 ms of all attempts of a message below 64 KiB
    ) -> None:
        settings = {"attempts": attempts, "timeout_ns": timeout_ns, "poll_ns": poll_ns, "patience_ns": patience_ns}
        for name, value in settings.items():
            _core.whole(name, value, bits=63, least=1)
        self.host = host
        self._timeout_ps, self._attempts, self._poll_ns = timeout_ns * 1000, attempts, poll_ns
        self._patience_ns = patience_ns
        self._blocks = Blocks(_AREA_AT, _AREA_AT + area_bytes)
        self._taken = 0
        self._gaps: dict[int, int] = {}
        self._posted = 0
        self._receives: dict[int, Receive] = {}
        self._numbers: dict[int, int] = {}
        self._sends: dict[int, dict[int, Send]] = {}
        self._queues: dict[int, deque[Send]] = {}
        self._queue: deque[Receive] = deque()

    def send(self, to: int, data: bytes, *, tag: int, comm: int = 0) -> Send:
        """Send a message to a rank. Messages to one rank keep their order.

        Raises
        ------
        UsageError
            If the message is too long, there is no such rank, or it has not taken an earlier message.
        """
        if not 0 <= to < min(PEERS, len(self.host.nodes)):
            raise UsageError(f"to is {to}, must be 0 to {min(PEERS, len(self.host.nodes)) - 1}")
        if len(data) > MAX_BYTES:
            raise UsageError(f"the message has {len(data)} bytes, must have at most {MAX_BYTES}")
        if to in self._gaps:
            raise UsageError(f"rank {to} did not take message {self._gaps[to]}, so it can take no later one")
        number = self._numbers.get(to, 0) + 1
        self._numbers[to] = number
        made = Send(to=to, number=number, size=len(data))
        head: dict[str, Any] = {"sender": self.host.number, "number": number, "peer": to, "size": len(data)}
        head |= {"tag": tag, "comm": comm}
        if len(data) <= UNIT:
            frame = Head(kind="eager", count=len(data), **head).frame(data, source=self.host.number, target=to)
        else:
            made._block = self._blocks.take(len(data))
            self.host.write(HOST_AT + made._block[0], data)
            frame = Head(kind="rts", address=made._block[0], **head).frame(source=self.host.number, target=to)
        made._frame = frame
        self._queues.setdefault(to, deque()).append(made)
        self._begin()
        return made

    def post(self, size: int, *, source: int | None = None, tag: int = 0, ignore: int = 0, comm: int = 0) -> Receive:
        """Post a receive with a buffer of `size` bytes.

        Parameters
        ----------
        source
            Rank of the sender. Default: any.
        tag, ignore
            The tag, and its bits that may differ; `ANY_TAG` ignores all.
        comm
            The communicator.
        """
        self._check_source(source)
        block = self._blocks.take(size)
        return self._post("receive", block, source, size=size, address=block[0], tag=tag, ignore=ignore, comm=comm)

    def probe(
        self, *, source: int | None = None, tag: int = 0, ignore: int = 0, comm: int = 0, take: bool = False
    ) -> Receive:
        """Look for a message that a receive with these parameters would take at once: MPI's ``Iprobe`` or ``Improbe``.

        Parameters
        ----------
        take
            If a message is found, no other receive or probe can have it. `receive` gets it.
        """
        self._check_source(source)
        mode = "improbe" if take else "iprobe"
        return self._post(mode, None, source, address=_AREA_AT, tag=tag, ignore=ignore, comm=comm)

    def receive(self, probe: Receive, size: int) -> Receive:
        """Receive the message that a probe has found and taken, into a buffer of `size` bytes: MPI's ``Mrecv``.

        Raises
        ------
        UsageError
            If the probe has no message, or the message was received already.
        """
        if not (probe._holds and probe.status == "found"):
            raise UsageError(f"probe {probe.number} holds no message: mode {probe.mode}, status {probe.status!r}")
        block = self._blocks.take(size)
        probe._holds = False
        return self._post("mrecv", block, None, size=size, address=block[0], receive=probe.number)

    def cancel(self, receive: Receive) -> None:
        """Cancel a posted receive. It ends with ``cancelled``, or as usual if it has a message before the card knows.

        Raises
        ------
        UsageError
            If it is a probe, or the receive of a message that a probe holds.
        """
        if receive.mode != "receive":
            raise UsageError(f"{receive.mode} {receive.number} cannot be cancelled; only posted receives can")
        if not receive.status and receive._cancels < 0:
            receive._cancels = 0

    def _check_source(self, source: int | None) -> None:
        if source is not None and not 0 <= source < PEERS:
            raise UsageError(f"source is {source}, must be 0 to {PEERS - 1}")

    def _post(self, mode: str, block: tuple[int, int] | None, source: int | None, **head: int) -> Receive:
        self._posted += 1
        own = self.host.number
        made = Receive(number=self._posted, mode=mode, _block=block, _holds=mode == "improbe")
        if mode == "mrecv":
            made._wanted = f"the message of probe {head['receive']}"
        else:
            sender = "any rank" if source is None else f"rank {source}"
            made._wanted = f"from {sender}, tag {head['tag']}, ignore {head['ignore']:#x}, comm {head['comm']}"
        peer = NUMBERS["ANY"] if source is None else source
        frame = Head(kind="post", mode=MODES[mode], sender=own, number=self._posted, peer=peer, **head)
        made._frame = frame.frame(source=own, target=own)
        self._queue.append(made)
        self._begin()
        return made

    def wait(self, *wanted: Send | Receive) -> Steps:
        """Wait until all of these have ended.

        Raises
        ------
        UsageError
            If none of them has ended for `patience_ns`: for example, the program of a receive's sender has ended.
        """
        waiting = [one for one in wanted if not one.status]
        since_ps = self.host.now_ps
        while waiting:
            yield self.host.sleep(f"{self._poll_ns} ns")
            yield from self._look()
            left = [one for one in waiting if not one.status]
            if len(left) < len(waiting):
                waiting, since_ps = left, self.host.now_ps
            elif self.host.now_ps - since_ps >= self._patience_ns * 1000:
                raise UsageError(
                    f"the host of {self.host.name} waited {self._patience_ns} ns for {', '.join(map(str, waiting))}",
                    hint="does the other program still run? A greater patience_ns waits longer",
                )

    def progress(self, time_ns: int) -> Steps:
        """For this time, look at host memory and repeat messages and receives without an answer."""
        end_ps = self.host.now_ps + time_ns * 1000
        while self.host.now_ps < end_ps:
            yield self.host.sleep(f"{self._poll_ns} ns")
            yield from self._look()

    def _begin(self) -> None:
        """Send the messages that the window of this receiver allows."""
        first = min(self._receives, default=self._posted + 1)
        # A receive occupies its place among the records until it has ended.
        while self._queue and self._queue[0].number <= self._taken + WINDOW:
            if self._queue[0].number - first >= NUMBERS["RECORDS"]:
                break
            receive = self._queue.popleft()
            self._receives[receive.number] = receive
            self._transmit(receive)
        for to, queue in self._queues.items():
            sent = self._sends.setdefault(to, {})
            while queue:
                waiting = [send.number for send in sent.values() if not send.is_accepted]
                if queue[0].number - min(waiting, default=queue[0].number) >= WINDOW:
                    break
                if queue[0].number - min(sent, default=queue[0].number) >= _ANSWERS:
                    break
                send = queue.popleft()
                sent[send.number] = send
                self._transmit(send)

    def _transmit(self, one: Send | Receive) -> None:
        one.attempts += 1
        one.unanswered += 1
        one.sent_ps = self.host.now_ps
        self.host.send_frame(one._frame)

    def _is_overdue(self, one: Send | Receive) -> bool:
        """True if it is time to repeat. The interval grows with each repetition, so that cards can catch up."""
        timeout_ps = self._timeout_ps << min(one.attempts - 1, _DOUBLINGS)
        if isinstance(one, Send):
            timeout_ps *= 1 + one.size // 65536
        return self.host.now_ps - one.sent_ps >= timeout_ps

    def _look(self) -> Steps:
        """Look at host memory, and repeat messages and receives without an answer."""
        memory: bytes = yield self.host.read(HOST_AT, _AREA_AT)
        self._taken = max(self._taken, int.from_bytes(memory[:4], "little"))
        for receive in list(self._receives.values()):
            yield from self._look_for(receive, memory)
        for sent in self._sends.values():
            for send in list(sent.values()):
                self._look_at(send, memory)
        self._begin()

    def _look_for(self, receive: Receive, memory: bytes) -> Steps:
        at = NUMBERS["RECORDS_AT"] + receive.number % NUMBERS["RECORDS"] * _RECORD.size
        number, status, comm, source, tag, size, stored, posted, arrived = _RECORD.unpack_from(memory, at)
        if number == receive.number and status:
            if receive._block is not None:
                receive.data = yield self.host.read(HOST_AT + receive._block[0], stored)
            if STATUS[status] in ("ok", "truncated", "found"):
                receive.source, receive.tag, receive.comm, receive.size = source, tag, comm, size
            receive.turns = posted, arrived
            self._end(receive, STATUS[status])
        elif receive.number > self._taken and self._is_overdue(receive):
            if receive.unanswered == self._attempts:
                self._end(receive, "lost")
            else:
                self._transmit(receive)
        elif receive.number <= self._taken and receive._cancels >= 0:
            self._cancel_taken(receive)

    def _cancel_taken(self, receive: Receive) -> None:
        """Ask the card, which has taken the receive, to cancel it; again after some time without a record."""
        timeout_ps = self._timeout_ps << min(receive._cancels, _DOUBLINGS)
        if receive._cancels == 0 or self.host.now_ps - receive._cancel_ps >= timeout_ps:
            receive._cancels += 1
            receive._cancel_ps = self.host.now_ps
            own = self.host.number
            self.host.send_frame(Head(kind="cancel", sender=own, number=receive.number).frame(source=own, target=own))

    def _look_at(self, send: Send, memory: bytes) -> None:
        at = NUMBERS["ANSWERS_AT"] + (send.to * _ANSWERS + send.number % _ANSWERS) * _PAIR.size
        number, kind, done, _ = _PAIR.unpack_from(memory, at)
        is_long = send._block is not None
        if number == send.number:
            if kind == KINDS["accepted"]:
                send.is_accepted, send.is_busy = True, False
                send.unanswered = 0
            else:
                send.is_busy = True
        if done == send.number or (send.is_accepted and not is_long):
            self._end(send, "ok")
        elif self._is_overdue(send):
            if send.unanswered == self._attempts:
                self._end(send, "busy" if send.is_busy else "lost")
                self._gaps.setdefault(send.to, send.number)
            else:
                self.host.write(HOST_AT + at, bytes(8))  # clear the old answer, to see a new one
                self._transmit(send)

    def _end(self, one: Send | Receive, status: str) -> None:
        one.status, one.end_ps = status, self.host.now_ps
        if one._block is not None:
            self._blocks.give_back(one._block)
        if isinstance(one, Receive):
            del self._receives[one.number]
        else:
            del self._sends[one.to][one.number]
