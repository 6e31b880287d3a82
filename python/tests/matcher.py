# SPDX-License-Identifier: Apache-2.0
"""Message matching in plain Python: MPI's rules, and a check of results by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace


@dataclass(frozen=True, kw_only=True)
class Message:
    """A message: sender, its number there, and the rest of its envelope."""

    source: int
    number: int
    tag: int
    comm: int = 0


@dataclass(frozen=True, kw_only=True)
class Posted:
    """A receive. `source` is None for any."""

    number: int
    source: int | None
    tag: int
    ignore: int = 0
    comm: int = 0

    def fits(self, message: Message) -> bool:
        """True if it may take the message."""
        return (
            self.comm == message.comm
            and self.source in (None, message.source)
            and self.tag & ~self.ignore == message.tag & ~self.ignore
        )


@dataclass
class Matcher:
    """The two lists of a receiver, and the messages that probes hold."""

    posted: list[Posted] = field(default_factory=list)
    unexpected: list[Message] = field(default_factory=list)
    held: dict[int, Message] = field(default_factory=dict)  # by number of the probe

    def arrive(self, message: Message) -> Posted | None:
        """A message arrives. Returns the receive that takes it."""
        for receive in self.posted:
            if receive.fits(message):
                self.posted.remove(receive)
                return receive
        self.unexpected.append(message)
        return None

    def post(self, receive: Posted) -> Message | None:
        """The program posts a receive. Returns the message that it takes."""
        message = self.probe(receive)
        if message is None:
            self.posted.append(receive)
        else:
            self.unexpected.remove(message)
        return message

    def probe(self, probe: Posted) -> Message | None:
        """The message that a receive with these parameters would take now."""
        return next((message for message in self.unexpected if probe.fits(message)), None)

    def take(self, probe: Posted) -> Message | None:
        """The same; the probe holds the message."""
        message = self.probe(probe)
        if message is not None:
            self.unexpected.remove(message)
            self.held[probe.number] = message
        return message

    def cancel(self, number: int) -> bool:
        """Remove a posted receive. False if it has its message."""
        found = [receive for receive in self.posted if receive.number == number]
        self.posted = [receive for receive in self.posted if receive.number != number]
        return bool(found)


@dataclass(frozen=True, kw_only=True)
class End:
    """A receive or probe, with what a card reported of it.

    Attributes
    ----------
    mode
        ``receive``, ``iprobe``, ``improbe`` or ``mrecv``.
    status
        ``cancelled``, or anything else; empty if a receive is open.
    message
        The message that it took or found.
    turns
        Places of the post, and of the message or the cancel, in the order of events.
    probe
        Of ``mrecv``: number of the probe that holds the message.
    """

    posted: Posted
    mode: str = "receive"
    status: str = "ok"
    message: Message | None = None
    turns: tuple[int, int] = (0, 0)
    probe: int = 0


def replay(ends: Sequence[End]) -> None:
    """Check what a card reported against `Matcher`, with the events in the order that the card reports.

    Parameters
    ----------
    ends
        All posts. Each message must be that of a post.

    Raises
    ------
    AssertionError
        If posts, or messages of a sender, overtake each other, or `Matcher` finds something else.
    """
    events: dict[int, End | Message | int] = {}

    def put(turn: int, event: End | Message | int) -> None:
        known = events.setdefault(turn, event)
        assert known is event or (isinstance(event, Message) and known == event), f"turn {turn}: {known} and {event}"

    for end in ends:
        if end.status:
            put(end.turns[0], end)
        if end.status == "cancelled":
            put(end.turns[1], end.posted.number)
        elif end.message is not None:
            put(end.turns[1], end.message)
    # The open receives get the remaining turns, in their order.
    still_open = [end for end in ends if not end.status]
    left = [turn for turn in range(1, len(events) + len(still_open) + 1) if turn not in events]
    events.update(zip(left, still_open, strict=True))
    matcher, last = Matcher(), dict[int | None, int]()
    found: dict[int, Message | None] = {}
    for turn in sorted(events):
        event = events[turn]
        if isinstance(event, int):
            assert matcher.cancel(event), f"receive {event} has its message before turn {turn}"
            continue
        key, number = (event.source, event.number) if isinstance(event, Message) else (None, event.posted.number)
        assert number == last.get(key, 0) + 1, f"{event} follows number {last.get(key, 0)}"
        last[key] = number
        if isinstance(event, Message):
            receive = matcher.arrive(event)
            if receive is not None:
                found[receive.number] = event
        elif event.mode == "receive":
            found.setdefault(number, matcher.post(event.posted))
        elif event.mode == "mrecv":
            found[number] = matcher.held.pop(event.probe, None)
        else:
            found[number] = (matcher.take if event.mode == "improbe" else matcher.probe)(event.posted)
    for end in ends:
        assert found.get(end.posted.number) == end.message, end


def check_order(posts: Sequence[Posted], taken: Mapping[int, Message], turns: Mapping[int, tuple[int, int]]) -> None:
    """Check pairs of receives and messages with `replay`.

    Parameters
    ----------
    posts
        All receives.
    taken
        The message of each receive, by number; receives without one are absent.
    turns
        Places of these receives and their messages in the order of events.
    """
    ends = {post.number: End(posted=post, status="") for post in posts}
    for number, message in taken.items():
        ends[number] = replace(ends[number], status="ok", message=message, turns=turns[number])
    replay(list(ends.values()))
