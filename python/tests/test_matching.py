# SPDX-License-Identifier: Apache-2.0
"""Message matching on cards against `matcher`: drawn schedules on single cards, and on networks with faults."""

from __future__ import annotations

import random
import shutil
import struct
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import spinet
from spinet._core import UsageError
from spinet.host_program import RunningHost
from spinet.services import Matching, matching
from spinet.services.matching import ANY_TAG, NUMBERS, UNIT, Head
from spinet.services.wire import SOURCES

from matcher import Matcher, Message, Posted, check_order
from rounds import Card

Steps = Generator[Any, Any, None]
OWN = 15  # rank of the card under test
SIZES = (0, 1, 63, 64, 65, 700, UNIT - 1, UNIT, UNIT + 1, 3 * UNIT, 4 * UNIT, 9 * UNIT + 5, 40 * UNIT + 1)
HIGH = 0xFFFF_FF00  # bits of a tag that make it unique


def seeded(seed: int) -> random.Random:
    print("seed", seed)
    return random.Random(seed)


@dataclass(kw_only=True)
class Node:
    """A card without a network. The test is its host, and all senders."""

    service: Matching
    program: Path = SOURCES / "matching.c"
    area: int = 1 << 20
    answers: list[Head] = field(default_factory=list)
    memories: dict[int, bytes] = field(default_factory=dict)  # of long messages, by their address

    def __post_init__(self) -> None:
        node = {**self.service.node(), "program": str(self.program), "defines": self.service.defines}
        self.card = Card(node, host=bytes(self.service.host_bytes))
        self.numbers: Counter[int] = Counter()
        self.posted = 0
        self.next = NUMBERS["AREA_AT"]

    def message(self, source: int, data: bytes, *, tag: int, comm: int = 0, number: int | None = None) -> bytes:
        """The frame of a message; an announcement if it is long."""
        self.numbers[source] += number is None
        head: dict[str, Any] = {
            "sender": source, "number": number or self.numbers[source], "tag": tag, "comm": comm, "peer": OWN,
            "size": len(data),
        }  # fmt: skip
        if len(data) <= UNIT:
            return Head(kind="eager", count=len(data), **head).frame(data, source=source, target=OWN)
        address = len(self.memories) << 21
        self.memories[address] = data
        return Head(kind="rts", address=address, **head).frame(source=source, target=OWN)

    def post(
        self, size: int, *, source: int | None = None, tag: int = 0, ignore: int = 0, comm: int = 0,
        mode: str = "receive", probe: int = 0,
    ) -> bytes:  # fmt: skip
        """The frame that posts a receive or probe. The buffer is at `buffers[number]`."""
        self.posted += 1
        self.buffers = {**getattr(self, "buffers", {}), self.posted: self.next}
        peer = NUMBERS["ANY"] if source is None else source
        head = Head(
            kind="post", mode=matching.MODES[mode], sender=OWN, number=self.posted, tag=tag, ignore=ignore, comm=comm,
            peer=peer, size=size, address=self.next, receive=probe,
        )  # fmt: skip
        self.next += size
        return head.frame(source=OWN, target=OWN)

    def cancel(self, number: int) -> bytes:
        """The frame that cancels a receive."""
        return Head(kind="cancel", sender=OWN, number=number).frame(source=OWN, target=OWN)

    def data(self, get: Head) -> list[bytes]:
        """The frames with which the card of the sender answers."""
        frames = []
        for at in range(get.at, get.at + get.count, UNIT):
            count = min(UNIT, get.at + get.count - at)
            head = Head(kind="data", sender=get.sender, number=get.number, at=at, count=count, receive=get.receive)
            content = self.memories[get.address][at : at + count]
            frames.append(head.frame(content, source=get.sender, target=OWN, port=NUMBERS["DATA_PORT"] + at % 31))
        return frames

    def process(self, *frames: bytes, draw: random.Random | None = None) -> list[Head]:
        """Process frames, and the data for which the card asks then: shuffled, some repeated, if `draw` is given."""
        answers, coming = [], list(frames)
        while coming:
            heads = [Head.parse(frame)[0] for frame in self.card.process(coming)]
            answers += [head for head in heads if head.kind != "get"]
            coming = [frame for head in heads if head.kind == "get" for frame in self.data(head)]
            if draw is not None:
                coming += draw.sample(coming, len(coming) // 8)
                draw.shuffle(coming)
        self.card.machine.step("3 us")  # writes may still be on their way
        return answers

    def record(self, number: int) -> tuple[str, Message | None, int, bytes]:
        """Status, message, its size, and the contents of the buffer, of a receive; an empty status if it is posted."""
        record = self.card.host.read(offset=NUMBERS["RECORDS_AT"] + number % NUMBERS["RECORDS"] * 32, size=32)
        found, status, comm, source, tag, size, stored, _, _ = struct.unpack("<IHH6I", record)
        if found != number or status == 0:
            return "", None, 0, b""
        content = self.card.host.read(offset=self.buffers[number], size=stored) if stored else b""
        return matching.STATUS[status], Message(source=source, number=-1, tag=tag, comm=comm), size, content

    def turns(self, number: int) -> tuple[int, int]:
        """Places of a post and its message in the order of events."""
        at = NUMBERS["RECORDS_AT"] + number % NUMBERS["RECORDS"] * 32
        posted, arrived = struct.unpack("<II", self.card.host.read(offset=at + 24, size=8))
        return posted, arrived

    @property
    def events(self) -> dict[str, int]:
        return Matching.events(self.card.memory.read())


def drawn_receive(own: random.Random, number: int, sources: int, tags: list[int]) -> Posted:
    """A receive with or without wildcards."""
    tag = own.choice(tags)
    ignore = own.choice((0, HIGH, HIGH, HIGH, ANY_TAG, 0xFFFF_FF03))
    source = own.choice((None, *range(sources)))
    return Posted(number=number, source=source, tag=tag, ignore=ignore, comm=own.choice((7, 7, 8)))


def check_schedule(node: Node, draw: random.Random, *, events: int = 60) -> None:
    """Draw posts and messages, one after the other, and compare each result with the reference."""
    matcher, sources = Matcher(), 3
    contents: dict[Message, bytes] = {}
    ended: dict[int, Message] = {}
    receives: dict[int, tuple[Posted, int]] = {}
    for turn in range(1, events + 1):
        if draw.random() < 0.5 and len(matcher.unexpected) < node.service.unexpected:
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
                ended[receive.number] = message
        else:
            tags = [message.tag for message in matcher.unexpected] + list(range(4))
            receive = drawn_receive(draw, node.posted + 1, sources, tags)
            size = draw.choice((*SIZES, 50 * UNIT, 50 * UNIT))
            receives[receive.number] = receive, size
            frame = node.post(size, source=receive.source, tag=receive.tag, ignore=receive.ignore, comm=receive.comm)
            found = matcher.post(receive)
            if found is not None:
                ended[receive.number] = found
        node.process(frame, draw=draw)
        for number, (_, size) in receives.items():
            status, message, n_bytes, content = node.record(number)
            wanted = ended.get(number)
            if wanted is None:
                assert status == "", f"receive {number} ended with {message}"
                continue
            assert message is not None, f"receive {number} has no message; it must have {wanted}"
            assert (message.source, message.tag, message.comm) == (wanted.source, wanted.tag, wanted.comm), number
            data = contents[wanted]
            assert (status, n_bytes) == ("truncated" if len(data) > size else "ok", len(data))
            assert content == data[:size]
    assert len(ended) > events // 8


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_card_matches_as_the_reference_does(seed: int) -> None:
    node = Node(service=Matching())
    check_schedule(node, seeded(seed))
    assert node.events["late"] > 3 and node.events["refused"] == 0


def changed(folder: Path, file: str, old: str, new: str) -> Path:
    """The program with a mistake."""
    for name in ("matching.c", "matching.h", "matching_card.h", "matching_lists.h", "frames.h"):
        shutil.copy(SOURCES / name, folder)
    text = (folder / file).read_text()
    assert text.count(old) == 1, (old, text.count(old))
    (folder / file).write_text(text.replace(old, new))
    return folder / "matching.c"


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("matching_lists.h", "return receive->comm == message->comm && (", "return ("),
        ("matching_lists.h", "& ~receive->ignore) == 0", ") == 0"),
        ("matching_lists.h", "receive->peer == message->from || receive->peer == MATCH_ANY", "1"),
        ("matching_lists.h", "state->posted.last = before;", ";"),
        ("matching_card.h", "MIN(message->bytes, receive->capacity)", "message->bytes"),
        ("matching_card.h", "head->count = MIN(MATCH_CHUNK_UNITS * MATCH_UNIT, receive->stored - head->at)",
         "head->count = MATCH_UNIT"),
    ],
)  # fmt: skip
def test_schedules_find_mistakes(tmp_path: Path, file: str, old: str, new: str) -> None:
    node = Node(service=Matching(), program=changed(tmp_path, file, old, new))
    with pytest.raises((AssertionError, UsageError)):
        check_schedule(node, seeded(4), events=100)


