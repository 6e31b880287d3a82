# SPDX-License-Identifier: Apache-2.0
"""Consensus on cards: safety and liveness over drawn schedules, and whole networks with hosts that take over."""

from __future__ import annotations

import random
import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from spinet._core import UsageError
from spinet.services import Consensus, consensus
from spinet.services.consensus import NUMBERS, SOURCES, Entry

from consensus_group import CLIENT, Group, explore


@pytest.fixture(scope="module")
def three() -> Group:
    return Group(3)


@pytest.fixture(scope="module")
def five() -> Group:
    return Group(5)


def lead(group: Group, rank: int) -> None:
    group.tell(rank, "lead")
    group.settle()
    assert group.status(rank).role == "leader"


def entry(number: int) -> Entry:
    return Entry(client=CLIENT, number=number, value=f"value {number}".encode())


def test_all_replicas_have_the_requests_in_one_order(three: Group) -> None:
    three.begin()
    lead(three, 0)
    for number in range(1, 21):
        three.request(number, 0)
    three.settle()
    assert sorted(three.answered) == list(range(1, 21))
    logs = [three.log(rank) for rank in range(3)]
    assert logs[0] == logs[1] == logs[2] and len(logs[0]) == 20
    assert all(logs[0][slot] == entry(number) for number, slot in three.answered.items())


def test_a_request_that_comes_again_gets_its_slot_again(three: Group) -> None:
    three.begin()
    lead(three, 0)
    for _ in range(3):
        three.request(7, 0)
        three.settle()
    assert three.statuses == ["ok"] * 3 and three.log(2) == [entry(7)]


def test_only_the_leader_takes_requests_and_others_name_it(three: Group) -> None:
    three.begin()
    lead(three, 1)
    three.request(1, 2)
    three.settle()
    assert three.statuses == ["not_leader"] and three.named == [1]


def test_a_new_leader_keeps_what_the_dead_one_chose(three: Group) -> None:
    three.begin()
    lead(three, 0)
    three.request(1, 0)
    three.settle()
    # Replica 0 has chosen request 2 and answered it, but no replica gets the commit. Request 3 reaches replica 2 only.
    three.request(2, 0)
    three.deliver(0)
    three.settle_only("accept", "accepted")
    three.request(3, 0)
    three.deliver(next(at for at, flight in enumerate(three.flights) if flight.kind == "request"))
    three.drop(lambda flight: flight.kind == "commit" or flight.replica == 1)
    three.settle_only("accept")
    three.dead.add(0)
    assert 2 in three.answered and 3 not in three.answered and [len(three.log(rank)) for rank in (1, 2)] == [1, 1]
    lead(three, 1)
    three.settle()
    three.tell(1, "tick")
    three.settle()
    assert three.log(1) == three.log(2) == [entry(1), entry(2), entry(3)]


def test_a_deposed_leader_decides_nothing(three: Group) -> None:
    three.begin()
    lead(three, 0)
    three.tell(1, "lead")  # replica 0 does not receive it
    three.settle_only("prepare", "promise", among={1, 2})
    assert [three.status(rank).role for rank in (0, 1)] == ["leader", "leader"]
    three.request(1, 0)
    three.settle_only("request", "accept", "refused", "accepted", among={0, 2})
    assert three.answered == {} and three.status(0).role == "follower"


def test_without_a_majority_nothing_is_chosen(five: Group) -> None:
    five.begin()
    lead(five, 0)
    five.dead |= {2, 3, 4}
    five.request(1, 0)
    for _ in range(5):
        five.settle()
        five.tell(0, "tick")
    assert five.answered == {} and five.chosen == {}
    five.dead -= {4}  # a majority again: its memory survived
    five.settle()
    five.tell(0, "tick")
    five.settle()
    assert five.answered == {1: 0}


@pytest.mark.long
def test_a_full_log_says_so(three: Group) -> None:
    three.begin()
    lead(three, 0)
    for first in range(1, NUMBERS["SLOTS"] + 3, 200):
        for number in range(first, min(first + 200, NUMBERS["SLOTS"] + 3)):
            three.request(number, 0)
        three.settle()
    assert three.statuses.count("ok") == NUMBERS["SLOTS"] and three.statuses.count("full") == 2
    three.tell(0, "tick")
    three.settle()
    assert three.status(1).prefix == NUMBERS["SLOTS"]


@pytest.mark.parametrize("size", [3, 5])
def test_no_drawn_schedule_breaks_the_log(size: int, request: pytest.FixtureRequest) -> None:
    group: Group = request.getfixturevalue("three" if size == 3 else "five")
    for seed in range(5):
        print("seed", seed)
        explore(group, random.Random(seed))


@pytest.mark.long
@pytest.mark.parametrize("size", [3, 5])
def test_no_long_drawn_schedule_breaks_the_log(size: int, request: pytest.FixtureRequest) -> None:
    group: Group = request.getfixturevalue("three" if size == 3 else "five")
    for seed in range(1000, 1300):
        print("seed", seed)
        explore(group, random.Random(seed), epochs=12)


def test_random_packets_do_no_harm(three: Group) -> None:
    three.begin()
    lead(three, 0)
    draw = random.Random(5)
    print("seed", 5)
    good = consensus.request(1, b"value", client=CLIENT, replica=three.ips[2])
    frames = []
    for _ in range(150):
        broken = bytearray(good)
        for _ in range(draw.randrange(1, 5)):
            broken[draw.randrange(42, len(broken))] = draw.randrange(256)
        frames.append(bytes(broken[: draw.choice((len(broken), draw.randrange(44, len(broken))))]))
    card = three.cards[2]
    card.machine.send(frames)
    card.machine.finish()
    assert card.context.error() is None


