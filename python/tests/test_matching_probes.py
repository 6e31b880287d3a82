# SPDX-License-Identifier: Apache-2.0
"""Probes for messages, and cancelled receives, against `matcher`: on a single card, and on networks with faults."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Matching, matching
from spinet.services.matching import ANY_TAG, UNIT

from matcher import End, Matcher, Message, Posted, replay
from test_matching import SIZES, Node, changed, drawn_receive, seeded

Steps = Generator[Any, Any, None]


def check_schedule(node: Node, draw: random.Random, *, events: int = 90) -> Counter[str]:
    """Draw messages, receives, probes and cancels, one after the other, and compare each result with the reference."""
    matcher, sources, seen = Matcher(), 3, Counter[str]()
    contents: dict[Message, bytes] = {}
    expected: dict[int, tuple[str, Message | None, int]] = {}  # status, message, size of the buffer
    sizes: dict[int, int] = {}
    probes: list[int] = []
    for turn in range(1, events + 1):
        what = draw.choice(("message",) * 4 + ("receive", "receive", "iprobe", "improbe", "mrecv", "cancel"))
        if what == "message":
            source = draw.randrange(sources)
            data = draw.randbytes(draw.choice(SIZES))
            message = Message(
                source=source, number=node.numbers[source] + 1, tag=draw.randrange(4) | turn << 8,
                comm=draw.choice((7, 7, 8)),
            )  # fmt: skip
            contents[message] = data
            frame = node.message(source, data, tag=message.tag, comm=message.comm)
            receive = matcher.arrive(message)
            if receive is not None:
                expected[receive.number] = "ok", message, sizes[receive.number]
        elif what == "cancel":
            # Posted, ended, or not known yet.
            number = draw.choice([one.number for one in matcher.posted] + [draw.randrange(1, node.posted + 2)])
            frame = node.cancel(number)
            if matcher.cancel(number):
                expected[number] = "cancelled", None, 0
                seen["cancelled"] += 1
        else:
            tags = [message.tag for message in matcher.unexpected] + list(range(4))
            wanted = drawn_receive(draw, node.posted + 1, sources, tags)
            size = sizes[wanted.number] = draw.choice(SIZES) if what in ("receive", "mrecv") else 0
            # Also probes that hold nothing, or not any more.
            probe = draw.choice([*matcher.held, *matcher.held, node.posted, *probes]) if what == "mrecv" else 0
            probes += [wanted.number] if what == "improbe" else []
            frame = node.post(
                size,
                source=wanted.source,
                tag=wanted.tag,
                ignore=wanted.ignore,
                comm=wanted.comm,
                mode=what,
                probe=probe,
            )
            found: Message | None
            if what == "receive":
                found = matcher.post(wanted)
            elif what == "mrecv":
                found = matcher.held.pop(probe, None)
            else:
                found = (matcher.take if what == "improbe" else matcher.probe)(wanted)
            if found is not None or what != "receive":
                status = "none" if found is None else "ok" if what in ("receive", "mrecv") else "found"
                expected[wanted.number] = status, found, size
                seen[f"{what} {status}"] += 1
        node.process(frame, draw=draw)
        for number in sizes:
            status, seen_message, n_bytes, content = node.record(number)
            if number not in expected:
                assert status == "", f"{what}: post {number} ended with {status}, {seen_message}"
                continue
            wanted_status, message_or_none, size = expected[number]
            data = b"" if message_or_none is None else contents[message_or_none]
            if wanted_status == "ok" and len(data) > size:
                wanted_status = "truncated"
            assert (status, n_bytes) == (wanted_status, len(data)), (what, number)
            if message_or_none is not None:
                assert seen_message is not None
                found_envelope = seen_message.source, seen_message.tag, seen_message.comm
                assert found_envelope == (message_or_none.source, message_or_none.tag, message_or_none.comm), number
            assert content == (data[:size] if status in ("ok", "truncated") else b""), number
    return seen


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_card_probes_and_cancels_as_the_reference_does(seed: int) -> None:
    node = Node(service=Matching())
    seen = check_schedule(node, seeded(seed))
    assert all(seen[what] for what in ("iprobe found", "improbe found", "mrecv ok", "cancelled")), seen
    assert node.events["refused"] == 0


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("matching.c", "holds ? take_unexpected(state, receive)", "0 ? take_unexpected(state, receive)"),
        ("matching.c", "names ? take_held(state, receive->probe)", "names ? take_unexpected(state, receive)"),
        ("matching_lists.h", "receive_of(state, *link)->number == number", "1"),
        ("matching_lists.h", "entry != 0 && !fits(receive, &unexpected_of(state, entry)->message)", "0"),
        ("matching.c", "            unexpected_of(state, found)->probe = number;\n", ""),
    ],
)
def test_schedules_find_mistakes(tmp_path: Path, file: str, old: str, new: str) -> None:
    node = Node(service=Matching(), program=changed(tmp_path, file, old, new))
    with pytest.raises((AssertionError, UsageError)):
        check_schedule(node, seeded(2))


def test_a_held_message_is_for_its_own_receive_only() -> None:
    node = Node(service=Matching())
    node.process(node.message(1, b"first", tag=5), node.message(1, b"second", tag=5))
    node.process(node.post(0, source=1, tag=5, mode="improbe"))
    node.process(node.post(9, source=1, tag=5))
    assert (node.record(1)[0], node.record(2)[3]) == ("found", b"second")
    node.process(node.post(0, source=1, tag=5, mode="iprobe"))
    assert node.record(3)[0] == "none"
    node.process(node.post(9, mode="mrecv", probe=1))
    assert node.record(4)[3] == b"first"
    node.process(node.post(9, mode="mrecv", probe=1))
    assert node.record(5)[0] == "none"


def test_the_sender_of_a_held_long_message_does_not_learn_that_it_is_done() -> None:
    node = Node(service=Matching())
    announcement = node.message(1, bytes(range(250)) * 20, tag=5)
    node.process(announcement)
    node.process(node.post(0, tag=5, mode="improbe"))
    assert [head.kind for head in node.process(announcement)] == ["accepted"]
    assert [head.kind for head in node.process(node.post(5000, mode="mrecv", probe=1))] == ["done"]
    assert node.record(2)[3] == bytes(range(250)) * 20
    assert [head.kind for head in node.process(announcement)] == ["done"]


@pytest.mark.parametrize("seed", range(4))
def test_posts_take_their_place_by_number(seed: int) -> None:
    """Posts of all modes, and messages of one sender, arrive in any order and repeatedly; only their numbers matter."""
    draw, node = seeded(seed), Node(service=Matching())
    data = {number: draw.randbytes(draw.choice(SIZES)) for number in range(1, 11)}
    messages = {n: Message(source=1, number=n, tag=draw.randrange(2) | n << 8) for n in data}
    frames = [node.message(1, data[n], tag=message.tag) for n, message in messages.items()]
    ends, probes = [], [0]
    for number in range(1, 15):
        mode = draw.choice(("receive", "iprobe", "improbe", "mrecv"))
        probe = draw.choice(probes)
        probes += [number] if mode == "improbe" else []
        wanted = Posted(number=number, source=None, tag=draw.randrange(2), ignore=draw.choice((0xFFFF_FF00, ANY_TAG)))
        size = 50 * UNIT if mode in ("receive", "mrecv") else 0
        frames.append(node.post(size, tag=wanted.tag, ignore=wanted.ignore, mode=mode, probe=probe))
        ends.append(End(posted=wanted, mode=mode, probe=probe))
    frames += draw.sample(frames, 10)
    draw.shuffle(frames)
    node.process(*frames, draw=draw)
    rest = node.posted
    for _ in messages:  # so that each message has a receive
        node.process(node.post(50 * UNIT, ignore=ANY_TAG))
        ends.append(End(posted=Posted(number=node.posted, source=None, tag=0, ignore=ANY_TAG)))
    for end in ends:
        if end.mode == "improbe" and node.record(end.posted.number)[0] == "found":
            node.process(node.post(50 * UNIT, mode="mrecv", probe=end.posted.number))
            ends.append(
                End(posted=Posted(number=node.posted, source=None, tag=0), mode="mrecv", probe=end.posted.number)
            )
    done = []
    for end in ends:
        status, found, _, content = node.record(end.posted.number)
        message = None if found is None or status == "none" else messages[found.tag >> 8]
        if message is not None and end.mode in ("receive", "mrecv"):
            assert content == data[message.number]
        done.append(replace(end, status=status, message=message, turns=node.turns(end.posted.number)))
    replay(done)
    assert node.events["early"] > 0 and rest == 14


@dataclass(kw_only=True)
class World:
    """A drawn program with probes and cancels on a network, and its results."""

    seed: int
    ranks: int = 3
    each: int = 7  # messages of a rank to another one
    contents: dict[tuple[int, Message], bytes] = field(default_factory=dict)  # by receiver
    posts: dict[int, list[tuple[End, int, matching.Receive]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = seeded(self.seed)
        self.sent: dict[int, dict[int, list[Message]]] = {}  # by sender and receiver
        for source in range(self.ranks):
            self.sent[source] = {to: [] for to in range(self.ranks)}
            for to in range(self.ranks):
                for number in range(1, self.each + 1):
                    tag = draw.randrange(3) | len(self.contents) + 1 << 8
                    message = Message(source=source, number=number, tag=tag)
                    self.sent[source][to].append(message)
                    self.contents[to, message] = draw.randbytes(draw.choice(SIZES))
        self.by_tag = {message.tag: message for _, message in self.contents}

    def program(self, service: Matching, host: RunningHost) -> Steps:
        """Send, receive, probe and cancel in a drawn order; at the end, receive what is left."""
        own = random.Random(self.seed * 100 + host.number)
        endpoint = service.connect(host, timeout_ns=10_000, poll_ns=200)
        rest = {to: list(messages) for to, messages in self.sent[host.number].items()}
        posts = self.posts[host.number] = []
        sends, probes = [], []
        yield host.sleep("20 us")

        def keep(made: matching.Receive, size: int = 0, probe: int = 0, **wanted: Any) -> matching.Receive:
            posted = Posted(number=made.number, source=None, **{"tag": 0, **wanted})
            posts.append((End(posted=posted, mode=made.mode, probe=probe), size, made))
            return made

        def post(ignore: int = 0xFFFF_FF00) -> matching.Receive:
            wanted = {"tag": own.randrange(3), "ignore": ignore}
            size = own.choice((*SIZES, 50 * UNIT))
            return keep(endpoint.post(size, **wanted), size, **wanted)

        def receive_found() -> None:
            for probe in [probe for probe in probes if probe.status]:
                probes.remove(probe)
                if probe.status == "found":
                    size = own.choice(SIZES)
                    keep(endpoint.receive(probe, size), size, probe.number)

        while any(rest.values()):
            to = own.choice([to for to, messages in rest.items() if messages])
            message = rest[to].pop(0)
            sends.append(endpoint.send(to, self.contents[to, message], tag=message.tag))
            if own.random() < 0.8:
                made = post()
                if own.random() < 0.4:
                    endpoint.cancel(made)
            if own.random() < 0.5:
                wanted = {"tag": own.randrange(3), "ignore": 0xFFFF_FF00}
                take = own.random() < 0.5
                probe = keep(endpoint.probe(take=take, **wanted), **wanted)
                probes += [probe] if take else []
            receive_found()
            yield from endpoint.progress(own.randrange(1, 3000))
        yield from endpoint.progress(40_000)
        for _ in range(60):
            receive_found()
            done = [made for end, _, made in posts if made.status in ("ok", "truncated")]
            left = self.ranks * self.each - len(done)
            if left == 0 and not probes:
                break
            for _ in range(
                min(left, 8) if not any(not m.status for e, _, m in posts if e.posted.ignore == ANY_TAG) else 0
            ):
                post(ANY_TAG)
            yield from endpoint.progress(20_000)
        for _, _, made in posts:
            if not made.status:
                endpoint.cancel(made)
        yield from endpoint.wait(*sends, *(made for _, _, made in posts))
        yield from endpoint.progress(100_000)  # others may miss answers

    def run(self, faults: str) -> Counter[str]:
        """Run it on a network, and compare all results with the reference."""
        service = Matching(receives=256, unexpected=512, area_bytes=32 << 20)
        net = spinet.Network(service.network(self.ranks, faults=faults), limit="100 ms", seed=self.seed)
        for node in net.nodes:
            node.host.program = lambda host: self.program(service, host)
        assert net.run().ended == "complete"
        seen = Counter[str]()
        for rank, posts in self.posts.items():
            ends = []
            for end, size, made in posts:
                has_message = made.status in ("ok", "truncated", "found")
                message = self.by_tag[made.tag] if has_message else None
                if made.status in ("ok", "truncated"):
                    assert message is not None
                    data = self.contents[rank, message]
                    assert (made.data, made.size) == (data[:size], len(data))
                    assert made.status == ("truncated" if len(data) > size else "ok")
                ends.append(replace(end, status=made.status, message=message, turns=made.turns))
                seen[f"{made.mode} {made.status}"] += 1
            replay(ends)
        return seen


@pytest.mark.parametrize(("seed", "faults"), [(1, ""), (2, "loss=0.05,duplicate=0.05,reorder=0.2:8")])
def test_drawn_programs_with_probes_and_cancels_match_as_the_reference_does(seed: int, faults: str) -> None:
    seen = World(seed=seed).run(faults)
    wanted = ("receive ok", "receive cancelled", "iprobe found", "iprobe none", "improbe found", "mrecv ok")
    assert all(seen[what] for what in wanted), seen


def test_what_cannot_be_cancelled_or_received_is_refused() -> None:
    endpoint = Matching(area_bytes=4096).connect(RunningHost(0, ["n0", "n1"]))
    probe, taking = endpoint.probe(tag=1), endpoint.probe(tag=1, take=True)
    with pytest.raises(UsageError, match="iprobe 1 cannot be cancelled; only posted receives can"):
        endpoint.cancel(probe)
    for one in (probe, taking):
        with pytest.raises(UsageError, match=f"probe {one.number} holds no message: mode {one.mode}, status ''"):
            endpoint.receive(one, 64)
    with pytest.raises(UsageError, match="source is 16, must be 0 to 15"):
        endpoint.probe(source=16)