def check_orders(node: Node, draw: random.Random) -> None:
    """Messages of one sender, and receives, arrive in any order and repeatedly; only their numbers matter."""
    messages = []
    for number in range(1, 15):
        data = draw.randbytes(draw.choice(SIZES))
        tag = draw.randrange(2) | number << 8
        messages.append((Message(source=1, number=number, tag=tag), data, node.message(1, data, tag=tag)))
    matcher, posts = Matcher(), []
    for number in range(1, 15):
        receive = Posted(number=number, source=None, tag=draw.randrange(2), ignore=draw.choice((HIGH, ANY_TAG)))
        posts.append((receive, node.post(50 * UNIT, tag=receive.tag, ignore=receive.ignore)))
    frames = [frame for _, _, frame in messages] + [frame for _, frame in posts]
    frames += draw.sample(frames, 10)
    draw.shuffle(frames)
    node.process(*frames, draw=draw)
    pairs = {}
    for receive, _ in posts:
        matcher.post(receive)
    for message, data, _ in messages:
        taker = matcher.arrive(message)
        if taker is not None:
            pairs[taker.number] = message, data
    for receive, _ in posts:
        status, found, _, content = node.record(receive.number)
        if receive.number not in pairs:
            assert status == "", receive
            continue
        assert found is not None and (status, found.tag) == ("ok", pairs[receive.number][0].tag), receive
        assert content == pairs[receive.number][1]