def changed(tmp_path: Path, old: str, new: str) -> Path:
    """The program with a mistake."""
    for name in ("consensus.h", "frames.h"):
        shutil.copy(SOURCES / name, tmp_path / name)
    text = (SOURCES / "consensus.c").read_text()
    assert text.count(old) == 1
    (tmp_path / "consensus.c").write_text(text.replace(old, new))
    return tmp_path / "consensus.c"


@pytest.mark.parametrize(
    ("old", "new", "seed"),
    [
        ("return 2 * count > own->size;", "return 2 * count + 1 >= own->size;", 4),
        ("message->accepted > slot->accepted", "false", 22),
    ],
    ids=["half is a majority", "a new leader forgets proposals"],
)
def test_schedules_find_mistakes(tmp_path: Path, old: str, new: str, seed: int) -> None:
    group = Group(5, changed(tmp_path, old, new))
    with pytest.raises(AssertionError, match=r"slot \d+: \(Entry"):
        explore(group, random.Random(seed))


@pytest.mark.parametrize(
    ("size", "faults", "dies"),
    [
        (3, None, {}),
        (3, None, {0: 90_000}),
        (5, "loss=0.02,duplicate=0.02,reorder=0.05:4", {0: 90_000, 1: 140_000}),
    ],
)
def test_a_network_of_replicas_answers_all_requests(size: int, faults: str | None, dies: dict[int, int]) -> None:
    service = Consensus(size=size, clients=2, requests=6, dies=dies, until_ns=600_000)
    link = {"rate": "100G", "delay": "300 ns"} | ({"faults": faults, "faults_back": faults} if faults else {})
    result = service.network(link=link).run()
    assert result.ended == "complete"
    alive = [rank for rank in range(size) if rank not in dies]
    logs = [service.log(result, rank) for rank in range(size)]
    longest = logs[alive[0]]
    assert all(logs[rank] == longest for rank in alive)
    for rank in dies:
        assert logs[rank] == longest[: len(logs[rank])]
    for client in range(2):
        replies = service.replies(result, client)
        assert sorted(replies) == list(range(1, 7))
        ip = consensus.address(size + client)
        for number, slot in replies.items():
            assert longest[slot] == Entry(client=ip, number=number, value=service.value(client, number))
    assert len(consensus.commands(longest)) == 12


class SilentHost:
    """A host whose card follows a leader and sees no sign of life. `leads` has the intervals in which it takes over."""

    def __init__(self) -> None:
        self.now_ps = self.intervals = 0
        self.leads: list[int] = []

    def sleep(self, time: str) -> None:
        self.now_ps += int(time.removesuffix(" ns")) * 1000
        self.intervals += 1

    def read(self, at: int, size: int) -> None:
        """The program gets the status from its caller."""

    def send_frame(self, frame: bytes) -> None:
        if consensus.Message.parse(frame).kind == "lead":
            self.leads.append(self.intervals - 1)  # without the sleep before the start


@pytest.mark.parametrize(("rank", "first"), [(1, 2), (2, 6)])
def test_a_replica_doubles_its_patience_whenever_it_takes_over(rank: int, first: int) -> None:
    host = SilentHost()
    service = Consensus(patience=2, tick_ns=1500, until_ns=4_000_000)
    program = service.replica_program(rank)(host)  # type: ignore[arg-type]
    next(program)
    with pytest.raises(StopIteration):
        while True:
            program.send(bytes(16))
    waits = [later - earlier for earlier, later in pairwise([0, *host.leads])]
    assert waits[:8] == [first * min(2**turn, 64) for turn in range(8)]


def test_commands_come_once_in_the_order_of_their_first_slot() -> None:
    log = [entry(1), Entry(), entry(2), entry(1), entry(3)]
    assert consensus.commands(log) == [entry(1), entry(2), entry(3)]


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        ({"size": 2}, "2 replicas, must be 3 to 7"),
        ({"size": 8}, "8 replicas, must be 3 to 7"),
        ({"clients": 0}, "clients is 0, must be 1 or more"),
        ({"dies": {3: 1}}, "dies has the rank 3, must be 0 to 2"),
        ({"requests": 4096}, "requests is 4096, must be 0 to 4095"),
    ],
)
def test_impossible_groups_are_refused(settings: dict[str, int], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        Consensus(**settings)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="the value has 49 bytes, must have at most 48"):
        consensus.request(1, bytes(49), client="10.0.0.9", replica="10.0.0.1")


def test_late_refusals_do_not_hide_answers_from_clients() -> None:
    """The network repeats a request that has its slot already, and a replica that does not lead refuses the copy."""
    faults = "loss=0.03,duplicate=0.1,reorder=0.2:6"
    link = {"rate": "100G", "delay": "300 ns", "faults": faults, "faults_back": faults}
    service = Consensus(size=4, clients=3, requests=3, dies={0: 102_990}, until_ns=500_000)
    result = service.network(link=link).run()
    log = service.log(result, 1)
    for client in range(3):
        replies = service.replies(result, client)
        assert sorted(replies) == [1, 2, 3]
        assert all(log[slot].value == service.value(client, number) for number, slot in replies.items())
