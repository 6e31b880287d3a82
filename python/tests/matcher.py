# SPDX-License-Identifier: Apache-2.0
"""Message matching in plain Python: MPI's rules, and a check of results by them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


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
    """The two lists of a receiver."""

    posted: list[Posted] = field(default_factory=list)
    unexpected: list[Message] = field(default_factory=list)

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
        for message in self.unexpected:
            if receive.fits(message):
                self.unexpected.remove(message)
                return message
        self.posted.append(receive)
        return None


def check_order(posts: Sequence[Posted], taken: Mapping[int, Message], turns: Mapping[int, tuple[int, int]]) -> None:
    """Check pairs of receives and messages against `Matcher`, with the events in the order that a card reports.

    Parameters
    ----------
    posts
        All receives.
    taken
        The message of each receive, by number; receives without one are absent.
    turns
        Places of these receives and their messages in the order of events.

    Raises
    ------
    AssertionError
        If receives, or messages of a sender, overtake each other, or `Matcher` makes other pairs.
    """
    events: dict[int, Posted | Message] = {}
    for post in posts:
        if post.number in taken:
            posted, arrived = turns[post.number]
            assert not {posted, arrived} & set(events), f"turns {posted} and {arrived} come twice"
            events[posted], events[arrived] = post, taken[post.number]
    # The other receives have the turns that are left, in their order.
    total = len(posts) + len(taken)
    open_turns = [turn for turn in range(1, total + 1) if turn not in events]
    events.update(zip(open_turns, (post for post in posts if post.number not in taken), strict=True))
    matcher, last, found = Matcher(), dict[int | None, int](), dict[int, Message]()
    for turn in sorted(events):
        event = events[turn]
        if isinstance(event, Posted):
            message, receive = matcher.post(event), event
            key = None
        else:
            message, receive = event, matcher.arrive(event)
            key = event.source
        assert event.number == last.get(key, 0) + 1, f"{event} follows number {last.get(key, 0)}"
        last[key] = event.number
        if message is not None and receive is not None:
            found[receive.number] = message
    for post in posts:
        assert found.get(post.number) == taken.get(post.number), post