@pytest.mark.parametrize("seed", range(6))
def test_messages_of_a_sender_do_not_overtake(seed: int) -> None:
    """With one sender, the results do not depend on the order in which frames arrive."""
    node = Node(service=Matching())
    check_orders(node, seeded(seed))
    assert node.events["duplicates"] >= 10 and node.events["early"] > 0


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("if (ahead == 0) {\n        message.turn", "if (1) {\n        message.turn"),
        ("    const uint32_t ahead = head->number - state->taken - 1;\n",
         "    state->taken = head->number - 1;\n    const uint32_t ahead = 0;\n"),
    ],
)  # fmt: skip
def test_orders_find_mistakes(tmp_path: Path, old: str, new: str) -> None:
    node = Node(service=Matching(), program=changed(tmp_path, "matching.c", old, new))
    with pytest.raises((AssertionError, UsageError)):
        check_orders(node, seeded(1))


def test_copies_are_answered_and_change_nothing() -> None:
    node = Node(service=Matching())
    short, long = node.message(2, b"short", tag=1), node.message(2, bytes(range(256)) * 20, tag=2)
    assert [head.kind for head in node.process(short)] == ["accepted"]
    assert [head.kind for head in node.process(long)] == ["accepted"]
    assert [head.kind for head in node.process(short)] == ["accepted"]
    assert [head.kind for head in node.process(long)] == ["accepted"]
    assert [head.kind for head in node.process(node.post(9000, source=2, tag=2))] == ["done"]
    assert [head.kind for head in node.process(long)] == ["done"]  # the first answer may be lost
    assert node.process(node.post(9, source=2, tag=1)) == []
    assert node.record(1)[3] == bytes(range(256)) * 20 and node.record(2)[3] == b"short"
    assert node.events == {"refused": 0, "duplicates": 3, "early": 0, "fulls": 0, "late": 2}


def check_repair(node: Node) -> None:
    """Most data of a long message are lost; copies of its announcement make the card ask for them again."""
    data = random.Random(5).randbytes(37 * UNIT)
    node.process(node.post(len(data), source=1, tag=1))
    announcement = node.message(1, data, tag=1)
    gets = [Head.parse(frame)[0] for frame in node.card.process([announcement])]
    frames = [frame for get in gets if get.kind == "get" for frame in node.data(get)]
    assert len(frames) == 32  # eight chunks of four units
    for _ in range(2):  # copies of data do not count
        later = [Head.parse(frame)[0] for frame in node.card.process(frames[1::3])]
        assert node.record(1)[0] == ""
        assert {head.kind for head in later} <= {"get"}  # for further chunks; these are lost, too
    for _ in range(20):
        if node.record(1)[0] == "":
            node.process(announcement)
    assert node.record(1)[3] == data


def test_a_copy_of_an_announcement_gets_lost_data_again() -> None:
    check_repair(Node(service=Matching()))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(amo_or(&receive->arrived[unit / 32], bit) & bit) != 0", "0"),
        ("            ask_again(card, entry);\n", ""),
    ],
)
def test_the_repair_finds_mistakes(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises((AssertionError, UsageError)):
        check_repair(Node(service=Matching(), program=changed(tmp_path, "matching.c", old, new)))


def test_full_lists_are_reported_and_recover() -> None:
    service = Matching(receives=3, unexpected=17)
    node = Node(service=service)
    kinds = []
    for number in range(18):
        kinds += [head.kind for head in node.process(node.message(1, b"%d" % number, tag=number))]
    assert kinds == ["accepted"] * 17 + ["busy"]
    # Behind a gap, a message must leave entries for the missing ones.
    (early,) = node.process(node.message(2, b"", tag=50, number=2))
    assert early.kind == "busy"
    node.process(node.post(10, source=1, tag=3))
    again = node.message(1, b"17", tag=17, number=18)
    assert [head.kind for head in node.process(again)] == ["accepted"]
    for tag in (90, 91, 92, 93):  # nobody sends these
        node.process(node.post(10, source=1, tag=tag))
    assert [node.record(number)[0] for number in range(1, 6)] == ["ok", "", "", "", "full"]
    # A refused receive keeps its place in the order; the next one has the next number.
    node.process(node.message(3, b"now", tag=0))
    assert node.events["fulls"] == 4  # with the last message, for which there is no entry
    assert node.record(2)[0] == ""


def test_malformed_frames_are_counted_and_ignored() -> None:
    node = Node(service=Matching())
    limit = node.service.host_bytes
    area = NUMBERS["AREA_AT"]
    wrong = [
        (Head(kind=9, number=1), b"", 1),
        (Head(kind=0, number=1), b"", 1),
        (Head(kind="eager", sender=1, number=1, size=4, count=4), b"123", 1),
        (Head(kind="eager", sender=1, number=1, size=5, count=4), b"1234", 1),
        (Head(kind="eager", sender=1, number=0, size=4, count=4), b"1234", 1),
        (Head(kind="eager", sender=16, number=1, size=4, count=4), b"1234", 1),
        (Head(kind="rts", sender=1, number=1, size=(1 << 20) + 1), b"", 1),
        (Head(kind="post", number=1, size=10, address=area), b"", 1),  # from another node
        (Head(kind="post", number=1, size=10, address=area - 1), b"", OWN),
        (Head(kind="post", number=1, size=10, address=limit - 9), b"", OWN),
        (Head(kind="post", number=1, size=10, address=0xFFFF_FFFF), b"", OWN),
        (Head(kind="post", number=1, size=10, address=area, peer=16), b"", OWN),
        (Head(kind="get", number=1, address=area, count=0), b"", 1),
        (Head(kind="get", number=1, address=area, count=4097), b"", 1),
        (Head(kind="get", number=1, address=0, count=8), b"", 1),
        (Head(kind="get", number=1, address=limit - 8, at=1, count=8), b"", 1),
        (Head(kind="data", number=1, count=8, receive=0), bytes(8), 1),
        (Head(kind="data", number=1, count=8, receive=129), bytes(8), 1),
        (Head(kind="data", number=1, at=8, count=8, receive=1), bytes(8), 1),
        (Head(kind="accepted", number=1, peer=16), b"", 1),
        (Head(kind="post", mode=4, number=1, size=10, address=area), b"", OWN),
        (Head(kind="cancel", number=1), b"", 1),  # from another node
        (Head(kind="cancel", number=0), b"", OWN),
    ]
    for count, (head, data, source) in enumerate(wrong, 1):
        assert node.process(head.frame(data, source=source, target=OWN)) == [], head
        assert node.events["refused"] == count, head
    assert node.process(Head(kind="data", number=1, count=8, receive=1).frame(bytes(8), source=1, target=OWN)) == []
    assert node.events == {"refused": len(wrong), "duplicates": 1, "early": 0, "fulls": 0, "late": 0}
    assert not any(node.card.host.read())


@dataclass(kw_only=True)
class World:
    """A drawn program on a network, and its results."""

    seed: int
    ranks: int = 3
    each: int = 8  # messages of a rank to another one
    sent: dict[int, dict[int, list[Message]]] = field(default_factory=dict)  # by receiver and sender
    contents: dict[tuple[int, Message], bytes] = field(default_factory=dict)
    posts: dict[int, list[tuple[Posted, int, matching.Receive]]] = field(default_factory=dict)
    by_tag: dict[int, Message] = field(default_factory=dict)

    def __post_init__(self) -> None:
        draw = seeded(self.seed)
        unique = 0
        for to in range(self.ranks):
            self.sent[to] = {source: [] for source in range(self.ranks)}
            for source in range(self.ranks):
                for number in range(1, self.each + 1):
                    unique += 1
                    message = Message(
                        source=source, number=number, tag=draw.randrange(4) | unique << 8, comm=draw.choice((7, 8))
                    )
                    self.sent[to][source].append(message)
                    self.by_tag[message.tag] = message
                    self.contents[to, message] = draw.randbytes(draw.choice(SIZES))
        self.seeds = [draw.random() for _ in range(self.ranks)]

    def program(self, service: Matching, host: RunningHost) -> Steps:
        """Post receives and send messages, in a drawn order; at the end, receive what is left."""
        own = random.Random(self.seeds[host.number])
        endpoint = service.connect(host, timeout_ns=10_000, poll_ns=200)
        rest = {to: list(self.sent[to][host.number]) for to in range(self.ranks)}
        posts = self.posts[host.number] = []
        sends = []
        total = self.ranks * self.each
        tags = [message.tag for messages in self.sent[host.number].values() for message in messages]
        yield host.sleep("20 us")

        def post(receive: Posted, size: int) -> None:
            made = endpoint.post(size, source=receive.source, tag=receive.tag, ignore=receive.ignore, comm=receive.comm)
            posts.append((receive, size, made))

        while any(rest.values()):
            to = own.choice([to for to, messages in rest.items() if messages])
            message = rest[to].pop(0)
            sends.append(endpoint.send(to, self.contents[to, message], tag=message.tag, comm=message.comm))
            if own.random() < 0.9:
                receive = drawn_receive(own, len(posts) + 1, self.ranks, [0, 1, 2, 3, *tags])
                post(receive, own.choice((*SIZES, 50 * UNIT, 50 * UNIT)))
            if own.random() < 0.3:
                yield from endpoint.progress(own.randrange(1, 3000))
        yield from endpoint.progress(40_000)
        for turn in range(60):
            left = total - sum(made.status in ("ok", "truncated") for _, _, made in posts)
            if left == 0:
                break
            open_ones = sum(made.status == "" for receive, _, made in posts if receive.ignore == ANY_TAG)
            if turn % 10 == 0 or open_ones == 0:
                for comm in (7, 8) * min(left, 8):
                    post(Posted(number=len(posts) + 1, source=None, tag=0, ignore=ANY_TAG, comm=comm), 50 * UNIT)
            yield from endpoint.progress(20_000)
        yield from endpoint.wait(*sends)
        assert {send.status for send in sends} == {"ok"}
        yield from endpoint.progress(100_000)  # other receivers may lack answers

    def run(self, service: Matching, faults: str, threads: int = 1) -> str:
        """Run it on a network. Returns the digest."""
        net = spinet.Network(service.network(self.ranks, faults=faults), limit="100 ms", seed=self.seed)
        for node in net.nodes:
            node.host.program = lambda host: self.program(service, host)
        result = net.run() if threads == 1 else net.run(threads=threads)
        assert result.ended == "complete"
        return str(result.digest)

    def check(self) -> None:
        """Each message came once, with all its bytes, and the pairs are those of the order of arrival."""
        for rank, posts in self.posts.items():
            taken = {}
            for receive, size, made in posts:
                if made.status == "":
                    continue
                message = self.by_tag[made.tag]
                data = self.contents[rank, message]
                taken[receive.number] = message
                assert (made.source, made.comm, made.size) == (message.source, message.comm, len(data))
                assert made.status == ("truncated" if len(data) > size else "ok")
                assert made.data == data[:size]
            assert len(set(taken.values())) == len(taken) == self.ranks * self.each
            turns = {receive.number: made.turns for receive, _, made in posts}
            check_order([receive for receive, _, _ in posts], taken, turns)


@pytest.mark.parametrize(
    ("seed", "faults"), [(1, ""), (2, "loss=0.03,duplicate=0.05,reorder=0.1:8"), (3, "loss=0.1"), (4, "reorder=0.5:16")]
)
def test_drawn_programs_on_a_network_match_as_the_reference_does(seed: int, faults: str) -> None:
    world = World(seed=seed)
    world.run(Matching(receives=256, unexpected=512, area_bytes=32 << 20), faults)
    world.check()


def test_the_number_of_threads_changes_nothing() -> None:
    service = Matching(receives=256, unexpected=512, area_bytes=32 << 20)
    faults = "loss=0.03,duplicate=0.05,reorder=0.1:8"
    digests = [World(seed=5, ranks=3, each=6).run(service, faults, threads) for threads in (1, 2)]
    assert digests[0] == digests[1]


def test_the_check_refuses_wrong_pairs_and_orders() -> None:
    first, second = (Message(source=1, number=number, tag=5) for number in (1, 2))
    other = Message(source=2, number=1, tag=5)
    posts = [Posted(number=number, source=None, tag=5) for number in (1, 2, 3)]
    check_order(posts, {1: first, 2: second}, {1: (1, 3), 2: (2, 4)})  # the third one is open
    check_order(posts, {1: other, 2: first, 3: second}, {1: (3, 1), 2: (4, 2), 3: (6, 5)})
    for taken, turns in (
        ({1: second, 2: first}, {1: (1, 3), 2: (2, 4)}),  # overtaken
        ({1: second, 2: first}, {1: (1, 4), 2: (2, 3)}),  # not the first receive
        ({1: first, 2: second}, {1: (1, 3), 2: (2, 3)}),
        ({1: first, 3: second}, {1: (1, 4), 3: (3, 5)}),
    ):
        with pytest.raises((AssertionError, ValueError)):
            check_order(posts, taken, turns)


def test_a_sender_gives_up_on_a_card_that_is_full() -> None:
    service = Matching(unexpected=17)
    net = spinet.Network(service.network(2), limit="5 ms")
    found: list[str] = []

    def program(host: RunningHost) -> Steps:
        endpoint = service.connect(host, timeout_ns=2000, attempts=8)
        yield host.sleep("20 us")
        sends = [endpoint.send(1, b"x", tag=number) for number in range(18)]
        yield from endpoint.wait(*sends)
        found.extend(send.status for send in sends)
        with pytest.raises(UsageError, match="rank 1 did not take message 18, so it can take no later one"):
            endpoint.send(1, b"x", tag=19)

    net[0].host.program = program
    assert net.run().ended == "complete"
    assert found == ["ok"] * 17 + ["busy"]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"receives": 0}, "receives is 0, must be 1 to 512"),
        ({"unexpected": 16}, "unexpected is 16, must be 17 to 900"),
        ({"area_bytes": 0}, "area_bytes is 0, must be 64 to"),
    ],
)
def test_impossible_lists_are_refused(wrong: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Matching(**wrong)


def test_impossible_messages_are_refused() -> None:
    endpoint = Matching(area_bytes=4096).connect(RunningHost(0, ["n0", "n1"]))
    with pytest.raises(UsageError, match="to is 2, must be 0 to 1"):
        endpoint.send(2, b"", tag=0)
    with pytest.raises(UsageError, match="the message has 1048577 bytes, must have at most 1048576"):
        endpoint.send(1, bytes((1 << 20) + 1), tag=0)
    with pytest.raises(UsageError, match="source is 16, must be 0 to 15"):
        endpoint.post(10, source=16)
    with pytest.raises(UsageError, match="there are no 8192 bytes left for buffers"):
        endpoint.post(8192)
    with pytest.raises(UsageError, match="ranks is 17, must be 2 to 16"):
        Matching().network(17)


def ended_early(**settings: int) -> str:
    """The error of a run whose receiver waits for a second message that its sender does not send."""
    service = Matching()
    net = spinet.Network(service.network(2), seed=1)

    def sender(host: RunningHost) -> Steps:
        endpoint = service.connect(host)
        yield host.sleep("20 us")
        yield from endpoint.wait(endpoint.send(1, b"one", tag=3))

    def receiver(host: RunningHost) -> Steps:
        endpoint = service.connect(host, **settings)
        yield host.sleep("20 us")
        yield from endpoint.wait(*(endpoint.post(10, source=0, tag=3) for _ in range(2)))

    net[0].host.program, net[1].host.program = sender, receiver
    with pytest.raises(UsageError) as caught:
        net.run()
    return str(caught.value)


def test_a_wait_for_a_sender_that_has_ended_fails() -> None:
    text = ended_early(patience_ns=30_000)
    assert "n1 waited 30000 ns for receive 2 (from rank 0, tag 3, ignore 0x0, comm 0)" in text
    with pytest.raises(UsageError, match="patience_ns is 0, must be 1 to"):
        Matching().connect(RunningHost(0, ["n0"]), patience_ns=0)
